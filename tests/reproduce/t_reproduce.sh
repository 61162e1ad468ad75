#!/bin/sh
# t_reproduce - the paper's tables through our own counting filter: 60 rounds,
# seed 1.  `make reproduce` is the full form.
#
# alone: a process for each core
set -u
. tests/lib/tap.sh

check "the paper's means are met" \
	"${B:-build}/tests/reproduce/reproduce" --quick
tap_end
