#!/bin/sh
# t_daemon.sh - the command against a running daemon: reload, bypass, rights,
# on_error, offline questions, dumps, and files that cannot be used.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

one_mail()
{
	feed -n 1 "$@" >"$D/feed.out" 2>&1
	cat "$D/feed.out"
}

log_has()
{
	grep -q "$1" "$D/log"
}

# ---- a reload checks first -------------------------------------------------

daemon_conf 'pulse_stale = 5s'
check "starts" daemon_start
check "the configuration is fine" tidemark configtest
daemon_conf 'pulse_stale = 5s' 'checkpoint_every = 1min' 'log_level = debug'
check "a good one is taken over" tidemark reload
check "and shows" same "$(field generation)" 2
check "workers go by it" one_mail
check "they log at the new level" within 30 log_has 'stage=eom'
daemon_conf 'pulse_stale = soon' 'no_such_key = 1'
refused()
{
	tidemark reload >"$D/reload.out" 2>&1
	status=$?
	cat "$D/reload.out"
	[ "$status" -ne 0 ] && grep -q 'tidemark.conf:4:' "$D/reload.out" &&
	    grep -q 'tidemark.conf:5:' "$D/reload.out"
}
check "a bad one is refused, with every line that is wrong" refused
check "and the old one stays" same "$(field generation)" 2
check "SIGHUP with the bad one changes nothing" kill -HUP "$daemon_pid"
check "but is logged" within 30 log_has 'not taken over'
daemon_conf 'max_workers = 12'
check "sizes of the map are refused, by name" \
    sh -c "! $B/tidemark -c $conf reload 2>$D/reload.out; grep -q max_workers $D/reload.out"
daemon_conf
check "mail goes on" one_mail
check "SIGHUP with a good one is taken over" kill -HUP "$daemon_pid"
generation_is() { same "$(field generation)" "$1"; }
check "as the next generation" within 30 generation_is 3

# ---- bypass ----------------------------------------------------------------

check "bypass on" tidemark bypass on --for 1h
check "mail is accepted because of it" one_mail
check "the log says so" within 30 log_has 'reason=bypass'
check "it is counted" [ "$(counter bypassed)" -ge 1 ]
check "bypass off" tidemark bypass off
check "bypass status says off" exits 1 tidemark bypass status

# ---- who may change --------------------------------------------------------

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$D" "$D/run"
	chmod 644 "$conf" "$D/run/config"
	chmod 666 "$D/run/control.sock"
	as_nobody()
	{
		setpriv --reuid 65534 --regid 65534 --clear-groups \
		    "$B/tidemark" -c "$conf" "$@"
	}
	check "somebody else may ask" \
	    exits 1 as_nobody query --from nobody@nowhere.example
	check "but not change" fails as_nobody bypass on
	check "which is counted" [ "$(counter control_denied)" -eq 1 ]
	check "nothing was changed" exits 1 tidemark bypass status

	# what needs the hash key is asked of the daemon; the key is nobody's
	check "the key is not told" exits 2 as_nobody export --key
	check "its owner reads it" tidemark export --key
	nowhere_else()
	{
		tidemark export --key >"$D/key" &&
		    perl -0777 -e '
			open K, "<", shift; $k = pack "H384", <K>;
			for (@ARGV) { open F, "<", $_ or die; $f = <F>;
				for ($i = 0; $i < 192; $i += 16) {
					die "$_ holds it" if index($f,
					    substr $k, $i, 16) >= 0 } }' \
			"$D/key" "$D/state/archive.mdb" "$D/run/live.mdb"
	}
	check "it is in no other file" nowhere_else
	chmod 644 "$D/run/map" "$D/run/live.mdb"
	printf 'Subject: x\n\n%s\n' "Nobody has written a word like this before, \
I am quite sure, and nobody will write it again, here or anywhere else." >"$D/letter"
	check "nevertheless: a file" exits 1 as_nobody query --file "$D/letter"
	ask_message() { as_nobody query <"$D/letter"; }
	check "a message" exits 1 ask_message
	check "an address" exits 1 as_nobody addresses test a@b.example
	check "reported spam" exits 1 as_nobody spam test "$D/letter"
	check "a count of copies" exits 1 as_nobody bulk test "$D/letter"
	check "why" exits 1 as_nobody why nobody@nowhere.example

	# forty connections of somebody who says nothing
	# shellcheck disable=SC2016 # perl, by intent
	setpriv --reuid 65534 --regid 65534 --clear-groups \
	    perl -MIO::Socket::UNIX -e '
		push @s, IO::Socket::UNIX->new($ARGV[0]) for 1 .. 40;
		$| = 1; print "there\n"; sleep 300' "$D/run/control.sock" \
	    >"$D/idle" &
	idle=$!
	check "many sit on the control socket" within 30 grep -q there "$D/idle"
	turned_away() { [ "$(counter control_full)" -ge 16 ]; }
	check "those past their places are turned away" within 30 turned_away
	check "and it is logged, once" \
	    same "$(grep -c 'further ones are turned away' "$D/log")" 1
	check "others who ask are told so" exits 2 as_nobody query --from a@b.example
	check "root still gets through" tidemark bypass off
	kill "$idle"
	asks() { exits 1 as_nobody query --from a@b.example; }
	check "when they go, everybody does" within 30 asks
