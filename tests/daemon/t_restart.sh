#!/bin/sh
# t_restart.sh - what is known of senders outlives a restart: with the
# profiles in another order, and without the live map, as after a reboot.
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

# Five drops an hour, of which none leaks meanwhile; three tokens a year.
ext='[profile external]
oksender_mode = enforce
oksender_limit = 6/1h
oksender_leak = 1h
oksender_ban = 1h'
int='[profile internal]
oksender_mode = enforce
oksender_limit = 100/1h
oksender_leak = 1h
tokens_mode = enforce
tokens_burst = 3
tokens_rate = 3/365d
distinct_mode = dry-run
distinct_limit = 100'
new='[profile another]
oksender_mode = enforce
oksender_limit = 6/1h
oksender_leak = 1h'

# started PROFILE... - stopped, and started with these.
started()
{
	daemon_stop
	daemon_conf "$@"
	daemon_start
}

# Four in its bucket, in external; one banned there; two tokens of three gone.
holds()
{
	check "$1: a bucket is as full, in its profile" \
	    json '$r->{level} == 4 && $r->{group} eq "OKSENDER" &&
		$r->{profile} eq "external" &&
		$r->{key} =~ /^busy@/' bucket list
	check "$1: in no other" exits 1 sh -c \
	    "$B/tidemark -c $conf bucket list --profile ${2:-internal} | grep busy@"
	check "$1: a ban stands in its profile" sends 0 1 external many@x.example
	check "$1: as it is shown" json '$r->{profile} eq "external" &&
		$r->{times} == 1 && $r->{key} =~ /^many@/' banned
	check "$1: in no other" sends 1 1 internal many@x.example
	check "$1: counts are the profile's" \
	    json '$r->{counters}{bans_made}{profiles}{external} == 1 &&
		!$r->{counters}{bans_made}{profiles}{internal}' status
}

check "starts" started "$ext" "$int"
check "some mail" sends 4 4 external busy@x.example
mail 8 external many@x.example >/dev/null
check "too much of it" within 10 tidemark banned many@x.example
check "two of three tokens" sends 2 2 internal user@x.example
bucket_there() { tidemark bucket list | grep -q busy@; }
check "the bucket is there" within 10 bucket_there
holds "as it was"

check "starts with its profiles in another order" started "$int" "$ext"
check "which is logged" grep -q 'live map made anew (.*another order)' "$D/log"
holds "another order"
check "and with one more, before them" started "$new" "$int" "$ext"
holds "one more" another
check "one token of three is left" sends 1 1 internal user@x.example
check "and no other" sends 0 1 internal user@x.example
check "and with that one alone" started "$new"
check "whose buckets are its own" exits 1 tidemark bucket list
check "a ban of a profile that is no more meets nobody" \
    sends 1 1 another many@x.example

# ---- as after a reboot -------------------------------------------------------

check "both again" started "$ext" "$int"
check "the ban was kept" sends 0 1 external many@x.example
# Not user@: while no profile had such an allowance its debt was none.
check "some mail" sends 3 3 internal again@x.example
check "now all three tokens are gone" sends 0 1 internal again@x.example
check "a checkpoint" tidemark checkpoint
daemon_stop
rm -f "$D/run/live.mdb" "$D/run/map"
check "starts without its live map" daemon_start
check "an account is as empty as it was" sends 0 1 internal again@x.example
check "another has its whole burst" sends 3 4 internal new@x.example
check "the ban stands" sends 0 1 external many@x.example
check "audit" tidemark audit

# ---- taken over, with no room to spare -----------------------------------------

# small FOLDER SIZE - a file system of so many bytes there.
small()
{
	mkdir -p "$1"
	mount -t tmpfs -o "size=$2,mode=755" none "$1"
}

large()
{
	umount "$D/small" "$D/state" 2>/dev/null
}

# Another number of slots is another map.
narrow()
{
	check "$1: mail" sends 4 4 external busy@x.example
	check "$1: a bucket" within 10 bucket_there
	check "$1: three tokens" sends 3 3 internal spent@x.example
	daemon_stop
	was=$(grep -c 'live map made anew' "$D/log")
}

as_known()
{
	check "$1: starts" daemon_start
	check "$1: which is told" grep -q "$2" "$D/log"
	check "$1: once" same "$(grep -c 'live map made anew' "$D/log")" \
	    $((was + 1))
	check "$1: the bucket is as full" json '$r->{level} == 4 &&
		$r->{key} =~ /^busy@/' bucket list
	check "$1: the account is as empty" sends 0 1 internal spent@x.example
	check "$1: audit" tidemark audit
}

size=$(stat -c %s "$D/run/live.mdb")
daemon_stop
if small "$D/small" $((size * 3 / 2)) 2>/dev/null; then
	trap 'daemon_stop; large; daemon_end' EXIT
	check "room for one map: starts" started \
	    "live_file = $D/small/live.mdb" "$ext" "$int"
	narrow "room for one map"
	daemon_conf "live_file = $D/small/live.mdb" "max_workers = 20" \
	    "$ext" "$int"
	as_known "room for one map" 'the old map goes first'

	daemon_stop
	rm -rf "$D/state" "$D/run/live.mdb"
	small "$D/state" 64M
	check "a full disk: starts" started "$ext" "$int"
	narrow "a full disk"
	daemon_conf "max_workers = 21" "$ext" "$int"
	dd if=/dev/zero of="$D/state/full" bs=4k 2>/dev/null
	as_known "a full disk" 'No space left.*kept as'
	check "a full disk: a checkpoint says why it is none" says \
	    'No space left on device' tidemark checkpoint
	check "a full disk: status is not content" exits 1 tidemark status
	check "a full disk: and shows why" says 'the disk is full: ' \
	    tidemark status
	rm -f "$D/state/full"
	check "a full disk: works again" within 30 tidemark checkpoint
	check "a full disk: status is content" exits 0 tidemark status
else
	skip "no room for two maps, a full disk" "no file system can be mounted"
fi
tap_end
