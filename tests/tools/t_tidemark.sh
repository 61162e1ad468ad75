#!/bin/sh
# t_tidemark - what the command-line tool does without a daemon.
# Run from the top of the tree; B is the build folder.  Output is TAP.
set -u
. tests/lib/tap.sh

B=${B:-build}
T=$B/tidemark
unset TIDEMARK_CONF
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# run WANTED-EXIT ARGUMENT...: stdout to $dir/out, stderr to $dir/err
run() {
	want=$1
	shift
	"$T" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ] && return 0
	echo "# tidemark $*: exit $got, not $want"
	sed 's/^/# /' "$dir/out" "$dir/err"
	return 1
}

says() { # FILE TEXT
	grep -qF -- "$2" "$dir/$1" && return 0
	echo "# not said on std$1: $2"
	sed 's/^/# /' "$dir/$1"
	return 1
}

silent() { # FILE
	[ ! -s "$dir/$1" ] && return 0
	echo "# said on std$1:"
	sed 's/^/# /' "$dir/$1"
	return 1
}

check() { # STATUS NAME: of the last command, in place of tap.sh's
	if [ "$1" -eq 0 ]; then
		tap_case "$2" "ok - $2"
	else
		tap_case "$2" "not ok - $2"
	fi
}

commands="status query why tail replay dump counters configtest config reload
bypass seal checkpoint banned ban unban bucket report audit size normalise
addresses except egress top metrics completion bulk spam export merge
setup
backup restore forget
help"

# ---- help ------------------------------------------------------------------

run 0 --help && silent err && run 0 help && silent err
ok=$?
for c in $commands; do
	grep -q "^  $c " "$dir/out" || ok=1
done
check $ok "help lists every command"

