#!/bin/sh
# t_bulk.sh - copies of one message, counted by a daemon at work: refused at
# the threshold, excepted, put off, tagged; counts outlive the collector and
# the map; the postmaster asks with `tidemark bulk'.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

text='Our unbeatable offer is valid for a few days only, so make haste and
order ten of them today, before your neighbours do. Write to us for more.'

# box FROM TO TEXT... - a mailbox of one message to that recipient.
box()
{
	from=$1 to=$2
	shift 2
	printf 'From %s Mon Mar  3 07:52:10 2025\nReturn-Path: <%s>\nFrom: %s\nTo: %s\nSubject: x\n\nDear %s,\n%s\n\n' \
	    "$from" "$from" "$from" "$to" "$to" "$*"
}

# mail FROM TO [TEXT] - feed's tally is in $D/mail.out.
mail()
{
	box "$1" "$2" "${3-$text}" >"$D/box"
	"$FEED" -s "local:$D/run/external.sock" -n 1 --client 192.0.2.7 \
	    --quiet "$D/box" >"$D/mail.out" 2>&1
	cat "$D/mail.out"
}

passes()
{
	mail "$@" && [ "$(of acked "$D/mail.out")" -eq 1 ]
}

refused()
{
	mail "$@"
	[ "$(of rejected "$D/mail.out")" -eq 1 ]
}

logged()
{
	tail -n 1 "$D/log"
	tail -n 1 "$D/log" | grep -q -e "$1"
}

# ask TO [TEXT] - tidemark bulk test on such a message.
ask()
{
	to=$1
	box a@sender.example "$to" "${2-$text}" | sed 1d |
	    tidemark bulk test --to "$to"
}

counts()
{
	says "text [0-9a-f]*: $1 copies ($1 here, 0 at neighbours) since" \
	    ask who@rcpt.example
}

profile()
{
	daemon_conf 'bulk_keys = 2k' '[profile external]' \
	    'bulk_threshold = 5' "$@"
}

reloaded()
{
	profile "$@"
	tidemark reload
}

profile 'bulk_mode = enforce' 'bulk_action = reject'
check "starts" daemon_start

# ---- to the threshold ----------------------------------------------------

check "never seen" exits 1 ask who@rcpt.example
check "the first copy passes" passes a@sender.example ann@rcpt.example
check "and is logged with its count" logged 'reason=- .* bulk=1$'
check "one copy, to another recipient" counts 1
check "the second" passes b@sender.example bob@rcpt.example
check "the third" passes a@sender.example cid@rcpt.example
check "what is missing is said" says 'external: 2 more and it is bulk mail' \
    ask who@rcpt.example
check "the fourth" passes a@sender.example dan@rcpt.example
check "the next one is bulk, it says" \
    says 'external: bulk mail; the next copy is refused' ask who@rcpt.example
check "the fifth is refused" refused c@sender.example eve@rcpt.example
check "with a reason" logged 'verdict=reject reason=bulk ms=[0-9.]* bulk=5$'
check "another text passes" passes a@sender.example eve@rcpt.example \
    "$text And one thing more, which nobody else has been told so far."
check "why knows" says 'reason=bulk' tidemark why c@sender.example
check "too little text is not counted" passes a@sender.example eve@rcpt.example hi
check "and said to be so" says 'too little text' sh -c \
    "printf 'Subject: x\n\nhi\n' | $B/tidemark -c $conf bulk test"
check "counted it is" [ "$(counter bulk_unsigned)" -eq 1 ]
check "met once" [ "$(counter bulk_met)" -eq 1 ]
check "postmaster can be written to" \
    passes d@sender.example postmaster@rcpt.example

# ---- exceptions, modes ---------------------------------------------------

check "an exception" tidemark except add @sender.example
check "lets it pass" passes d@sender.example eve@rcpt.example
check "and is counted" [ "$(counter bulk_excepted)" -eq 1 ]
check "no exception" tidemark except del @sender.example
check "put off" reloaded 'bulk_mode = enforce' 'bulk_action = tempfail'
check "it is refused" refused a@sender.example eve@rcpt.example
check "for now, and charged to nobody" \
    logged 'verdict=tempfail reason=bulk [^=]*=[0-9.]* bulk=7$'
check "dry-run" reloaded 'bulk_mode = dry-run' 'bulk_action = reject'
check "lets it pass, and counts" passes a@sender.example eve@rcpt.example
check "and would not have" [ "$(counter bulk_met)" -eq 3 ]
check "tag" reloaded 'bulk_mode = enforce' 'bulk_action = tag'
check "passes" passes a@sender.example eve@rcpt.example
check "with its reason" logged 'verdict=accept reason=bulk .* bulk=9$'
check "off" reloaded 'bulk_mode = off'
check "counts nothing" passes a@sender.example eve@rcpt.example
check "as before" counts 9

# ---- what survives -------------------------------------------------------

check "the collector is killed" kill_collector
check "all counts are there" counts 9
check "the map is lost" lose_map
check "all counts are there again" counts 9
check "statistics" says 'this generation: since' tidemark bulk stats
check "statistics for programs" says '"type":"generation","current":true' \
    tidemark bulk stats --json
check "a count for programs" says '"of":"text".*"own":9,"neighbours":0' sh -c \
    ". tests/lib/tap.sh; printf '%s' \"\$0\" | $B/tidemark -c $conf bulk test \
    --json --to who@rcpt.example" "$(box a@x.example who@rcpt.example "$text" | sed 1d)"

# ---- generations, recipients ---------------------------------------------

check "generations of a second" sh -c "sed -i '1i bulk_span = 1s' $conf &&
    $B/tidemark -c $conf reload"
forgotten()
{
	exits 1 ask who@rcpt.example
}
check "in a while all is forgotten" within 30 forgotten
check "a copy for each recipient" reloaded 'bulk_mode = enforce' \
    'bulk_counts = recipient' 'bulk_action = block'
check "three recipients" passes a@sender.example \
    'ann@rcpt.example, bob@rcpt.example, cid@rcpt.example' "$text"
check "are three copies" logged 'rcpts=3 .* bulk=3$'
check "two more" passes a@sender.example 'dan@rcpt.example, eve@rcpt.example'
check "block is a tag, and counts against nobody" \
    logged 'verdict=accept reason=bulk ms=[0-9.]* bulk=5$'

tap_end
