# tap.sh - a few words for test programs in sh.  Source it.  Output is TAP.
#
# With CASE=words in the environment only the cases that have the words in
# their sentence are reported and counted, and it is a failure if there is
# none.  All of them are run, for a case may need what those before it did;
# should one of the others fail, a comment says so.
# shellcheck shell=sh

tap_cases=0 tap_failures=0

# tap_case SENTENCE LINE - a case, and what TAP says of it.
tap_case()
{
	case $1 in
	*"${CASE:-}"*) ;;
	*)
		[ "${2#not}" = "$2" ] || echo "# left out: $2"
		return
		;;
	esac
	echo "$2"
	tap_cases=$((tap_cases + 1))
	[ "${2#not}" = "$2" ] || tap_failures=$((tap_failures + 1))
}

# check SENTENCE COMMAND... - the case passes if the command succeeds; what it
# prints is shown if it does not.  It runs in this shell, so what it starts is
# ours to wait for.
check()
{
	tap_name=$1
	shift
	tap_out=$(mktemp) || exit 2
	tap_line="ok - $tap_name"
	"$@" >"$tap_out" 2>&1 </dev/null || tap_line="not $tap_line"
	tap_case "$tap_name" "$tap_line"
	case $tap_line in
	not*)
		echo "# $*"
		sed 's/^/# /' "$tap_out"
		;;
	esac
	rm -f "$tap_out"
	[ "${tap_line#not}" = "$tap_line" ]
}

# same GOT WANT
same()
{
	[ "$1" = "$2" ] || {
		printf 'is   «%s»\nnot  «%s»\n' "$1" "$2"
		return 1
	}
}

# exits STATUS COMMAND... - true if the command ends with that status.
exits()
{
	tap_want=$1
	shift
	"$@"
	same "exit status $?" "exit status $tap_want"
}

# Words for `check': fails COMMAND..., lacks PATTERN FILE
fails()
{
	! "$@"
}

lacks()
{
	! grep -e "$1" "$2"
}

# within SECONDS COMMAND... - try it ten times a second until it succeeds.
within()
{
	tap_tries=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tap_tries=$((tap_tries - 1))
		if [ "$tap_tries" -le 0 ]; then
			"$@"	# once more, aloud
			return
		fi
		sleep 0.1
	done
}

# skip SENTENCE REASON - one case.
skip()
{
	tap_case "$1" "ok - $1 # SKIP $2"
}

# tap_skip SENTENCE REASON - the whole program is one skipped case; which ones
# it would have had, nobody knows, so CASE leaves it in.
tap_skip()
{
	echo "ok - $1 # SKIP $2"
	echo "1..1"
	exit 0
}

tap_end()
{
	if [ "$tap_cases" -eq 0 ]; then
		echo "1..0 # no such case"
		return 1
	fi
	echo "1..$tap_cases"
	[ "$tap_failures" -eq 0 ]
}
