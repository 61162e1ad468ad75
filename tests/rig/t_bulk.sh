#!/bin/sh
# t_bulk.sh - bulk mail behind a real sendmail: the twentieth copy is tagged,
# whoever it is to and however it is wrapped; forged tags are taken off.
#
# $B is the build to test (build).
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh

rig_can || tap_skip "bulk mail behind sendmail" "$rig_why"
rig_start || exit 1
. tests/rig/tidemark.sh
sink=$RIG/mbox/sink

offer='Our unbeatable offer is valid for a few days only, so make haste and
order ten of them today, before all your neighbours do the same thing.'

# copy NUMBER [SWAKS OPTION...] - one of them, to a recipient of its own, in
# base64 if the number is even.
copy()
{
	n=$1
	shift
	printf 'Dear to%s@sink.test,\n%s\nto%s@sink.test was chosen.\n' \
		"$n" "$offer" "$n" >"$RIG/body"
	if [ $((n % 2)) -eq 0 ]; then
		base64 -w $((40 + n)) "$RIG/body" >"$RIG/body.64"
		set -- --add-header 'Content-Transfer-Encoding: base64' \
			--body "@$RIG/body.64" "$@"
	else
		set -- --body "@$RIG/body" "$@"
	fi
	rig_send "$RIG_EXT" "from$((n % 3))@from.test" "to$n@sink.test" -- "$@"
}

# tags TO - of the message that was delivered to it, joined by commas.
tags()
{
	awk -v to="$1" '
		/^From / { head = 1; mine = 0; list = "" }
		head && tolower($1) ~ /^x-tidemark-/ { list = list sep $1 " " $2; sep = "," }
		/^X-Rig-To:/ && index($0, to) { mine = 1 }
		head && /^\r?$/ { head = 0; if (mine) { print list; exit } list = ""; sep = "" }
		' "$sink"
}

arrived()
{
	grep -q "^X-Rig-To:.* *$1" "$sink"
}

# tagged TO TAGS
tagged()
{
	within 20 arrived "$1" && same "$(tags "$1")" "$2"
}

settings "" "bulk_mode = enforce" ""
check "starts" launch

nineteen()
{
	n=1
	while [ "$n" -le 19 ]; do
		copy "$n" >"$RIG/dialogue" || {
			cat "$RIG/dialogue"
			return 1
		}
		n=$((n + 1))
	done
}
check "nineteen copies pass" nineteen
check "the first without a tag" tagged to1@sink.test ''
check "the nineteenth, too" tagged to19@sink.test ''
check "the twentieth passes" copy 20
check "and is tagged" tagged to20@sink.test 'X-Tidemark-Bulk: 20'
check "the next one passes, with forged tags" copy 21 \
	--add-header 'X-Tidemark-Bulk: 1' --add-header 'x-tidemark-bulk: 2' \
	--add-header 'X-Tidemark-Else: 3'
check "ours alone is on it" tagged to21@sink.test 'X-Tidemark-Bulk: 21'
check "other mail passes, with forged tags" rig_send "$RIG_EXT" \
	other@from.test other@sink.test -- \
	--add-header 'X-Tidemark-Bulk: 99' --add-header 'X-Other: stays' \
	--add-header 'X-TIDEMARK-Bulk: 98' \
	--body 'Nobody else has ever written a letter like this, we dare say, nor will anybody.'
check "none of them is on it" tagged other@sink.test ''
check "what is not ours stays" grep -q '^X-Other: stays' "$sink"
check "the log says so" grep -q 'verdict=accept reason=bulk .*bulk=20$' \
	"$RIG/var/tidemark.log"

settings "" "bulk_mode = enforce;bulk_counts = recipient" ""
check "a copy for each recipient" tidemark reload
many()
{
	set --
	n=100
	while [ "$n" -le 112 ]; do
		set -- "$@" "to$n@sink.test"
		n=$((n + 1))
	done
	printf 'Dear to100@sink.test,\n%s\nto100@sink.test was chosen.\n' \
		"$offer" >"$RIG/body"
	rig_send "$RIG_EXT" from@from.test "$@" -- --body "@$RIG/body"
}
check "thirteen recipients" many
check "it counts no further than it can" \
	tagged to100@sink.test 'X-Tidemark-Bulk: 31+'

settings "" "bulk_mode = enforce;bulk_action = reject;cbsender_mode = enforce;
	cbsender_limit = 2/h;cbsender_leak = 1h;cbip_mode = enforce" ""
check "refuse it" tidemark reload
refused()
{
	copy 31 >"$RIG/dialogue"
	cat "$RIG/dialogue"
	grep -q '^<.. 550 5.7.1 Too many copies of this message' "$RIG/dialogue"
}
check "refused it is, with a reason" refused
check "and charged to nobody: the first twenty may have been others'" \
	same "$(counter drops)" 0
check "where nothing is tagged, forged tags" rig_send "$RIG_EXT" \
	other@from.test untagged@sink.test -- \
	--add-header 'X-Tidemark-Bulk: 99' --body 'Something quite different.'
check "are taken off all the same" tagged untagged@sink.test ''
check "an exception" tidemark except add from.test
check "lets it pass" copy 32
check "without a tag" tagged to32@sink.test ''

tap_end
