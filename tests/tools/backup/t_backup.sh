#!/bin/sh
# t_backup.sh - a backup taken while mail flows holds all that was
# acknowledged before; restored, it is the same Tidemark, and the time between
# counts as not covered.  What is damaged is refused.
#
# takes: 19s
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

letter_text='The lighthouse keeper counted seventeen herons before breakfast, and
wrote them all into the book that his brother had left.'
feed_pid=
trap '[ -z "$feed_pid" ] || kill "$feed_pid" 2>/dev/null; daemon_end' EXIT

settings='[profile external]
oksender_mode = enforce
oksender_limit = 6/1h
oksender_leak = 1h
oksender_ban = 1h
[profile internal]
tokens_mode = enforce
tokens_burst = 3
tokens_rate = 3/365d
tokens_overrides = '$D/overrides'
distinct_mode = dry-run
distinct_limit = 100'
echo 'vip@x.example 100 100/1d' >"$D/overrides"
mkdir "$D/more"
echo 'log_level = info' >"$D/more/10-log.conf"
daemon_conf "include $D/more/*.conf" "$settings"

# ---- a state worth keeping ---------------------------------------------------

check "starts" daemon_start
sed 's/^Subject:.*/Subject: cheap cheap/' tests/demo/sample.mbox |
	sed '1d;/^From /,$d' >"$D/spam"
echo 'bad@spam.example' >"$D/addresses"
check "some mail" sends 4 4 external busy@x.example
mail 8 external many@x.example >/dev/null
check "too much of it" within 30 tidemark banned many@x.example
check "two of three tokens" sends 2 2 internal user@x.example
check "a list of addresses" tidemark addresses load "$D/addresses"
check "an exception" tidemark except add good@x.example --reason why
check "a report of spam" tidemark spam report "$D/spam"
check "a ban by hand" tidemark ban 203.0.113.7 --for 5h
check "a sealed window" tidemark seal
tidemark export --key >"$D/key"

# holds WHEN - what was made above is known.
holds()
{
	check "$1: a bucket is as full" json '$r->{level} == 4 &&
		$r->{key} =~ /^busy@/' bucket list
	check "$1: a ban stands" json '$r->{times} == 1 &&
		$r->{key} =~ /^many@/' banned
	check "$1: and the one by hand" tidemark banned 203.0.113.7
	check "$1: the list of addresses" tidemark addresses test bad@spam.example
	check "$1: the exception" json '$r->{key} =~ /^good@/' except list
	check "$1: the report of spam" tidemark spam test "$D/spam"
	check "$1: what passed" tidemark query --from busy@x.example
	check "$1: its text" tidemark query \
	    --text "keeper counted seventeen herons before breakfast, and wrote them all into the book that his brother"
	check "$1: the hash key" same "$(tidemark export --key)" "$(cat "$D/key")"
}
bucket_there() { tidemark bucket list | grep -q busy@; }
check "the bucket is there" within 30 bucket_there
holds "as it was"

# ---- while mail flows --------------------------------------------------------

"$FEED" -s "local:$D/run/internal.sock" -c 4 -n 0 -m 5 --unique --quiet \
	--acked "$D/acked" tests/demo/sample.mbox >"$D/feed.out" 2>&1 &
feed_pid=$!
flows() { [ "$(wc -l <"$D/acked")" -gt "${1:-100}" ]; }
check "mail flows" within 60 flows
cp "$D/acked" "$D/before"
bans_before=$(counter bans_made)
check "a backup of it" tidemark backup "$D/b/"
check "mail still flows" within 60 flows $(($(wc -l <"$D/acked") + 50))
kill "$feed_pid" && wait "$feed_pid"
feed_pid=
sed -i '$d' "$D/before"	# the last line may be half
check "the folder is the owner's alone" same "$(stat -c %a "$D/b")" 700
check "so is the key" same "$(stat -c %a "$D/b/hash.key")" 600
check "which is the key" same "$(cat "$D/b/hash.key")" "$(cat "$D/key")"
check "the configuration is there" grep -q 'oksender_limit = 6/1h' \
    "$D/b/conf/01-tidemark.conf"
