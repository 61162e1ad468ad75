#!/bin/sh
# t_memory - the memory of content on a corpus of real mail: nothing missed,
# and how often what never passed is found.  With REPRODUCE=1 the corpus is
# fetched if it is not here, and 2,000 questions of each kind are asked; else
# it is skipped without the corpus, and 300 are enough.
set -u
. tests/lib/tap.sh

if [ -z "${REPRODUCE:-}" ] && [ -z "${TIDEMARK_CORPUS:-}" ] &&
	[ ! -d build/corpus ]; then
	tap_skip "memory on real mail" \
		"no corpus here: make reproduce-memory fetches it"
fi
folder=$(sh tests/corpus/fetch.sh 2>&1) ||
	tap_skip "memory on real mail" "$folder"
questions=300
[ -n "${REPRODUCE:-}" ] && questions=2000
exec "${B:-build}/tests/corpus/memory" "$folder" "$questions"
