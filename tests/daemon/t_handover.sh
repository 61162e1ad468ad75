#!/bin/sh
# t_handover.sh - a restart that no mail server notices: the service manager
# keeps the sockets, sessions go on, connections wait.  And a stop that leaves
# nobody.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

manager_pid=
idle_pid=
feed_pid=
end_all()
{
	# shellcheck disable=SC2086 # words, by intent
	kill $idle_pid $feed_pid $manager_pid 2>/dev/null
	[ -z "$manager_pid" ] || within 60 gone "$manager_pid"
	daemon_end
}
trap end_all EXIT

managed()
{
	"$B/tests/load/manager" "$D" "$B/tidemarkd" --keep-sockets -c "$conf" \
	    >>"$D/out" 2>&1 </dev/null &
	manager_pid=$!
	within 30 daemon_up
}

main() { cat "$D/main"; }
main_is_new() { [ "$(main)" != "$1" ] && daemon_up; }

restart()
{
	old=$(main)
	kill -USR1 "$manager_pid" && within 30 main_is_new "$old"
}

# A mail server's session in which nothing happens; how it ends is written.
idle()
{
	rm -f "$D/idle.out"
	perl -MSocket -e '$| = 1;
		socket(S, AF_UNIX, SOCK_STREAM, 0) or die;
		connect(S, pack_sockaddr_un($ARGV[0])) or die;
		syswrite S, pack("NaNNN", 13, "O", 6, 0x1ff, 0x1fffff);
		sysread S, $b, 512 or die;
		$c = "Ch.example\0" . "4" . pack("n", 25) . "192.0.2.9\0";
		syswrite S, pack("N", length $c) . $c;
		sysread S, $b, 512 or die;
		print "idle\n";
		1 while sysread S, $b, 512;
		print "cut\n"' "$D/run/external.sock" >"$D/idle.out" 2>&1 &
	idle_pid=$!
	within 30 grep -q idle "$D/idle.out"
}

# Nobody dials twice: a connection refused is a message failed.
load()
{
	: >"$D/acked"
	"$FEED" -s "local:$D/run/external.sock" -c 3 -m 2 -n 0 -r 40 --quiet \
	    --acked "$D/acked" tests/demo/sample.mbox >"$D/feed.out" 2>&1 &
	feed_pid=$!
	flows 0
}
sent() { [ "$(wc -l <"$D/acked")" -gt "$1" ]; }
flows() { within 30 sent $(($(wc -l <"$D/acked") + 20)); }

all_served()
{
	kill "$feed_pid"
	wait "$feed_pid"
	feed_pid=
	cat "$D/feed.out"
	same "$(of failed "$D/feed.out") $(of lost "$D/feed.out")" "0 0"
}

workers_are() { same "$(workers | wc -l)" "$1"; }
nobody_left() { ! pgrep -af "runtime $D/run"; }

daemon_conf 'shutdown_grace = 1h'
check "starts" managed
check "a session that is idle" idle
worker=$(workers)
check "and mail" load
inode=$(stat -c %i "$D/run/external.sock")
check "a restart" restart
check "mail goes on" flows
check "another" restart
check "mail goes on" flows
check "nobody was refused" all_served
check "the socket is the same" same "$(stat -c %i "$D/run/external.sock")" \
    "$inode"
still_served() { workers | grep -x "$worker"; }
check "the idle session is served by whom it was" still_served
check "and has not been cut" lacks cut "$D/idle.out"
check "no time is not covered" exits 1 tidemark query --from no@nowhere.example

# ---- a supervisor that is killed ---------------------------------------------

killed()
{
	old=$(main)
	kill -9 "$old" && within 30 main_is_new "$old"
}
check "mail" load
check "the supervisor is killed" killed
check "mail goes on" flows
check "nobody was refused" all_served
check "the idle session goes on" still_served

# ---- other sockets, another map ------------------------------------------------

daemon_conf 'shutdown_grace = 1h' 'max_workers = 20' '[profile external]' \
    "socket = local:$D/run/elsewhere.sock" '[profile internal]'
check "a restart with a socket elsewhere, and a map of another size" restart
check "it is there" within 30 [ -S "$D/run/elsewhere.sock" ]
goes() { "$FEED" -s "local:$D/run/elsewhere.sock" -n 1 --quiet \
    tests/demo/sample.mbox; }
check "and served" goes
check "the session that has outlived its map is ended" \
    within 30 grep -q cut "$D/idle.out"
check "its time is not covered" exits 3 \
    tidemark query --from no@nowhere.example

# ---- a stop --------------------------------------------------------------------

daemon_conf 'shutdown_grace = 1h'
check "back again" restart
check "a session that is idle" idle
check "is served" within 30 workers_are 1
kill "$manager_pid"
check "a stop ends it, without waiting" within 30 grep -q cut "$D/idle.out"
check "and leaves nobody" within 30 nobody_left
check "nor a service manager" within 30 gone "$manager_pid"

# ---- shutdown_grace ------------------------------------------------------------

manager_pid=
rm -f "$D/notify"
daemon_conf 'shutdown_grace = 1s'
check "starts" managed
check "a session that is idle" idle
check "a restart" restart
check "ends it after shutdown_grace" within 30 grep -q cut "$D/idle.out"
check "as a lapse" within 30 exits 3 tidemark query --from no@nowhere.example \
    --since 1min
check "audit" tidemark audit
tap_end