check "with what it includes" grep -q 'log_level' "$D"/b/conf/*-10-log.conf
check "and the overrides" grep -q vip@ "$D"/b/conf/*-overrides
check "nothing else is left" fails ls "$D"/*.partial
check "digests are b2sum's" same \
    "$(b2sum -l 256 "$D/b/archive.mdb" | cut -d' ' -f1)" \
    "$(sed -n 's/^file [0-9]* \([0-9a-f]*\) archive.mdb$/\1/p' "$D/b/MANIFEST")"
check "a second one into it is refused" exits 1 tidemark backup "$D/b"
mkdir "$D/empty"
check "an empty folder will do" tidemark backup "$D/empty"
check "it is whole" tidemark restore --check "$D/empty"
check "what came later is not in the first" fails tidemark query \
    --offline "$D/b" --from "$(tail -n 2 "$D/acked" | head -n 1 | cut -d' ' -f2)"

check "a backup can be asked" tidemark query --offline "$D/b" \
    --from busy@x.example
first=$(head -n 1 "$D/before" | cut -d' ' -f2)
last=$(tail -n 1 "$D/before" | cut -d' ' -f2)
check "for what was in the open window" tidemark query --offline "$D/b" \
    --from "$first"
check "and was the last before it" tidemark query --offline "$D/b" \
    --from "$last"
check "without leaving anything in it" fails ls "$D/b/archive.mdb-lock"

# ---- refusals ----------------------------------------------------------------

check "no restore while a daemon runs" \
    says 'a daemon is at work' exits 1 tidemark restore "$D/b" --force

refused()
{
	says "$1" exits 1 tidemark restore --check "$D/bad" &&
	    ! tidemark restore --force "$D/bad" >/dev/null 2>&1
}

# flipped FILE - one byte of it, at 8 places.
flipped()
{
	size=$(stat -c %s "$D/b/$1")
	for i in 0 1 2 3 4 5 6 7; do
		cp "$D/b/$1" "$D/bad/$1" || return 1
		perl -e 'open F, "+<", $ARGV[0] or die; seek F, $ARGV[1], 0;
			read F, $c, 1; seek F, $ARGV[1], 0;
			print F chr(ord($c) ^ 1)' \
		    "$D/bad/$1" $(((size - 1) * i / 7))
		refused "$1: " || return 1
	done
	cp "$D/b/$1" "$D/bad/$1"
}

daemon_stop
cp -r "$D/b" "$D/bad"
for f in archive.mdb hash.key MANIFEST conf/01-tidemark.conf; do
	check "a flipped byte in $f is found" flipped "$f"
	truncate -s -1 "$D/bad/$f"
	check "$f, cut short, is refused" refused "$f: "
	mv "$D/bad/$f" "$D/away"
	check "without $f it is refused" refused "$f: "
	cp "$D/b/$f" "$D/bad/$f"
done
check "the copy is whole again" tidemark restore --check "$D/bad"
sed 's/^tidemark-backup 1/tidemark-backup 2/' "$D/b/MANIFEST" \
	>"$D/bad/MANIFEST"
check "one of a later format is refused" \
    refused 'MANIFEST: is of format 2, and this'
check "a folder that is no backup, too" \
    says 'MANIFEST: is not there' exits 1 tidemark restore "$D/run"

# ---- restored, on the same machine -------------------------------------------

check "no restore over a state" \
    says 'holds a state already' exits 1 tidemark restore "$D/b"
check "but by force" tidemark restore --force "$D/b"
old=$(ls -d "$D"/state/before-restore-*)
check "the old archive is aside" test -s "$old/archive.mdb"
check "and the old live map" test -s "$old/live.mdb"
check "asked, it knows what came after the backup" tidemark query \
    --offline "$old" --from "$(tail -n 2 "$D/acked" | head -n 1 | cut -d' ' -f2)"
check "starts" daemon_start
holds "restored"
check "all that was acknowledged before" remembered "$D/before"
check "one token is left" sends 1 1 internal user@x.example
check "and no more" sends 0 1 internal user@x.example
check "the ban refuses" sends 0 1 external many@x.example
check "counts go on" json '$r->{counters}{bans_made}{total} >= '"$bans_before" status
check "the time since is not covered" exits 3 tidemark query \
    --from nobody@x.example
check "which is said" says 'nothing is stored of this time' tidemark query \
    --from nobody@x.example
check "the books are right" tidemark audit

# ---- cold, and on another machine --------------------------------------------

daemon_stop
check "a backup without a daemon" \
    says 'No daemon runs' tidemark backup "$D/cold"
check "is whole" tidemark restore --check "$D/cold"
rm -rf "$D/run" "$D/state"
daemon_conf "include $D/more/*.conf" "$settings"
check "another machine starts" daemon_start
tidemark export --key >"$D/key2"
check "with another key" fails cmp -s "$D/key" "$D/key2"
daemon_stop
rm "$D/run/live.mdb"
check "its state is not overwritten" exits 1 tidemark restore "$D/cold"
check "but by force" tidemark restore "$D/cold" --force --json
check "starts there" daemon_start
holds "on another machine"
daemon_stop
rm -rf "$D/run" "$D/state"
check "an empty machine needs no force" tidemark restore "$D/cold"
mkdir -p "$D/run"
check "and starts" daemon_start
holds "on an empty machine"

# ---- trouble -----------------------------------------------------------------

# ---- killed, or failing, at each step ----------------------------------------

# stepping N COMMAND... - it is killed before its Nth change to a file, or, with
# DIE_ERRNO, that change fails.
shim=$D/die_at.so
stepping()
{
	n=$1
	shift
	DIE_AT=$n LD_PRELOAD=$shim "$B/tidemark" -c "$conf" "$@" \
	    >"$D/step" 2>&1
}

# more_steps - the last one was not yet past the end.
more_steps()
{
	[ "$rc" -ne 0 ] || grep -q '^die_at' "$D/step"
}

# A folder that has the name is whole; one that was cut short has another.
backup_steps()
{
	n=0 rc=1
	while more_steps && [ "$n" -lt 300 ]; do
		n=$((n + 1))
		stepping $n backup "$D/steps"
		rc=$?
		if [ -e "$D/steps" ]; then
			tidemark restore --check "$D/steps" || return 1
			grep 'no backup was made' "$D/step" && return 1
		elif [ "$rc" -eq 0 ]; then
			echo "step $n: no backup, and no error" && return 1
		fi
		[ -z "${DIE_ERRNO:-}" ] || ! ls "$D"/steps.*.partial ||
		    return 1
		rm -rf "$D"/steps*
	done
	echo "$n steps"
	[ "$rc" -eq 0 ] && [ "$n" -gt 10 ]
}

# The state is the old one or the new one; a new one has no old live map; what
# was there is there still.
restore_steps()
{
	rm -rf "$D"/state/before-restore-*
	cp -a "$D/state" "$D/state.was"
	cp -a "$D/run" "$D/run.was"
	n=0 rc=1 old=0 new=0
	while more_steps && [ "$n" -lt 300 ]; do
		n=$((n + 1))
		stepping $n restore --force "$D/other"
		rc=$?
		one_of_two || return 1
		rm -rf "$D/state" "$D/run"
		cp -a "$D/state.was" "$D/state"
		cp -a "$D/run.was" "$D/run"
	done
	rm -rf "$D/state.was" "$D/run.was"
	echo "$n steps: $old times the old state, $new times the new one"
	[ "$rc" -eq 0 ] && [ "$old" -gt 5 ]
}

one_of_two()
{
	# the key is the archive's
	tidemark query --offline "$D/state" --from other@x.example
	[ $? -ne 2 ] || return 1
	if cmp -s "$D/state/archive.mdb" "$D/other/archive.mdb"; then
		new=$((new + 1))
		[ ! -e "$D/run/live.mdb" ] &&
		    cmp "$D"/state/before-restore-*/archive.mdb \
			"$D/state.was/archive.mdb" &&
		    cmp "$D"/state/before-restore-*/live.mdb \
			"$D/run.was/live.mdb" || return 1
		return
	fi
	old=$((old + 1))
	[ "$rc" -ne 0 ] &&
	    cmp "$D/state/archive.mdb" "$D/state.was/archive.mdb" || return 1
	[ -z "${DIE_ERRNO:-}" ] || as_it_was || return 1
	cmp "$D/run/live.mdb" "$D/run.was/live.mdb" ||
	    cmp "$D"/state/before-restore-*/live.mdb "$D/run.was/live.mdb"
}

