# tidemark.sh - Tidemark beside the rig's mail server.  Source it once that
# runs.
#
#	settings GLOBAL EXTERNAL INTERNAL [MORE]	write them; see below
#	launch						start it, wait for it
#	tidemark SUBCOMMAND...				ask it
#	status FIELD, counter NAME			from `status --json'
#	pid_of collector | acceptor
#	a_round_later					of the collector's
#
# Started as root, it runs as somebody else: as it will be in earnest.
# shellcheck shell=sh

B=${B:-build}
conf=$RIG/tidemark.conf
log=$RIG/var/tidemark.log

# Each is several lines, or settings separated by semicolons; MORE has sections
# of its own.
settings()
{
	install -d -o daemon -m 755 "$RIG/var" "$RIG/var/state" "$RIG/run"
	cat >"$conf" <<-END
		user = daemon
		runtime_dir = $RIG/run
		state_dir = $RIG/var/state
		log = $log
		$(echo "$1" | tr ';' '\n')

		[profile external]
		socket = local:$RIG/run/external.sock
		daemons = MTA-ext
		$(echo "$2" | tr ';' '\n')

		[profile internal]
		socket = local:$RIG/run/internal.sock
		daemons = MTA-int
		$(echo "$3" | tr ';' '\n')

		${4:-}
	END
}

tidemark()
{
	"$B/tidemark" -c "$conf" "$@"
}

launch()
{
	rig_spawn tidemarkd "$RIG/bin/tidemarkd" -f -c "$conf"
	within 30 tidemark status || {
		cat "$RIG/tidemarkd.out" "$log"
		return 1
	}
}

# Of a list, how many.
status()
{
	tidemark status --json | perl -MJSON::PP -0777 -e '
		$v = decode_json(<STDIN>)->{$ARGV[0]};
		print ref $v ? scalar @$v : $v' "$1"
}

counter()
{
	tidemark status --json | perl -MJSON::PP -0777 -e '
		print decode_json(<STDIN>)->{counters}{$ARGV[0]}{total}' "$1"
}

# When the collector's last round began, in ms.
pulse()
{
	tidemark status --json | perl -MJSON::PP -0777 -e '
		$s = decode_json(<STDIN>);
		print $s->{now_ms} - $s->{collector_pulse_age_ms}'
}

# Rounds are 5 ms apart, and a clock's last digit is not sure.
pulse_after()
{
	[ "$(pulse)" -gt $(($1 + 3)) ]
}

# a_round_later - one has begun since, and ended: another has begun.  What is
# new to the collector, such as settings, it takes up in its rounds.
a_round_later()
{
	for _ in 1 2; do
		within 30 pulse_after "$(pulse)"
	done
}

# Only if it is one of ours: it may get killed.
pid_of()
{
	pid=$(status "${1}_pid")
	case $(readlink "/proc/${pid:-none}/exe") in
	"$RIG"/bin/*)
		echo "$pid"
		;;
	*)
		echo "the $1 is not process ${pid:-none}" >&2
		return 1
		;;
	esac
}
