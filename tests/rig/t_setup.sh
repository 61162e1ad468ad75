#!/bin/sh
# t_setup.sh - tidemark setup beside a real sendmail and a real Postfix: what
# it writes works, and what --check says of a broken one is what happens.
#
# Only files below $RIG are written: the daemon's user is in the group it gives
# its sockets to, so that no drop-in of systemd is needed.
#
# $B is the build to test (build).
#
# takes: 12s
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh
. tests/rig/postfix.sh

B=${B:-build}

# ---- words -----------------------------------------------------------------

settings()
{
	install -d -o daemon -m 755 "$RIG/var" "$RIG/var/state" "$RIG/run"
	cat >"$RIG/tidemark.conf" <<-END
		user = daemon
		runtime_dir = $RIG/run
		state_dir = $RIG/var/state
		log = $RIG/var/tidemark.log
		pulse_stale = 10min

		[profile external]

		[profile internal]
		daemons = MTA-int MSP-v4
	END
}

tidemark()
{
	"$B/tidemark" -c "$RIG/tidemark.conf" "$@"
}

launch()
{
	rig_spawn tidemarkd "$RIG/bin/tidemarkd" -f -c "$RIG/tidemark.conf"
	within 30 tidemark status || {
		cat "$RIG/tidemarkd.out" "$RIG/var/tidemark.log"
		return 1
	}
}

# finds NAME... - exactly these faults.
finds()
{
	setup --check --json >"$RIG/json"
	cat "$RIG/json"
	same "$(perl -MJSON::PP -ne '$r = decode_json($_);
		$n{$r->{name}}++ if $r->{type} eq "finding" &&
			$r->{severity} ne "note";
		END { print join(" ", sort keys %n) }' "$RIG/json")" "$*"
}

send()
{
	rig_send "$1" "$2@from.test" alice@mx.rig.test -- \
		--timeout 20 >"$RIG/dialogue" 2>&1
	rc=$?
	cat "$RIG/dialogue"
	return $rc
}

# known NAME - was its mail seen?
known()
{
	tidemark query --from "$1@from.test"
}

unseen()
{
	send "$1" "$2" && exits 1 tidemark query --from "$2@from.test"
}

seen()
{
	send "$1" "$2" && within 30 known "$2"
}

# ---- sendmail ----------------------------------------------------------------

# Debian's own sendmail.mc, with its ports and what it needs to be a rig; a
# filter is there already.
stock_mc()
{
	sed -e "s|/usr/share/sendmail/cf|$RIG/cf|" \
		-e "s/Port=smtp/Port=$RIG_EXT/" \
		-e "s/Port=submission, M=Ea/Port=$RIG_INT, M=E/" \
		-e "/Name=MTA-v4/s/')/, InputMailFilters=other')/" \
		-e '/^FEATURE.*\(access_db\|greet_pause\|delay_checks\)/d' \
		-e '/^FEATURE.*\(conncontrol\|ratecontrol\|use_cw_file\)/d' \
		-e '/^include.*etc.mail.m4/d' -e '/^MAILER/,$d' \
		"$rig_cf/debian/sendmail.mc"
	rig_fill "$rig_src/rig.mc.in" |
		sed -n '/confDOMAIN_NAME/,/mailertable/p' |
		grep -v no_default_msa
	echo "undefine(\`confTRUSTED_USER')"
	echo "define(\`confMAX_DAEMON_CHILDREN', \`100')"
	echo "MAIL_FILTER(\`other', \`S=local:$RIG/other.sock, F=T')"
	rig_fill "$rig_src/rig.mc.in" | sed -n '/LOCAL_MAILER_PATH/,$p'
}

build()
{
	cp -r "$rig_cf" "$RIG/cf" &&
		grep -rl /usr/share/sendmail/cf "$RIG/cf" |
		xargs sed -i "s|/usr/share/sendmail/cf|$RIG/cf|g"
	stock_mc >"$RIG/sendmail.mc"
	m4 "$RIG/sendmail.mc" >"$RIG/sendmail.cf" 2>"$RIG/m4.err"
	cat "$RIG/m4.err"
	! [ -s "$RIG/m4.err" ]
}

# What reads the .cf that would be: -C is ours to give.
asker()
{
	cat >"$RIG/bin/ask" <<-END
		#!/bin/sh
		[ "\${1:-}" = -2 ] || exec unshare --uts "\$0" -2 "\$@"
		shift
		hostname mx.rig.test
		LD_LIBRARY_PATH=$rig_libs exec $RIG/bin/sendmail "\$@"
	END
	chmod 755 "$RIG/bin/ask"
}