# After an error nothing is left of the attempt.
as_it_was()
{
	cmp "$D/run/live.mdb" "$D/run.was/live.mdb" &&
	    cmp "$D/state/hash.key" "$D/state.was/hash.key" &&
	    fails ls -d "$D"/state/before-restore-* "$D"/state/*.restoring
}

# another_backup - of a Tidemark with another key.
another_backup()
{
	mv "$D/state" "$D/state.mine" && mv "$D/run" "$D/run.mine" &&
	    mkdir "$D/state" "$D/run" && daemon_start || return 1
	mail 1 external other@x.example
	daemon_stop
	tidemark backup "$D/other" && rm -rf "$D/state" "$D/run" &&
	    mv "$D/state.mine" "$D/state" && mv "$D/run.mine" "$D/run"
}

daemon_stop
check "another backup to come from" another_backup
check "starts" daemon_start
mail 1 external late@x.example >/dev/null
daemon_stop
if ${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o "$shim" tests/tools/backup/die_at.c; then
	check "a backup killed at each step never looks whole" backup_steps
	check "a restore killed at each step: the old state or the new" \
	    restore_steps
	export DIE_ERRNO=28 # no space left on device
	check "a backup that fails at any step leaves nothing" backup_steps
	check "a restore that fails at any step changes nothing" restore_steps
	unset DIE_ERRNO
fi
check "starts" daemon_start
holds "after all that"

# ---- odd places --------------------------------------------------------------

ln -s "$D/nothing" "$D/dangling"
check "a link to nothing is refused" says 'a link to nothing' exits 1 \
    tidemark backup "$D/dangling"
mkdir "$D/target"
ln -s "$D/target" "$D/link"
check "a link to an empty folder will do" tidemark backup "$D/link"
check "and the backup is in the folder" tidemark restore --check "$D/target"
check "a file is refused" exits 1 tidemark backup "$conf"
check "no parent, no backup" exits 2 tidemark backup "$D/no/such/folder"
cp "$D/more/10-log.conf" "$D/more/20..odd name.conf"
check "an odd name among the settings" tidemark backup "$D/odd"
check "is no odd backup" tidemark restore --check "$D/odd"
rm "$D/more/20..odd name.conf"
two()
{
	tidemark backup "$D/two" &
	tidemark backup "$D/two"
	a=$?
	wait $!
	[ $((a + $?)) -eq 2 ] && tidemark restore --check "$D/two" &&
	    fails ls "$D"/two.*.partial
}
check "of two at once into one folder one is made" two
daemon_stop
cp "$conf" "$D/conf.good"
echo 'nonsense = 1' >>"$conf"
check "no restore by settings that are wrong" exits 2 \
    tidemark restore --force "$D/other"
cp "$D/conf.good" "$conf"
check "starts" daemon_start

# ---- full disks, other users -------------------------------------------------

# A file system of 2 MB: in a namespace of our own, where that is allowed.
on_full_disk()
{
	mkdir -p "$D/small"
	unshare -m sh -c 'mount -t tmpfs -o size=2m none "$1/small" &&
		"$2/tidemark" -c "$1/tidemark.conf" backup "$1/small/x"
		rc=$?
		ls -A "$1/small"
		[ -z "$(ls -A "$1/small")" ] || exit 99
		exit $rc' sh "$D" "$B"
}
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	check "a full disk is an error, and leaves nothing" \
	    says 'No space left' exits 2 on_full_disk
	chmod 711 "$D"
	check "others may not" says 'only its owner and root' exits 2 \
	    setpriv --reuid=65534 --regid=65534 --clear-groups \
	    "$B/tidemark" -c "$conf" backup "$D/nobody"
	# the daemon's own user finds nothing that only root may open
	daemon_stop
	rm -f "$D/state/archive.mdb-lock" "$D/state/collector.lock"
	rm -rf "$D"/state/before-restore-*
	chown -R 65534:65534 "$D/state" "$D/run"
	check "root looks at it" tidemark query --offline "$D/state" \
	    --from busy@x.example
	check "and copies it" tidemark backup "$D/by-root"
	check "and restores it" tidemark restore --force "$D/by-root"
	check "everything is the owner's still" same \
	    "$(find "$D/state" ! -user 65534)" ""

	# Links that the daemon's user has put into its folders: root goes where
	# its user could go, and no further.
	unharmed()
	{
		same "$(stat -c '%u %s' "$D/roots" && ls -A "$D/roots.d")" '0 6'
	}
	echo "roots" >"$D/roots"
	mkdir -m 700 "$D/roots.d"
	ln -sf "$D/roots" "$D/state/collector.lock"
	check "a lock that is a link is refused" says 'is a link' \
	    exits 2 tidemark backup "$D/linked"
	check "and nothing happened to its end" unharmed
	check "so it is by restore" fails tidemark restore --force "$D/by-root"
	check "and nothing happened to its end" unharmed
	rm "$D/state/collector.lock"
	ln -sf "$D/roots" "$D/run/tidemarkd.lock"
	check "in the other folder, too" says 'is a link' \
	    exits 2 tidemark backup "$D/linked"
	check "and nothing happened to its end" unharmed
	rm "$D/run/tidemarkd.lock"
	for name in archive.mdb-lock archive.mdb.restoring hash.key.restoring; do
		ln -sf "$D/roots" "$D/state/$name"
	done
	tidemark query --offline "$D/state" --from busy@x.example \
	    >/dev/null 2>&1
	tidemark backup "$D/linked" >/dev/null 2>&1
	check "a link for the database's lock does nothing" unharmed
	ln -sf "$D/roots.d/new" "$D/state/archive.mdb-lock"
	tidemark query --offline "$D/state" --from busy@x.example \
	    >/dev/null 2>&1
	check "nor makes anything" unharmed
	check "restore writes where the links are, not where they lead" \
	    tidemark restore --force "$D/by-root"
	check "and nothing happened to their end" unharmed
	ln -f "$D/roots" "$D/state/archive.mdb.restoring"
	check "nor over another name of somebody's file" \
	    tidemark restore --force "$D/by-root"
	check "which is as it was" unharmed
fi
tap_end
