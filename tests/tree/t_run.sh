#!/bin/sh
# t_run - tests/run and tests/each: what counts as what, who runs beside whom,
# cases chosen by their words, and what is left of a run that is killed; and
# how `make test' finds a test by its name.
#
# takes: 8s
set -u
. tests/lib/tap.sh

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$dir/tmp"

# program NAME - in sh, from stdin.  It knows its folder as $dir.
program()
{
	{
		echo '#!/bin/sh'
		echo "dir=$dir"
		cat
	} >"$dir/$1"
	chmod 755 "$dir/$1"
}

# run [VARIABLE=VALUE...] COMMAND... - not as we are run ourselves; what it
# says is in $dir/out.
run()
{
	env -u CASE -u RESULTS -u MAKEFLAGS -u MAKELEVEL -u T \
		TMPDIR="$dir/tmp" "$@" >"$dir/out" 2>&1
	run_status=$?
	cat "$dir/out"
	return "$run_status"
}

# sums LINE COMMAND... - the last line, whatever the exit status.
sums()
{
	sums_want=$1
	shift
	run "$@"
	same "$(tail -n 1 "$dir/out")" "$sums_want"
}

# ---- counts ------------------------------------------------------------------

program good.sh <<'END'
echo 'ok - one'
echo 'ok - two words'
echo 'ok - three # SKIP not here'
echo '1..3'
END
program bad.sh <<'END'
echo 'ok - one'
echo 'not ok - two'
echo '# why'
exit 1
END
program dead.sh <<'END'
echo 'ok - one'
kill -9 $$
END
program empty.sh <<'END'
exit 0
END

check "what passed and was skipped" \
	sums "2 passed, 0 failed, 1 skipped" tests/run "$dir/good.sh"
check "with the reason" grep -qx '    skipped: three - not here' "$dir/out"
check "is a success" test "$run_status" -eq 0
check "what failed" \
	sums "1 passed, 1 failed, 0 skipped" tests/run "$dir/bad.sh"
check "is shown" grep -qx '    # why' "$dir/out"
check "and no success" test "$run_status" -eq 1
check "whoever dies has failed" \
	sums "1 passed, 1 failed, 0 skipped" tests/run "$dir/dead.sh"
check "so has whoever runs no case" \
	sums "0 passed, 1 failed, 0 skipped" tests/run "$dir/empty.sh"
check "and whoever is not there" \
	sums "0 passed, 1 failed, 0 skipped" tests/run "$dir/none.sh"
check "nothing to run is no success" fails run tests/run
check "nor is -j 0" fails run tests/run -j 0 "$dir/good.sh"
check "all of it, side by side" sums "4 passed, 4 failed, 1 skipped" \
	tests/run -j 3 "$dir/good.sh" "$dir/bad.sh" "$dir/dead.sh" \
	"$dir/empty.sh" "$dir/none.sh"

# ---- side by side ------------------------------------------------------------

# Each is done when it has seen the other, or has waited long enough.
for name in left right; do
	program "$name.sh" <<'END'
me=${0##*/}
: >"$dir/was.$me"
tries=300
until [ -e "$dir/was.left.sh" ] && [ -e "$dir/was.right.sh" ]; do
	tries=$((tries - 1))
	[ "$tries" -gt 0 ] || { echo "not ok - $me is lonely"; exit 1; }
	sleep 0.1
done
echo "ok - $me has company"
END
done
check "two at once" run tests/run -j 2 "$dir/left.sh" "$dir/right.sh"

# Notes when it came and when it went.
for name in first second third fourth; do
	program "$name.sh" <<'END'
echo "${0##*/} comes" >>"$dir/notes"
sleep 0.3
echo "${0##*/} goes" >>"$dir/notes"
echo "ok - was here"
END
done
one_by_one()
{
	rm -f "$dir/notes"
	run "$@"
	cat "$dir/notes"
	awk '$2 == "comes" && ++there > 1 { exit 1 }
		$2 == "goes" { there-- }' "$dir/notes"
}
check "one after the other with -j 1" one_by_one tests/run -j 1 \
	"$dir/first.sh" "$dir/second.sh" "$dir/third.sh"
came()
{
	sed -n 's/\.sh comes//p' "$dir/notes" | tr '\n' ' '
}
check "as they are named" same "$(came)" "first second third "
for name in first second third; do
	sed -i '2i # alone: it says so' "$dir/$name.sh"
done
check "or if they want to be alone" one_by_one tests/run -j 3 \
	"$dir/first.sh" "$dir/second.sh" "$dir/third.sh"
# Of those who need not be, the longest would be the last here.
sed -i '2d' "$dir/first.sh" "$dir/second.sh"
sed -i '2i # takes: 20s' "$dir/fourth.sh"
rm -f "$dir/notes"
run tests/run -j 2 "$dir/third.sh" "$dir/first.sh" "$dir/second.sh" \
	"$dir/fourth.sh" >/dev/null
check "the longest first, and who is alone last" \
	test "$(came | cut -d' ' -f3-)" = "second third "

# Their lines are many, and never mixed.
for name in a b c; do
	program "long$name.sh" <<'END'
seq 3000 | sed "s/^/# ${0##*/} /"
echo 'not ok - by intent'
END
done
unmixed()
{
	run tests/run -j 3 "$dir/longa.sh" "$dir/longb.sh" "$dir/longc.sh"
	same "$(sed -n 's/^    # \(long.\.sh\) .*/\1/p' "$dir/out" |
		uniq -c | awk '{ print $1 }' | tr '\n' ' ')" "3000 3000 3000 "
}
check "what they say is never mixed" unmixed