else
	skip "rights of other users" "needs root"
fi

# ---- two daemons on one socket ---------------------------------------------

check "a daemon's name chooses the profile, whatever the socket" \
    one_mail --daemon MTA-int
check "as the log shows" within 30 log_has 'profile=internal .*daemon=MTA-int'

# ---- questions, dumps ------------------------------------------------------

feed -n 40 -c 2 --unique --quiet --acked "$D/acked" >/dev/null
someone=$(head -n 1 "$D/acked" | cut -d' ' -f2)
check "what passed is found" exits 0 tidemark query --from "$someone"
check "its domain, too" exits 0 tidemark query --from "@${someone#*@}"
check "case does not matter" \
    exits 0 tidemark query --from "$(echo "$someone" | tr '[:lower:]' '[:upper:]')"
check "what did not is certainly absent" \
    exits 1 tidemark query --from nobody@nowhere.example
check "a time before our memory is not covered" \
    exits 3 tidemark query --from nobody@nowhere.example --since 30d
check "seal" tidemark seal
check "found in the archive" exits 0 tidemark query --from "$someone"
round_trip()
{
	tidemark dump --mdb >"$D/dump.mdb" &&
	    mdb_load -n -f "$D/dump.mdb" "$D/copy.mdb" &&
	    mdb_dump -n -a "$D/copy.mdb" | sed '/^mapsize/d;/^maxreaders/d' \
		>"$D/a" &&
	    mdb_dump -n -a "$D/state/archive.mdb" |
	    sed '/^mapsize/d;/^maxreaders/d' >"$D/b" && cmp "$D/a" "$D/b"
}
check "dump --mdb loads with mdb_load as the same" round_trip
check "the running daemon refuses a second one" \
    sh -c "! $B/tidemarkd -c $conf 2>$D/second; grep -q 'runs already' $D/second"

# ---- a stop lets sessions finish --------------------------------------------

finishes()
{
	"$FEED" -s "local:$D/run/external.sock" -c 2 -m 30 -n 30 -r 15 --quiet \
	    tests/demo/sample.mbox >"$D/feed.out" 2>&1 &
	feed_pid=$!
	sleep 0.5
	kill "$daemon_pid"
	wait "$feed_pid"
	cat "$D/feed.out"
	wait "$daemon_pid"
	same "$? $(of acked "$D/feed.out") $(of lost "$D/feed.out")" "0 30 0"
}
check "SIGTERM lets running sessions finish" finishes
check "and starts again" daemon_start
check "that time of being down is a gap" \
    exits 3 tidemark query --from nobody@nowhere.example

daemon_stop
check "it has stopped: no status" exits 2 sh -c \
    "rm -f $D/run/map; $B/tidemark -c $conf status 2>/dev/null"
check "offline, what passed is found" \
    exits 0 tidemark query --offline "$D/state" --from "$someone"
check "offline, since the stop nothing is covered" \
    exits 3 tidemark query --offline "$D/state" --from nobody@nowhere.example

# ---- files that cannot be used: mail goes on -------------------------------

answered_by()
{
	rm -f "$D/log"
	daemon_conf "$@"
	"$B/tidemarkd" -c "$conf" >>"$D/out" 2>&1 </dev/null &
	daemon_pid=$!
	within 10 [ -S "$D/run/external.sock" ] &&
	    within 10 log_has 'no map'
}
cp "$D/state/archive.mdb" "$D/whole"
echo "these are somebody's notes" >"$D/state/archive.mdb"
cp "$D/state/archive.mdb" "$D/notes"
rm -f "$D/run/map"
check "a foreign archive: the daemon is up" answered_by
check "mail is accepted" one_mail
check "and logged as on_error" within 30 log_has 'verdict=accept reason=error'
check "the log names the file" log_has 'archive.mdb: is no LMDB'
check "the file is untouched" cmp "$D/notes" "$D/state/archive.mdb"
daemon_stop