setup_sendmail()
{
	tidemark setup sendmail --mc "$RIG/sendmail.mc" \
		--cf "$RIG/sendmail.cf" --program "$RIG/bin/ask" "$@"
}

both_listen()
{
	rig_listens "$RIG_EXT" && rig_listens "$RIG_INT"
}

# restart [SED-SCRIPT] - sendmail, with that change to its sound .cf.
restart()
{
	[ ! -e "$RIG/pids/sendmail" ] || rig_end sendmail
	cp "$RIG/sound.cf" "$RIG/sendmail.cf"
	sed -i -e "${1:-}" "$RIG/sendmail.cf"
	rig_spawn sendmail unshare --uts "$RIG/bin/start" -bD
	within 30 both_listen
}

stays_down()
{
	rig_end sendmail
	sed -i 's/=other,/=othre;/' "$RIG/sendmail.cf"
	timeout 30 unshare --uts "$RIG/bin/start" -bD
	[ $? -ne 124 ] && grep -h othre "$RIG/mail.log"
}

in_order()
{
	grep 'Name=MTA-v4.*InputMailFilters=other;tidemark-ext' \
		"$RIG/sendmail.cf" &&
		grep 'Name=MSP-v4.*InputMailFilters=tidemark-int' \
			"$RIG/sendmail.cf"
}

sendmail_part()
{
	if ! rig_can; then
		skip "setup with sendmail" "$rig_why"
		return
	fi
	trap rig_stop EXIT
	trap 'exit 130' HUP INT TERM
	# shellcheck disable=SC2046 # two words
	set -- $(rig_ports)
	RIG_EXT=$1 RIG_INT=$2
	setup() { setup_sendmail "$@"; }
	check "a place for sendmail" eval \
		'rig_compile && rig_folder && rig_users && rig_configure' ||
		return
	settings
	asker
	check "Debian's sendmail.mc is built" build
	cp "$RIG/sendmail.mc" "$RIG/stock.mc"
	check "without Tidemark its daemons are unfiltered" \
		finds daemon-unfiltered
	check "setup applies" exits 0 setup --apply
	check "each daemon has its filter, Tidemark last" in_order
	check "a second time changes nothing" eval \
		"setup --apply | grep 'every line is there'"
	check "Tidemark is not up: that is found" finds socket-missing
	check "Tidemark starts" launch
	check "nothing is wrong" exits 0 setup --check
	cp -p "$RIG/sendmail.cf" "$RIG/sound.cf"
	rig_spawn other "$rig_build/other" "$RIG/other.sock" \
		"$RIG/other.log"
	within 30 test -S "$RIG/other.sock"
	check "sendmail starts" restart
	check "mail of the world is remembered" seen "$RIG_EXT" world
	check "and our own people's" seen "$RIG_INT" own
	check "as such" eval "tidemark tail --once --json |
		grep '\"profile\":\"internal\".*own@from.test'"

	chmod 775 "$RIG/run"
	check "a folder that a group may write: mail passes unseen" \
		unseen "$RIG_EXT" folder
	check "it is found" finds socket-folder
	chmod 1777 "$RIG/run"
	check "a sticky one is taken" seen "$RIG_EXT" sticky
	check "and nothing is found" exits 0 setup --check
	chmod 755 "$RIG/run"
	mv "$RIG/run/external.sock" "$RIG/run/real.sock"
	ln -s real.sock "$RIG/run/external.sock"
	check "a link: mail passes unseen" unseen "$RIG_EXT" link
	check "it is found" finds socket-link
	mv "$RIG/run/real.sock" "$RIG/run/external.sock"
	check "all is well again" seen "$RIG_EXT" again
	check "with a comma sendmail starts all the same" \
		restart 's/=other;/=other,/'
	check "but drops the second filter" unseen "$RIG_EXT" comma
	check "it is found" finds filters-comma
	check "with an unknown filter it does not start" stays_down
	check "it is found" finds filter-undefined
	cp -p "$RIG/sound.cf" "$RIG/sendmail.cf"
	check "undo" exits 0 setup --undo
	check "sendmail.mc is as it was" diff "$RIG/stock.mc" "$RIG/sendmail.mc"
	rig_stop
}

