#!/bin/sh
# t_processes.sh - each of Tidemark's processes is killed under load.
#
# The load client speaks the milter protocol to the real daemon; what it got
# acknowledged must be found afterwards, whoever died.
#
#   STORM=1   more messages, more kills; what knows no longer form is left out
#
# alone: a storm, with kills
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

many=${STORM:+3}
many=${many:-1}
messages=${STORM:+nine}
messages=${messages:-three}

under_load()
{
	"$FEED" -s "local:$D/run/external.sock" "$@" --unique --quiet \
	    tests/demo/sample.mbox >"$D/feed.out" 2>&1 &
	feed_pid=$!
}

feed_ends()
{
	wait "$feed_pid"
	cat "$D/feed.out"
}

all_remembered()
{
	remembered "$1"
}

# ---- 200 at once, a process each -------------------------------------------

daemon_conf 'max_workers = 300'
check "starts" daemon_start

two_hundred()
{
	feed -c 200 -n $((600 * many)) -m $((3 * many)) --together --unique \
	    --acked "$D/acked.200" >"$D/feed.out" 2>&1
	status=$?
	cat "$D/feed.out"
	same "$status $(of acked "$D/feed.out") $(of lost "$D/feed.out")" \
	    "0 $((600 * many)) 0"
}
check "200 connections at once, $messages messages each, all succeed" \
    two_hundred
check "each had a process of its own" \
    same "$(counter workers_forked)" "$(of sessions "$D/feed.out")"
nobody_serves() { same "$(field workers)" 0; }
check "and the processes are gone" within 5 nobody_serves
check "what was acknowledged is remembered" all_remembered "$D/acked.200"

# ---- workers ---------------------------------------------------------------

kill_workers()
{
	under_load -c 16 -m 100000 -n 0 -r 600 --retry --acked "$D/acked.w"
	killed=0 rounds=0
	while [ "$killed" -lt $((200 * many)) ]; do
		for pid in $(children "$(field acceptor_pid)" | head -n 6); do
			kill -9 "$pid" 2>/dev/null && killed=$((killed + 1))
		done
		rounds=$((rounds + 1))
		[ "$rounds" -lt $((500 * many)) ] || return 1
	done
	kill -TERM "$feed_pid"
	feed_ends
	echo "killed $killed"
	lost=$(of lost "$D/feed.out")
	# every kill may cost its own connection, and no other
	[ "$lost" -gt 0 ] && [ "$lost" -le "$killed" ]
}
check "hundreds of workers are killed: only their own connections are lost" \
    kill_workers
check "no epoch stays stuck" within 5 no_epoch_stuck
check "the deaths are counted" [ "$(counter workers_crashed)" -gt 100 ]
check "what was acknowledged is remembered" all_remembered "$D/acked.w"
check "windows can still be sealed" tidemark seal
check "and still everything is remembered" all_remembered "$D/acked.w"

# A worker that died may have let its message pass unseen: no answer of
# "certainly not" over that time.
check "a question over that time is not wholly covered" \
    exits 3 tidemark query --from nobody@nowhere.example

# ---- collector -------------------------------------------------------------

kill_role()
{
	role=$1 times=$2
	while [ "$times" -gt 0 ]; do
		old=$(field "${role}_pid")
		kill -9 "$old"
		reborn() { [ "$(field "${role}_pid")" != "$old" ] && daemon_up; }
		within 40 reborn || return 1
		times=$((times - 1))
	done
}

kill_collectors()
{
	under_load -c 8 -m 10 -n 0 -r 300 --acked "$D/acked.c"
	kill_role collector $((3 * many)) || return 1
	kill -TERM "$feed_pid"
	feed_ends
	same "$(of failed "$D/feed.out") $(of lost "$D/feed.out")" "0 0"
}
check "the collector is killed: mail goes on, nothing fails" kill_collectors
check "what was acknowledged is remembered" all_remembered "$D/acked.c"

# Workers that lived through it are still the acceptor's own.
kill_survivors()
{
	under_load -c 4 -m 100000 -n 0 -r 200 --retry
	four_serve() { same "$(field workers)" 4; }
	within 30 four_serve || return 1
	attached=$(grep -c 'map attached' "$D/log")
	kill_role collector 1 || return 1
	followed() { [ "$(grep -c 'map attached' "$D/log")" -gt "$attached" ]; }
	within 30 followed || return 1
	for pid in $(workers); do
		kill -9 "$pid"
	done
	kill -TERM "$feed_pid"
	feed_ends
	within 30 nobody_serves
}
check "workers from before a collector's restart are killed: none is left over" \
    kill_survivors
check "no epoch stays stuck" within 5 no_epoch_stuck

# ---- acceptor --------------------------------------------------------------

kill_acceptors()
{
	under_load -c 8 -m 50 -n 0 -r 300 --retry --acked "$D/acked.a"
	kill_role acceptor $((3 * many)) || return 1
	kill -TERM "$feed_pid"
	feed_ends
	# one that was being forked for may be lost with it, no more
	[ "$(of lost "$D/feed.out")" -le $((3 * many)) ]
}
check "the acceptor is killed: sessions go on" kill_acceptors
check "its workers were taken over" [ "$(counter workers_adopted)" -gt 0 ]
check "no epoch stays stuck" within 5 no_epoch_stuck
check "what was acknowledged is remembered" all_remembered "$D/acked.a"

# What follows is no longer in a storm.
if [ -n "${STORM:-}" ]; then
	tap_end
	exit
fi

backlog()
{
	kill -9 "$(field acceptor_pid)"
	feed -c 30 -n 30 -m 1 --unique --acked "$D/acked.b" >"$D/feed.out"
	cat "$D/feed.out"
	same "$(of acked "$D/feed.out") $(of lost "$D/feed.out")" "30 0"
}
within 10 daemon_up >/dev/null
check "connections that wait while no acceptor is there are served" backlog
check "what was acknowledged is remembered" all_remembered "$D/acked.b"