listed=$(sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' "$dir/out" | wc -l)
[ "$listed" -eq "$(echo "$commands" | wc -w)" ]
check $? "this test knows every command"

for c in $commands; do
	run 0 "$c" --help && says out "usage: tidemark $c" && silent err &&
		cp "$dir/out" "$dir/first" && run 0 help "$c" &&
		cmp -s "$dir/out" "$dir/first"
	check $? "$c --help and help $c say the same"
done

run 0 --version && says out "tidemark " && run 0 status -V
check $? "--version, before or after the command"

# ---- mistakes --------------------------------------------------------------

# each a sentence: what is typed, and what is said
mistake() { # NAME TEXT ARGUMENT...
	name=$1 text=$2
	shift 2
	run 2 "$@" && silent out && says err "$text"
	check $? "$name"
}

mistake "no command" "what is wanted?"
mistake "an unknown command, close to one" "did you mean status?" statsu
mistake "an unknown command, close to none" "see tidemark help" xyzzy
mistake "help for an unknown command" "did you mean reload?" help reloda
mistake "an unknown option, close to none" \
	"there is no option --bogus; see tidemark status --help" status --bogus
mistake "one that is close" "did you mean --json?" status --jsno
mistake "one that is close to its own" "did you mean --from?" query --form a@b
mistake "one before the command" "did you mean --color?" --colour=auto status
mistake "an unknown letter" "there is no option -z" tail -z
mistake "an option without its value" "--from what?" query --from
mistake "a letter without its value" "-n what?" tail -n
mistake "a value too many" "--json takes no value" status --json=yes
mistake "a value too many for its own" "--once takes no value" tail --once=1
esc=$(printf '\033')
run 2 "a${esc}[31m" && says err 'a?[31m' && ! grep -q "$esc" "$dir/err"
check $? "what is said on a terminal gives it no commands"
mistake "a word too many" "«now» is one word too many" seal now
mistake "no such colour" "auto, always and never" --color=blue status
mistake "nearly one" "did you mean always?" --color=alway status
mistake "a word that is close" "did you mean status?" bypass stauts
mistake "another" "did you mean reset?" bucket rest a@b
mistake "a way to sort" "did you mean level?" bucket list --sort levle
mistake "a view" "did you mean levels?" top --view lvels
mistake "a mail server" "did you mean sendmail?" setup sendmial
mistake "a shell" "did you mean bash?" completion bahs
mistake "a verb of addresses" "did you mean load?" addresses laod x
mistake "of except" "did you mean add?" except ad x
mistake "of spam" "did you mean test?" spam tets
mistake "of bulk" "did you mean stats?" bulk stat
mistake "of size" "did you mean tokens?" size toknes
mistake "of egress" "did you mean deny?" egress dney list
mistake "of its lists" "did you mean list?" egress deny lsit
mistake "of report" "did you mean content-blocked?" report contentblocked
mistake "no word at all" "which of list and reset?" bucket
mistake "counters --man --json" "stands alone" counters --man --json
mistake "--config with --root" "exclude each other" -c a status --root b
mistake "a query for nothing" "give --from, --to, --text or --file, or a message" query
mistake "no moment" "is no moment" query --from a@b --since yesterdayish
for a in tomas 'not an address' '*@b' 'ann@x|192.0.2.0/24' 192.0.2.7; do
	mistake "no sender: $a" "'$a'" query --from "$a"
done
mistake "no recipient" "give user@domain" query --to tomas
mistake "a bypass that is neither on nor off" "none of on, off" bypass maybe
mistake "a bypass without its word" "something is missing" bypass
mistake "a bypass without a unit" "needs a unit" bypass on --for 3
mistake "a bypass for no time" "say off" bypass on --for 0
mistake "--for with off" "belongs to on" bypass off --for 1h
mistake "--mdb with --json" "exclude each other" dump --mdb --json
mistake "--live offline" "no live map" dump --live --offline "$dir"

# ---- where there is nothing ------------------------------------------------

mkdir "$dir/empty"
for c in status "bypass status" "dump --live" "dump --mdb --live"; do
	# shellcheck disable=SC2086
	run 2 --root "$dir/empty" $c && silent out &&
		says err "No such file or directory"
	check $? "$c without a map"
done
for c in seal checkpoint reload "bypass on" "query --from a@b"; do
	# shellcheck disable=SC2086
	run 2 --root "$dir/empty" $c && silent out &&
		says err "is tidemarkd running?"
	check $? "$c without a daemon"
done
run 2 query --from a@b --offline "$dir/none" && silent out &&
	says err "there is no archive to ask: $dir/none/archive.mdb: No such"
check $? "query --offline on a missing folder"
run 2 dump --offline "$dir/none" && silent out && says err "archive.mdb: No such"
check $? "dump --offline on a missing folder"
echo "this is no archive" >"$dir/empty/archive.mdb"
run 2 query --from a@b --offline "$dir/empty" && says err "archive.mdb: "
check $? "query --offline on a foreign file"
grep -q "this is no archive" "$dir/empty/archive.mdb"
check $? "the foreign file is left as it was"

run 0 --root "$dir/empty" counters && says out "messages  " &&
	says out "new senders in their window" && says err "no values to show"
check $? "counters lists them all, without values"
run 0 --root "$dir/empty" counters --json &&
	[ "$(grep -c '^{"version":1,"type":"counter","name":"' "$dir/out")" -eq \
		"$(wc -l <"$dir/out")" ]
check $? "counters --json has a version in each record"
run 0 counters --man && says out ".It Cm workers_forked" && silent err
check $? "counters --man is a list for the manual"

# ---- settings --------------------------------------------------------------

printf 'runtime_dir = %s/run\nmax_workers = 17\nlog = stderr\n' "$dir" \
	>"$dir/good.conf"
run 0 configtest -c "$dir/good.conf" && says out "good.conf: fine" && silent err
check $? "configtest of a good file"
run 0 -c "$dir/good.conf" configtest --json &&
	says out '{"version":1,"type":"configtest"'
check $? "configtest --json"
TIDEMARK_CONF="$dir/good.conf" "$T" configtest | grep -q "good.conf: fine"
check $? "TIDEMARK_CONF is honoured"
TIDEMARK_CONF="$dir/none" "$T" -c "$dir/good.conf" configtest >/dev/null
check $? "-c comes before TIDEMARK_CONF"

printf 'max_wrokers = 17\npulse_stale = 5\n' >"$dir/bad.conf"
run 1 configtest -c "$dir/bad.conf" && silent out &&
	says err "bad.conf:1: " && says err "max_workers" &&
	says err "bad.conf:2: "
check $? "configtest of a bad file: every complaint, exit 1"
run 1 configtest --json -c "$dir/bad.conf" && says err "bad.conf:2: " &&
	[ "$(grep -c '^{"version":1,"type":"complaint","text":"' "$dir/out")" -eq 2 ] &&
	says out '"fine":false}'
check $? "for programs, too"
run 2 config -c "$dir/bad.conf" && silent out && says err "bad.conf:1: "
check $? "config of a bad file"
printf 'runtime_dir = %s/run\nmax_wrokers = 1\n' "$dir" >"$dir/spoilt.conf"
run 2 reload -c "$dir/spoilt.conf" && says err "$dir/run/control.sock"
check $? "a spoilt file still says where the daemon is"
run 2 reload -c "$dir/none.conf" && says err "none.conf: No such file"
check $? "a missing file says nothing"

run 0 config -n -c "$dir/good.conf" && cp "$dir/out" "$dir/again.conf" &&
	[ "$(grep -c . "$dir/out")" -eq 3 ] &&
	run 0 config -n -c "$dir/again.conf" &&
	cmp -s "$dir/out" "$dir/again.conf"
check $? "config -n reads back as itself"
run 0 config -c "$dir/good.conf" && cp "$dir/out" "$dir/all.conf" &&
	run 0 config -n -c "$dir/all.conf" &&
	cmp -s "$dir/out" "$dir/again.conf"
check $? "config reads back as the same settings"
run 0 config --sample && cp "$dir/out" "$dir/sample.conf" &&
	run 0 config -n -c "$dir/sample.conf" && silent out
check $? "config --sample differs in nothing from the defaults"
run 0 config --man && says out ".It" && silent err
check $? "config --man is a list for the manual"
run 0 config -n --json -c "$dir/good.conf" &&
	says out '"max_workers":{"value":"17","default":false}'
check $? "config -n --json"

# ---- the end of stdout -----------------------------------------------------

if [ -w /dev/full ]; then
	for c in --help --version help "status --help" "config --sample" \
		"config --json" configtest "counters --man" counters; do
		# shellcheck disable=SC2086
		"$T" --root "$dir/empty" $c >/dev/full 2>"$dir/err"
		[ $? -eq 2 ] && says err "No space left on device"
		check $? "$c to a full disk"
	done
else
	skip "a full disk" "there is no /dev/full"
fi

run 0 --color=always counters --root "$dir/empty" &&
	grep -q "$(printf '\033')" "$dir/out" &&
	run 0 --color=never counters --root "$dir/empty" &&
	! grep -q "$(printf '\033')" "$dir/out" &&
	run 0 counters --root "$dir/empty" &&
	! grep -q "$(printf '\033')" "$dir/out"
check $? "colour only where it is wanted"

tap_end