check "on_error = tempfail" answered_by '[profile external]' \
    'on_error = tempfail'
check "the mail is put off" sh -c "! $FEED -s local:$D/run/external.sock \
    -n 1 tests/demo/sample.mbox | grep -q rejected=0"
daemon_stop

cp "$D/whole" "$D/state/archive.mdb"
daemon_conf '[profile external]' 'allow = nonsense ann@a.example 192.0.2.7'
check "with the archive back it starts, whatever 0.2 let pass" daemon_start
check "which is warned of" log_has 'warning.*conf:5: allow: «nonsense» is neither'
check "word for word" log_has 'conf:5: allow: «ann@a.example» can be forged'
check "and left out" [ "$(tidemark config 2>/dev/null | grep '^allow =')" = \
    'allow = 192.0.2.7' ]
check "a check refuses it" exits 1 tidemark configtest
check "so does tidemarkd -t" exits 78 "$B/tidemarkd" -c "$conf" -t
check "and a reload" exits 1 tidemark reload
daemon_conf
check "and everything is there" \
    exits 0 tidemark query --from "$someone"
check "that time is a gap" exits 3 tidemark query --from nobody@nowhere.example

# ---- the notify protocol ---------------------------------------------------

daemon_stop
notified()
{
	NOTIFY_SOCKET=$D/notify perl -MSocket -e '
		socket(S, AF_UNIX, SOCK_DGRAM, 0) or die;
		bind(S, pack_sockaddr_un($ENV{NOTIFY_SOCKET})) or die;
		$SIG{ALRM} = sub { exit 1 }; alarm 15;
		$pid = fork // die;
		if (!$pid) { exec @ARGV or die }
		while (recv(S, $m, 512, 0) // 1) { last if $m =~ /READY=1/ }
		kill TERM => $pid;
		while (recv(S, $m, 512, 0) // 1) { last if $m =~ /STOPPING=1/ }
		waitpid $pid, 0; exit $? >> 8' "$B/tidemarkd" -c "$conf"
}
check "READY and STOPPING reach the service manager" notified

# ---- started as root, with a user --------------------------------------------

# The user's folder is below one of the user's own, who can have links in it.
if [ "$(id -u)" -eq 0 ] && getent passwd nobody >/dev/null; then
	mkdir -p "$D/theirs" "$D/roots"
	chmod 755 "$D"
	chown nobody "$D/theirs"
	: >"$D/log"
	chown nobody "$D/log"
	for_nobody()
	{
		printf '%s\n' "runtime_dir = $D/theirs/run" 'user = nobody' \
		    "state_dir = $D/fresh" "log = $D/log" \
		    '[profile external]' "socket = local:$D/theirs/run/e.sock" \
		    >"$conf"
	}
	for_nobody
	check "as root, with a user" daemon_start
	check "folders are the user's" same \
	    "$(stat -c %U "$D/theirs/run" "$D/fresh" | uniq)" nobody
	check "and all that is in them" same \
	    "$(find "$D/theirs/run" "$D/fresh" ! -user nobody)" ""
	daemon_stop
	check "a stop leaves no socket" fails ls "$D/theirs/run/e.sock"
	rm -rf "$D/theirs/run"
	ln -s "$D/roots" "$D/theirs/run"
	refuses() { ! timeout 30 "$B/tidemarkd" -c "$conf"; }
	check "a link in a folder's place is refused" refuses
	check "and what it leads to stays root's" same \
	    "$(stat -c %U "$D/roots" && ls -A "$D/roots")" root
	rm "$D/theirs/run"
	mkdir "$D/theirs/run" && chown nobody "$D/theirs/run"
	: >"$D/roots/file"
	ln -s "$D/roots/file" "$D/theirs/run/tidemarkd.lock"
	check "so is a link in the lock's place" refuses
	check "and its end stays root's" same "$(stat -c %U "$D/roots/file")" root
	rm "$D/theirs/run/tidemarkd.lock"
	chown root "$D/fresh"
	check "a folder of root's with something in it is not taken" refuses
	check "but stays root's" same "$(stat -c %U "$D/fresh")" root
else
	skip "started as root, with a user" "needs root"
fi

tap_end