# ---- supervisor ------------------------------------------------------------

kill_supervisor()
{
	under_load -c 8 -m 50 -n 0 -r 300 --retry --acked "$D/acked.s"
	sleep 0.5
	collector=$(field collector_pid) acceptor=$(field acceptor_pid)
	kill -9 "$daemon_pid"
	wait "$daemon_pid" 2>/dev/null
	within 10 gone "$acceptor" || return 1
	within 10 gone "$collector" || return 1
	daemon_start || return 1
	sleep 0.5
	kill -TERM "$feed_pid"
	feed_ends
	[ "$(of acked "$D/feed.out")" -gt 0 ]
}
check "the supervisor is killed: all end, and a new start resumes" \
    kill_supervisor
check "what was acknowledged is remembered" all_remembered "$D/acked.s"
check "everything from before, too" all_remembered "$D/acked.200"

# ---- everything at once, and the live file ---------------------------------

kill_all()
{
	collector=$(field collector_pid) acceptor=$(field acceptor_pid)
	kill -9 "$daemon_pid" "$collector" "$acceptor"
	wait "$daemon_pid" 2>/dev/null
	within 10 gone "$collector" && within 10 gone "$acceptor"
}

resume_after_kill()
{
	feed -c 4 -n 200 -m 10 --unique --quiet --acked "$D/acked.k" || return 1
	kill_all && daemon_start && remembered "$D/acked.k"
}
check "all killed at once: the map is resumed whole" resume_after_kill

lose_live()
{
	feed -c 4 -n 200 -m 10 --unique --quiet --acked "$D/acked.1" || return 1
	tidemark checkpoint || return 1
	sleep 0.2
	feed -c 4 -n 50 -m 10 --unique --quiet --acked "$D/acked.2" || return 1
	kill_all || return 1
	rm "$D/run/live.mdb" "$D/run/map"
	daemon_start
}
check "the live file is lost: Tidemark starts" lose_live
check "all up to the checkpoint is remembered" all_remembered "$D/acked.1"
check "the log says what was restored" \
    grep -q 'restored the checkpoint of' "$D/log"
# Not the null sender, which others were, too.
late=$(awk '$2 != "<>" { print $2; exit }' "$D/acked.2")
check "what came after it is not denied, but not covered" \
    exits 3 tidemark query --from "$late"

# ---- stuck and idle workers, and too many ----------------------------------

daemon_stop
daemon_conf 'max_workers = 4' 'worker_silent = 10min'
check "starts with other sizes, nothing lost" daemon_start
check "what was acknowledged is remembered" all_remembered "$D/acked.1"

past_the_cap()
{
	feed -c 24 -n 240 -m 5 --unique --quiet >"$D/feed.out"
	cat "$D/feed.out"
	same "$(of acked "$D/feed.out") $(of lost "$D/feed.out")" "240 0" &&
	    [ "$(counter backlog_waits)" -gt 0 ]
}
check "past max_workers connections wait, and are counted" past_the_cap

# hold SOCKET - eight connections on which nobody speaks.
hold()
{
	# shellcheck disable=SC2016 # perl, by intent
	perl -MIO::Socket::UNIX -e '
		for (1 .. 8) {
			push @held, IO::Socket::UNIX->new(Peer => $ARGV[0])
			    or die "$ARGV[0]: $!";
		}
		sleep 120' "$1" &
	hold_pid=$!
}

let_go()
{
	kill "$hold_pid"
	wait "$hold_pid" 2>/dev/null
}

of_external() { [ "$(workers | wc -l)" -eq "$1" ]; }
# shellcheck disable=SC2016 # perl, by intent
external_waits() { json '$r->{profiles}[0]{waiting}' status; }

other_profile_is_served()
{
	hold "$D/run/external.sock"
	within 30 of_external 3 && within 30 external_waits || return 1
	timeout 30 "$FEED" -s "local:$D/run/internal.sock" -n 20 --unique \
	    --quiet tests/demo/sample.mbox >"$D/feed.out"
	cat "$D/feed.out"
	same "$(of acked "$D/feed.out")" 20
}
check "silent connections take all but one worker: the other profile is served" \
    other_profile_is_served
check "status says who waits" says 'waiting .*profile external' tidemark status
check "and it is counted" [ "$(counter share_waits)" -gt 0 ]
check "and told" grep -q 'profile external: has 3 workers, at most 3' "$D/log"

let_go

daemon_stop
daemon_conf 'max_workers = 4' 'worker_stuck = 1s' 'worker_idle = 2s' \
    'worker_silent = 500ms'
check "starts" daemon_start
crashed=$(counter workers_crashed)

silent_go()
{
	hold "$D/run/external.sock"
	all_closed() { [ "$(counter connections_silent)" -ge 8 ]; }
	within 30 all_closed && within 30 nobody_serves
	status=$?
	let_go
	return "$status"
}
check "a connection on which nobody speaks is closed" silent_go
check "and no worker counts as crashed for it" \
    same "$(counter workers_crashed)" "$crashed"

stopped_worker()
{
	under_load -c 1 -n 0 -m 100000 -r 50
	sleep 0.5
	victim=$(workers | head -n 1)
	kill -STOP "$victim" || return 1
	killed() { gone "$victim"; }
	within 10 killed
	status=$?
	kill -TERM "$feed_pid"
	feed_ends
	[ "$status" -eq 0 ] && [ "$(counter workers_stuck)" -gt 0 ]
}
check "a worker that does not move is killed" stopped_worker
check "no epoch stays stuck" within 5 no_epoch_stuck

tap_end