# ---- cases -------------------------------------------------------------------

program cases.sh <<'END'
. tests/lib/tap.sh
check "one apple" true
check "two pears" true
check "three apples" test -n "${GOOD:-}"
skip "an apple of Eden" "no garden"
tap_end
END
program pears.sh <<'END'
. tests/lib/tap.sh
check "a pear" true
tap_end
END
check "all cases" sums "2 passed, 1 failed, 1 skipped" \
	tests/run "$dir/cases.sh"
check "those with the words" sums "1 passed, 1 failed, 1 skipped" \
	CASE=apple tests/run "$dir/cases.sh"
check "are all that counts" sums "1 passed, 0 failed, 0 skipped" \
	CASE='two pears' tests/run "$dir/cases.sh"
check "one program of several has them" \
	sums "1 passed, 0 failed, 0 skipped" \
	CASE='a pear' tests/run "$dir/cases.sh" "$dir/pears.sh"
check "words are words, no pattern" sums "0 passed, 1 failed, 0 skipped" \
	CASE='t.o' tests/run "$dir/cases.sh" "$dir/pears.sh"
check "if nobody has them, it is said" grep -q '^not ok - ran no case' \
	"$dir/out"
check "and by the program alone, too" exits 1 run CASE=plum "$dir/cases.sh"
check "whoever dies has failed all the same" \
	sums "1 passed, 1 failed, 0 skipped" CASE=one tests/run "$dir/dead.sh"

# ---- killed ------------------------------------------------------------------

# A program with a daemon in another session, and files.
program daemon.sh <<'END'
trap 'echo tidied >"$dir/tidied"; exit 1' TERM
mktemp
setsid sleep 612 &
echo $! >"$dir/daemon"
wait
END
# It comes last, and does not hear.
program deaf.sh <<'END'
trap '' TERM
mktemp
until [ -s "$dir/daemon" ]; do sleep 0.1; done
echo $$ >"$dir/deaf"
while :; do sleep 0.2; done
END
gone()
{
	! kill -0 "$1" 2>/dev/null
}
# killed PROGRAM COMMAND... - when the program has come as far as its file.
killed()
{
	killed_when=$dir/$1
	shift
	rm -f "$dir/daemon" "$dir/deaf" "$dir/tidied"
	env -u CASE -u RESULTS TMPDIR="$dir/tmp" PATIENCE=1 "$@" \
		>"$dir/out" 2>&1 &
	run_pid=$!
	within 30 test -s "$killed_when"
	kill "$run_pid"
	wait "$run_pid"
	same "exit status $?" "exit status 143"
}
check "killed, it ends" killed deaf \
	tests/run -j 2 "$dir/daemon.sh" "$dir/deaf.sh"
check "programs may tidy up" test -s "$dir/tidied"
check "what they started is gone" within 30 gone "$(cat "$dir/daemon")"
check "so is whoever does not listen" within 30 gone "$(cat "$dir/deaf")"
check "so are their files, and ours" same "$(ls "$dir/tmp")" ''

check "killed amid several runs, it ends, too" killed daemon \
	RESULTS="$dir/results" tests/each "tests/run $dir/daemon.sh"
check "as does what was started" within 30 gone "$(cat "$dir/daemon")"
check "with its files" same "$(ls "$dir/tmp")" ''

# ---- sums of several runs ----------------------------------------------------

several()
{
	sums "$1" RESULTS="$dir/results" tests/each \
		"tests/run $dir/good.sh" "$2" "tests/run $dir/pears.sh"
}
check "several runs have one sum" \
	several "4 passed, 1 failed, 1 skipped" "tests/run $dir/bad.sh"
check "which is no success if one of them failed" test "$run_status" -eq 1
check "a command that fails counts, too" \
	several "3 passed, 1 failed, 1 skipped" false

# ---- by name -----------------------------------------------------------------

# runs T - what make would run, without what it would build.
runs()
{
	run make -n test T="$1" >/dev/null || return
	sed -n 's/.*tests\/run *//p' "$dir/out" | tail -n 1
}
check "a test by its name, wherever" same \
	"$(runs t_run)" "tests/tree/t_run.sh"
check "by its folder, too" same "$(runs tree/t_run)" "tests/tree/t_run.sh"
check "as a file" same "$(runs tests/tree/t_run.sh)" "tests/tree/t_run.sh"
check "all that have it" test "$(runs t_bulk | wc -w)" -ge 2
check "a name that nobody has" fails run make -n test T=t_ru
check "is told others" grep -q 'no test is called t_ru.*tree/t_run' "$dir/out"
tap_end
