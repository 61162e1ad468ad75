#!/bin/sh
# t_spam.sh - over the corpus of real mail: all 1,853 of its spam are
# reported; how many are met again with 5% of their words changed, and how
# many of the 4,145 others are met wrongly?
set -u
. tests/lib/tap.sh

B=${B:-build}
if [ -z "${REPRODUCE:-}" ] && [ -z "${TIDEMARK_CORPUS:-}" ] &&
	[ ! -d build/corpus ]; then
	tap_skip "rates over the corpus" \
		"no corpus here: make check-memory fetches it"
fi
corpus=$(sh tests/corpus/fetch.sh 2>&1) ||
	tap_skip "rates over the corpus" "$corpus"

# rate WHAT - of the last run.
rate()
{
	sed -n "s/^$1 .* rate \([0-9.]*\) .*/\1/p" "$out"
}

# within_bounds VALUE LEAST MOST
within_bounds()
{
	echo "$1"
	awk -v v="$1" -v least="$2" -v most="$3" \
		'BEGIN { exit !(v >= least && v <= most) }'
}

out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
for key in 1 2 3; do
	"$B/tests/corpus/spam_rates" 0.05 spam "$corpus" "$key" >"$out"
	sed 's/^/# /' "$out"
	check "key $key: all that is reported is met again" \
		within_bounds "$(rate again)" 1 1
	check "key $key: near copies are met, 96% or more" \
		within_bounds "$(rate near)" 0.96 1
	check "key $key: strangers are not, but for 0.1%" \
		within_bounds "$(rate strangers)" 0 0.001
done
tap_end
