#!/bin/sh
# t_memory.sh - the memory of content behind a real sendmail with two daemons:
# what passed is found with its profile and its time, what was refused is not,
# unless the profile wants it.
#
# $B is the build to test (build).
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh

rig_can || tap_skip "memory behind sendmail" "$rig_why"
rig_start || exit 1
. tests/rig/tidemark.sh

# remembers [SETTING] - of the external profile, beside a limit of three.
remembers()
{
	settings "" "oksender_mode = enforce;oksender_limit = 3/h
oksender_leak = 1h;${1:-}" ""
}

# text WORD - a hundred letters and more that only this word makes.
text()
{
	for n in 1 2 3 4 5 6; do
		echo "The $1 went out with the tide number $n of $1 harbour,"
	done
}

# mail PORT FROM WORD
mail()
{
	rig_send "$1" "$2" alice@mx.rig.test -- --header "Subject: of $3" \
		--body "$(text "$3")"
}

# asks STATUS WORDS OPTION...
asks()
{
	want=$1 words=$2
	shift 2
	tidemark query "$@" >"$RIG/answer" 2>&1
	got=$?
	cat "$RIG/answer"
	same "exit status $got" "exit status $want" &&
		grep -qF -- "$words" "$RIG/answer"
}

# ---- what passed -----------------------------------------------------------------

remembers
check "tidemark starts" launch
before=$(date -u +%Y-%m-%dT%H:%M:%SZ)
check "mail passes the external daemon" mail "$RIG_EXT" ann@harbour.example lantern
check "mail passes the internal daemon" mail "$RIG_INT" bob@harbour.example anchor
check "found, as the external profile's" asks 0 "profile external," --text "$(text lantern)"
check "found, as the internal profile's" asks 0 "profile internal," --text "$(text anchor)"
check "a subject is found" asks 0 "as a whole" --text "Of Lantern"
check "at its time" asks 0 yes --text "$(text anchor)" --since "$before"
check "sealed, it is found as well" tidemark seal
check "by both" asks 0 "profile internal," --text "$(text anchor)"
after=$(($(date +%s) + 1))
later()
{
	[ "$(date +%s)" -gt "$after" ]
}
within 30 later
check "not at a later time" asks 1 "certainly not" --text "$(text anchor)" --since "@$after"

# ---- what was refused ------------------------------------------------------------

# Two drops deep: the third message or, where the first ones are still on
# their way into the bucket, a later one is refused, at its end.
refused_at_last()
{
	n=1
	while mail "$RIG_EXT" "$1" "$2-$n" >"$RIG/send.out" 2>&1 && [ $n -lt 20 ]; do
		n=$((n + 1))
	done
	cat "$RIG/send.out"
	[ $n -ge 3 ] && grep -q '^<\*\* 5' "$RIG/send.out"
}
check "one is refused for its sender's speed" refused_at_last eve@shop.example rope
check "the second was found" asks 0 "profile external," --text "$(text rope-2)"
check "the refused one is certainly absent" asks 1 "certainly not" --text "$(text "rope-$n")"
remembers 'remember_refused = yes'
check "remember_refused is taken over" tidemark reload
check "another is refused" refused_at_last mallory@shop.example sail
check "it is found" asks 0 "profile external," --text "$(text "sail-$n")"
check "with its sender" asks 0 "yes" --text "$(text "sail-$n")" --from mallory@shop.example
tap_end
