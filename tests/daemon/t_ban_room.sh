#!/bin/sh
# t_ban_room.sh - an outsider who makes up senders takes nobody's place among
# the bans: not while its own client is banned, and not otherwise.
#
# takes: 4s
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

# guess CLIENT NAME SENDERS - each tries three recipients that nobody knows.
guess()
{
	perl -e 'for $i (1 .. $ARGV[1]) {
		print "From a Mon Mar  3 07:52:10 2025\nReturn-Path: " .
		    "<$ARGV[0]$i\@x.example>\nTo: no\@example.org\n\nx\n\n"
		    for 1 .. 3 }' "$2" "$3" >"$D/guesses"
	"$FEED" -s "local:$D/run/external.sock" -n $((3 * $3)) -m 50 \
	    --client "$1" --daemon X --unknown --quiet "$D/guesses" \
	    >"$D/feed" 2>&1
	return 0
}
bans() { tidemark banned | grep -c "$1"; }

daemon_conf 'max_bans = 64' '[profile external]' 'unsender_mode = enforce' \
    'unsender_limit = 2/1h' 'unsender_leak = 1h' 'unsender_ban = 1h' \
    'sbsender_mode = enforce' 'sbsender_limit = 2/1h' 'sbsender_leak = 1h' \
    'sbsender_ban = 1h' 'unip_mode = enforce' 'unip_limit = 131/1h' \
    'unip_leak = 1h' 'unip_ban = 1h'
check "starts" daemon_start
check "guessing" guess 192.0.2.1 one 1
is_banned() { tidemark banned "$1" >/dev/null; }
check "bans a sender" within 30 is_banned one1@x.example

# ---- a banned client ---------------------------------------------------------

check "a client is banned" tidemark ban 198.51.100.9
guess 198.51.100.9 quiet 3
sends 0 9 external quiet1@x.example 198.51.100.9
check "the guesses of others are counted" guess 192.0.2.1 two 1
check "and ban" within 30 is_banned two1@x.example
check "but a banned client bans no senders" \
    eval '[ "$(bans quiet)" -eq 0 ] && ! tidemark bucket list | grep quiet'

# ---- made-up senders ---------------------------------------------------------

# unplaced NUMBER
unplaced() { json '$r->{counters}{bans_unplaced}{total} >= '"$1" status; }
check "an account is banned" tidemark ban auth:eve
check "a network makes up senders" guess 203.0.113.7 net 40
# A full mailbox may lose some guesses, so that not all of the 24 overflow.
check "others find no place, which is counted" within 30 unplaced 8
check "for a network has 16" eval '[ "$(bans net)" -eq 16 ]'
check "it is logged" grep -q 'ban: key=net.*its network has its share' "$D/log"
check "and shown" says 'bans found no place' tidemark status
check "they do not save their client" guess 203.0.113.7 more 40
check "who is banned itself" within 30 is_banned 203.0.113.7
for n in 1 2 3 4; do
	guess 2001:db8:$n::7 six$n 20
done
check "so do those of others" within 30 unplaced 30
check "for a profile has half" eval '[ "$(bans x.example)" -eq 32 ]'
check "another client guesses then" guess 192.0.2.200 late 60
check "and is banned" within 30 is_banned 192.0.2.200
check "bans by hand, of an account, of others stand" eval '
	is_banned 198.51.100.9 && is_banned auth:eve &&
	is_banned one1@x.example && is_banned two1@x.example'
check "and find places" eval 'for n in $(seq 28); do
	tidemark ban hand$n@x.example || exit 1; done'
check "up to the last one" says 'no place: 64 bans stand' \
    exits 2 tidemark ban more@x.example
check "all of it stands after a restart" eval 'kill_collector &&
	[ "$(bans .)" -eq 64 ]'
tap_end
