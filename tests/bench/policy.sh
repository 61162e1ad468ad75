#!/bin/sh
# policy.sh - Tidemark's policy server beside others, in one run.
#
# The same client asks the same: messages of one recipient, each at RCPT, DATA
# and END-OF-MESSAGE, over persistent connections, of
#   tidemark             tokens, memory, a log line a message into one file
#   tidemark-quiet       the same without the line: null writes none, either
#   null                 the same way of serving, nothing done
#   postfwd1             one rate rule by account, one process
#   postfwd2             the same, preforked
#   policyd-rate-limit   its default: limits by account, in SQLite
# in turns; medians of the rounds.  On a busy machine the median request says
# more than requests a second, which others' work is in.  The last ones are
# Debian's, unpacked into a folder with the modules they need, never installed.
set -eu
B=${B:-build}
POLICY=${POLICY:-$B/tests/load/policy}
ROUNDS=${ROUNDS:-7}
FAST=${FAST:-20000} # messages for the servers in C
SLOW=${SLOW:-400}   # and for the others
cache=$B/bench
dir=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-policy.XXXXXX")
pids=
finish()
{
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

fetch()
{
	[ ! -e "$cache/root/.complete" ] || return 0
	rm -rf "$cache/root"
	mkdir -p "$cache/root"
	(
		cd "$cache"
		apt-get -q -o APT::Sandbox::User=root download postfwd \
			libnet-dns-perl libnet-server-perl libio-multiplex-perl \
			policyd-rate-limit python3-yaml libyaml-0-2 >log 2>&1 &&
			for deb in *.deb; do
				dpkg -x "$deb" root && rm -f "$deb"
			done && touch root/.complete
	)
}

spawn()
{
	"$@" >>"$dir/out" 2>&1 </dev/null &
	pid=$!
	pids="$pids $pid"
}

# answers SOCKET - wait until it does.
answers()
{
	tries=150
	until echo 'RCPT up.1 user=up' | "$POLICY" -t 5 -s "$1" 2>/dev/null |
		grep -q action=; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

# ---- the servers -----------------------------------------------------------

# start_tidemark FOLDER LEVEL
start_tidemark()
{
	mkdir "$1" "$1/run" "$1/state"
	cat >"$1/tidemark.conf" <<-END
		runtime_dir = $1/run
		state_dir = $1/state
		log = $1/log
		log_level = $2
		[profile internal]
		charged_by = policy
		tokens_mode = enforce
		tokens_burst = 1m
		tokens_rate = 1m/d
		[policy out]
	END
	spawn "$B/tidemarkd" -c "$1/tidemark.conf"
	answers "local:$1/run/out-policy.sock"
}

start_null()
{
	spawn "$B/tests/bench/nullpolicy" "$dir/null.sock"
	answers "local:$dir/null.sock"
}

# start_postfwd 1|2 PORT
start_postfwd()
{
	echo 'id=R1; sasl_username=~.+; action=rate(sasl_username/1000000/86400/554 5.7.1 too much)' \
		>"$dir/postfwd.cf"
	chmod 755 "$dir"
	mkdir -p "$dir/pid" && chmod 777 "$dir/pid"
	version=$1 port=$2
	shift 2
	perl -T -I"$(realpath "$cache")/root/usr/share/perl5" \
		"$cache/root/usr/sbin/postfwd$version" --file "$dir/postfwd.cf" \
		--interface 127.0.0.1 --port "$port" --proto tcp \
		--user "$(id -un)" --group "$(id -gn)" --nodns --daemon \
		--pidfile "$dir/pid/postfwd$version" "$@" >>"$dir/out" 2>&1
	answers "inet:$port" || return
	pids="$pids $(cat "$dir/pid/postfwd$version")"
}

start_ratelimit()
{
	cat >"$dir/ratelimit.yaml" <<-END
		debug: False
		user: "$(id -un)"
		group: "$(id -gn)"
		pidfile: "$dir/ratelimit.pid"
		sqlite_config:
		    database: "$dir/ratelimit.sqlite3"
		backend: 0
		SOCKET: "$dir/ratelimit.sock"
		socket_permission: 0666
		limits:
		    - [1000000, 86400]
		limit_by_sasl: True
	END
	spawn env PYTHONPATH="$cache/root/usr/lib/python3/dist-packages" \
		/usr/bin/python3 "$cache/root/usr/bin/policyd-rate-limit" \
		--file "$dir/ratelimit.yaml"
	answers "local:$dir/ratelimit.sock"
}

# ---- measuring -------------------------------------------------------------

# round NAME SOCKET CONNECTIONS MESSAGES
round()
{
	"$POLICY" -s "$2" -c "$3" -n "$4" |
		sed "s|.*requests/s=\([0-9.]*\) p50_us=\([0-9.]*\) p99_us=\([0-9.]*\).*|$1 \1 \2 \3|"
}

median()
{
	awk -v name="$1" -v col="$2" '$1 == name { print $col }' "$dir/rounds" |
		sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] + 0 }'
}

# ratio NAME OTHER ITS-FIGURE AIM
ratio()
{
	awk -v a="$(median "$1" 2)" -v b="$3" -v n="$1 / $2" -v aim="$4" 'BEGIN {
		if (b > 0)
			printf "%-34s %.2f (aim: %s)\n", n, a / b, aim }'
}

measure()
{
	i=0
	while [ "$i" -lt "$ROUNDS" ]; do
		for server in $servers; do
			case $server in
			tidemark*=* | null=*) n=$FAST ;;
			*) n=$SLOW ;;
			esac
			round "${server%%=*}" "${server#*=}" "$1" "$n"
		done
		i=$((i + 1))
	done >"$dir/rounds"
	echo "== policy requests, $1 connection(s), medians of $ROUNDS"
	printf '%-20s %12s %10s %10s\n' '' requests/s 'p50 us' 'p99 us'
	best=0
	for server in $servers; do
		name=${server%%=*}
		printf '%-20s %12.0f %10.1f %10.1f\n' "$name" \
			"$(median "$name" 2)" "$(median "$name" 3)" \
			"$(median "$name" 4)"
		case $name in
		tidemark* | null) ;;
		*)	best=$(printf '%s\n%s\n' "$best" "$(median "$name" 2)" |
				sort -n | tail -n 1) ;;
		esac
	done
	for name in tidemark tidemark-quiet; do
		ratio "$name" null "$(median null 2)" 0.7
	done
	ratio tidemark "the faster other" "$best" 15
}

servers=
# try NAME SOCKET START...
try()
{
	name=$1 socket=$2
	shift 2
	if "$@"; then
		servers="$servers $name=$socket"
	else
		echo "$name: cannot run here: $(tail -n 1 "$dir/out")"
	fi
}

try tidemark "local:$dir/a/run/out-policy.sock" start_tidemark "$dir/a" info
try tidemark-quiet "local:$dir/b/run/out-policy.sock" \
	start_tidemark "$dir/b" warning
try null "local:$dir/null.sock" start_null
if fetch; then
	port=$((20000 + $$ % 10000))
	try postfwd1 "inet:$port" start_postfwd 1 "$port"
	try postfwd2 "inet:$((port + 1))" start_postfwd 2 $((port + 1)) \
		--cache_socket "unix::$dir/pid/cache" --cache_proto unix
	try policyd-rate-limit "local:$dir/ratelimit.sock" start_ratelimit
else
	echo "postfwd, policyd-rate-limit: no packages to unpack"
fi
measure 1
measure 8