# ---- Postfix -----------------------------------------------------------------

# As the rig has it, but without filters, and chrooted as Debian's is.
stock_postfix()
{
	pf_main | grep -v '^milter\|^smtpd_policy\|_policy\|_rcpt' \
		>"$RIG/conf/main.cf"
	pf_master | sed -e '/smtpd_milters\|milter_macro\|_policy\|_rcpt\|relay/d' \
		-e '/smtpd$/s/n - n/n - y/' >"$RIG/conf/master.cf"
	printf '%s\n' 'smtpd_relay_restrictions = reject_unauth_destination' \
		"smtpd_milters = unix:other.sock" >>"$RIG/conf/main.cf"
}

setup_postfix()
{
	tidemark setup postfix --main-cf "$RIG/conf" \
		--program "$RIG/bin/postconf" "$@"
}

postconf()
{
	cat >"$RIG/bin/postconf" <<-END
		#!/bin/sh
		LD_LIBRARY_PATH=$pf_root/usr/lib/postfix \
			exec $pf_root/usr/sbin/postconf "\$@"
	END
	chmod 755 "$RIG/bin/postconf"
}

master()
{
	[ ! -e "$RIG/pids/master" ] || rig_end master
	rig_spawn master env LD_LIBRARY_PATH="$pf_root/usr/lib/postfix" \
		"$pf_root/usr/lib/postfix/sbin/master" -c "$RIG/conf" -d
	within 30 pf_listens
}

# refused CODE - in the dialogue.
refused()
{
	! send "$1" "$2" && grep "^<\*\* $3" "$RIG/dialogue"
}

postfix_part()
{
	if ! pf_can; then
		skip "setup with Postfix" "$rig_why"
		return
	fi
	trap rig_stop EXIT
	trap 'exit 130' HUP INT TERM
	# shellcheck disable=SC2046 # two words
	set -- $(rig_ports)
	RIG_EXT=$1 RIG_INT=$2
	setup() { setup_postfix "$@"; }
	check "a place for Postfix" eval 'rig_compile && pf_folder' || return
	settings
	postconf
	stock_postfix
	check "without Tidemark its services are unfiltered" \
		finds daemon-unfiltered
	check "setup applies" exits 0 setup --apply
	check "a second time changes nothing" eval \
		"setup --apply | grep 'every line is there'"
	check "Tidemark starts" launch
	check "nothing is wrong" exits 0 setup --check
	rig_spawn other "$rig_build/other" "$RIG/spool/other.sock" \
		"$RIG/other.log"
	within 30 test -S "$RIG/spool/other.sock"
	chmod 777 "$RIG/spool/other.sock"
	check "Postfix starts, with another filter" master
	check "mail of the world is remembered" seen "$RIG_EXT" world
	check "and our own people's" seen "$RIG_INT" own
	check "as such" eval "tidemark tail --once --json |
		grep '\"profile\":\"internal\".*own@from.test'"

	cp "$RIG/conf/master.cf" "$RIG/sound.cf"
	sed -i "/^127.*:$RIG_EXT/s/n - n/n - y/" "$RIG/conf/master.cf"
	check "chrooted again" master
	check "mail passes unseen" unseen "$RIG_EXT" chrooted
	check "it is found" finds chroot
	cp "$RIG/sound.cf" "$RIG/conf/master.cf"
	check "not chrooted" master
	rig_end tidemarkd
	check "while Tidemark is down the world's mail passes, as ever" \
		send "$RIG_EXT" passes
	check "seen by the other filter" grep passes@from.test "$RIG/other.log"
	check "and our own people's waits" refused "$RIG_INT" waits 4
	sed -i 's/default_action=accept/default_action=reject/' \
		"$RIG/conf/master.cf"
	check "reject" master
	check "while Tidemark is down the world is refused for good" \
		refused "$RIG_EXT" down 554
	check "our own people wait" refused "$RIG_INT" down 4
	check "both are found" finds flag-refuses socket-missing
	sed -i 's/default_action=reject/default_action=acept/' \
		"$RIG/conf/master.cf"
	check "a word that Postfix does not know" master
	check "refuses the world for now" refused "$RIG_EXT" unknown 4
	check "it is found" finds action-unknown socket-missing
	check "undo leaves what was changed since" exits 1 setup --undo
	rig_stop
}

sendmail_part
postfix_part
tap_end
