#!/bin/sh
# t_model - the lock-free protocols, every interleaving of a small world, by
# Spin; and their mutants, each of which must be caught.
#
#   STORM=1   larger worlds in their place (minutes, and 4 GB)
#
# alone: five searches at once fill all cores
# shellcheck disable=SC2030,SC2031 # each group has a folder, by intent
set -u
. tests/lib/tap.sh

CC=${CC:-cc}
command -v spin >/dev/null ||
	tap_skip "the models of the protocols hold" "spin is not installed"

MODELS=$(pwd)/tests/model
DIR=$(mktemp -d) || exit 2
trap 'rm -rf "$DIR"' EXIT
trap 'exit 2' HUP INT TERM

# explore OPTIMISATION MODEL DEFINITION... - what Spin finds is left in
# $DIR/found.
explore()
{
	optimise=$1 model=$2
	shift 2
	rm -rf "$DIR/pan" && mkdir "$DIR/pan" && (
		cd "$DIR/pan" &&
			spin "$@" -a "$MODELS/$model.pml" &&
			$CC "$optimise" -w -DSAFETY -DCOLLAPSE -DMEMLIM=4000 \
				-o pan pan.c &&
			./pan -m100000 >"$DIR/found"
	)
}

# holds MODEL DEFINITION... - nothing is wrong, and nothing was left out.
holds()
{
	explore -O2 "$@" || return 1
	grep -E '^pan:|errors: ' "$DIR/found"
	grep -q 'errors: 0$' "$DIR/found" &&
		lacks 'max search depth too small' "$DIR/found" &&
		lacks 'Search not completed' "$DIR/found"
}

# caught MODEL DEFINITION... - an assertion fails, or somebody waits for ever.
# A model that does not compile is not caught.
caught()
{
	explore -O0 "$@" || return 1
	grep -E '^pan:1: (assertion violated|invalid end state)' "$DIR/found"
}

# ---- buckets -----------------------------------------------------------------

deep()
{
	check "buckets: every drop is accounted for, depth 2" \
		holds buckets -DTICKS=1
}

shallow()
{
	check "buckets: every drop is accounted for, depth 1" \
		holds buckets -DK=1 -DTICKS=1
}

mutants()
{
	check "mutant: the floor read before the mark" \
		caught buckets -DFLOOR_FIRST
	check "mutant: the epoch announced after the head was read" \
		caught buckets -DLATE_EPOCH
	check "mutant: retired by a plain store" \
		caught buckets -DPLAIN_RETIRE
	check "mutant: the worker reports its overflow" \
		caught buckets -DWORKER_TELLS
	check "mutant: freed without grace" \
		caught buckets -DNO_GRACE
	check "mutant: what was reported is forgotten when more is held back" \
		caught buckets -DFORGETFUL -DK=1 -DTICKS=0 -DKILLS=0
	check "mutant: no alarm for a notice that was never given" \
		caught buckets -DNO_ALARM
	check "mutant: the dead keep their place among the buckets" \
		caught buckets -DNO_BURIAL
}

# ---- epoch and seal ----------------------------------------------------------

epoch()
{
	check "epoch: a window is sealed with all that was put into it" \
		holds epoch
	check "mutant: the worker announces with release" \
		caught epoch -DWEAK_WORKER
	check "mutant: the collector replaces with release" \
		caught epoch -DWEAK_COLLECTOR
	check "mutant: the epoch advances before the window is replaced" \
		caught epoch -DEPOCH_FIRST
	check "mutant: sealed while a worker is inside" \
		caught epoch -DNO_WAIT
	check "mutant: cleared before it is in the archive" \
		caught epoch -DCLEAR_FIRST
	check "mutant: the dead keep their place among the windows" \
		caught epoch -DNO_BURIAL
}

# ---- counting ----------------------------------------------------------------

counting()
{
	check "counting: no cell is below the copies inserted, one worker killed" \
		holds counting -DWORKERS=2 -DCOPIES=2
	check "counting: nor with three workers at once" \
		holds counting -DKILLS=0 -DFOREIGN=0
	check "mutant: the cells are first read when registered" \
		caught counting -DREAD_LATE
	check "mutant: nobody registers" \
		caught counting -DNAIVE
	check "mutant: the stripe's other words are not looked at" \
		caught counting -DONE_WORD
	check "mutant: they are looked at too early" \
		caught counting -DLATE_LOOK
	check "mutant: the bit is cleared before the cells are raised" \
		caught counting -DLEAVE_FIRST
	check "mutant: two workers share a bit" \
		caught counting -DSHARED_BIT
}

# ---- larger ------------------------------------------------------------------

larger()
{
	check "buckets: two ticks" holds buckets -DTICKS=2
	check "buckets: two workers killed" \
		holds buckets -DOPS0=1 -DTICKS=2 -DKILLS=2
	check "buckets: five adds without a tick" \
		holds buckets -DOPS0=3 -DOPS1=2 -DTICKS=0 -DKILLS=0
	check "counting: other messages raise the cells more often" \
		holds counting -DWORKERS=2 -DCOPIES=2 -DFOREIGN=2
	check "counting: three workers, one killed" \
		holds counting -DFOREIGN=0
	check "counting: three workers and other messages" \
		holds counting -DKILLS=0
	check "epoch: the collector killed twice" \
		holds epoch -DBURSTS=1 -DCRASHES=2
}

# ---- all of them -------------------------------------------------------------

# beside GROUP - by itself, beside the others.
beside()
{
	(
		DIR=$DIR/$1
		"$1"
		echo "$tap_cases $tap_failures" >"$DIR/sum"
	) >"$DIR/$1.out" 2>&1 &
}

groups='deep shallow mutants epoch counting'
[ -z "${STORM:-}" ] || groups=larger
for group in $groups; do
	mkdir "$DIR/$group" && beside "$group"
done
wait
for group in $groups; do
	cat "$DIR/$group.out"
	read -r cases failures <"$DIR/$group/sum" || exit 2
	tap_cases=$((tap_cases + cases))
	tap_failures=$((tap_failures + failures))
done
tap_end
