#!/bin/sh
# t_upgrade.sh - what an earlier version left behind, these programs go on
# with: all that it knew is known, nothing that it did not, and again after one
# more start.  As after a reboot, where its checkpoint counts; in the same boot,
# where its live map does; after a kill; and from a backup.
#
# The installations were made by make.sh.  Their time goes on where it ended
# (then.c): bans, levels and allowances would all have run out by now.
#
# takes: 30s
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh
. tests/upgrade/words.sh

downtime=600000
other_boot=bbbbbbbb-cccc-4ddd-8eee-ffffffffffff
third_boot=eeeeeeee-cccc-4bbb-8aaa-999999999999

# ---- the machine -------------------------------------------------------------

unpacked()
{
	mkdir "$F" && tar -xJf "$fixture.tar.xz" -C "$F" || return 1
	# shellcheck source=/dev/null # boot, killed, stopped, and when
	. "$F/then"
}

# machine FOLDER - as it was left, in our own folders.
machine()
{
	rm -rf "$D/run" "$D/state" "$D/log"
	mkdir "$D/run" "$D/state"
	{
		echo "runtime_dir = $D/run"
		echo "state_dir = $D/state"
		sed -e "s|/var/log/tidemark.log|$D/log|" \
		    -e "s|/etc/tidemark|$F/conf|" "$F/conf/tidemark.conf"
	} >"$conf"
	[ "$1" = backup ] || cp -a "$F/$1/run" "$F/$1/state" "$D"
}

# booted MOMENT same | other - it is ten minutes after that, on the machine as
# it was or started anew.
booted()
{
	if [ "$2" = same ]; then
		# shellcheck disable=SC2154 # sourced
		then_is $((${1% *} + downtime)) $((${1#* } + downtime)) "$boot"
	else
		then_is $((${1% *} + downtime)) 90000 "$other_boot"
	fi
}

# it_is_then - time and boot id are what we say.
it_is_then()
{
	# shellcheck disable=SC2016 # perl, by intent
	json '$r->{type} eq "control" && $r->{boot_id} eq $ENV{THEN_BOOT_ID}' \
	    dump --live &&
	    json 'abs($r->{now_ms} - '"$(clocks | cut -d' ' -f1)"') < 5000' \
	    status
}

# ---- what is known -----------------------------------------------------------

# said SECTION - what that version said of it, at the moment that counts: of
# what is stored, that may be another one.
said()
{
	case $1 in
	windows | gaps | open) said_at=$stored ;;
	*) said_at=$moment ;;
	esac
	sed -n "s/^$1 //p" "$fixture.$said_at"
}

# is SECTION - the same is said now.
is()
{
	said "$1" >"$D/want"
	"fact_$1" >"$D/got"
	[ -s "$D/want" ] && diff "$D/want" "$D/got"
}

# has SECTION - that is said now, and maybe more.
has()
{
	said "$1" >"$D/want"
	"fact_$1" >"$D/got"
	[ -s "$D/want" ] && ! grep -vxF -f "$D/got" "$D/want"
}

# The last decisions are in no checkpoint, and tidemark-files(5) says so.
nothing_lost()
{
	sed 's/; the list of decisions begins anew$//' "$D/log" |
	    grep -n -e 'error:' -e 'without a checkpoint' -e forgotten \
		-e 'not restored' -e 'not known' -e 'begins\{0,1\} anew' \
		-e damaged -e 'at the end' && return 1
	[ -s "$D/log" ]
}

# What a start is to find.
known()
{
	for section in key profiles windows gaps; do
		check "$1: $section" has $section
	done
	for section in off answers exceptions egress; do
		check "$1: $section" is $section
	done
}

# What nobody has used since.
known_at_first()
{
	check "$1: nothing was lost, by the log" nothing_lost
	check "$1: counters" has counters
	check "$1: the open window" is open
	known "$1"
	for section in bans buckets bulk addresses spam bypass; do
		check "$1: $section" is $section
	done
	check "$1: the bypass still lets pass" \
	    sends 1 external 192.0.2.5 many@x.example ann@example.org x
	check "$1: its end" tidemark bypass off
	check "$1: allowances" is allowances
}

# ---- what is done with it ----------------------------------------------------

# gets NUMBER sends-ARGUMENTS... - so many of them pass.
gets()
{
	wanted=$1
	shift
	sends "$@"
	same "$passed passed" "$wanted passed"
}

half_is_left()
{
	total=0
	for n in 1 2 3 4 5 6 7 8 9 10; do
		sends 1 lists 192.0.2.6 list@example.org new$n@example.net x \
		    --auth half
		total=$((total + passed))
	done
	[ "$total" -ge 3 ] && [ "$total" -le 7 ]
}

fills_up()
{
	gets 3 5 external 198.51.100.1 busy@x.example ann@example.org x &&
	    within 10 tidemark banned busy@x.example
}

copies_are()
{
	message s@sender.example r@rcpt.example "$bulk" |
	    tidemark bulk test --json | pick count own neighbours >"$D/got"
	same "$(cat "$D/got")" "{\"neighbours\":$2,\"own\":$1}"
}

refused()
{
	says "$1" tidemark merge "$2" && ! tidemark merge "$2"
}

delta_goes_on()
{
	tidemark export --delta last >"$D/delta" 2>"$D/said" &&
	    grep 'export 2, a delta to 1' "$D/said"
}

used_at_first()
{
	to=ann@example.org
	check "$1: who is banned is refused" \
	    gets 0 1 external 192.0.2.5 many@x.example $to x
	check "$1: by an address in two alphabets" \
	    gets 0 1 external 192.0.2.9 gauner@bücher.example $to x
	check "$1: by a client" gets 0 1 external 203.0.113.7 a@x.example $to x
	check "$1: by a network" \
	    gets 0 1 external 2001:db8:7::9 a@x.example $to x
	check "$1: others pass" gets 1 1 external 192.0.2.9 a@x.example $to x
	check "$1: a bucket has room for three" fills_up
	check "$1: who wrote to too many may not" \
	    gets 0 1 lists 192.0.2.6 list@example.org n@example.net x \
	    --auth over
	check "$1: who wrote to half as many may go on with half" half_is_left
	check "$1: who came from too many places may not" \
	    gets 0 1 lists 192.0.2.21 list@example.org r1@example.net x \
	    --auth spread
	check "$1: who came from as many as may be" \
	    gets 1 1 lists 192.0.2.11 list@example.org r1@example.net x \
	    --auth places
	check "$1: may not come from one more" \
	    gets 0 1 lists 192.0.2.66 list@example.org r1@example.net x \
	    --auth places
	check "$1: a token of two is taken" gets 1 1 internal 192.0.2.7 \
	    ann@example.org r@example.net x --auth ann
	check "$1: of both allowances" within 5 \
	    grep -q 'auth=ann .* tokens=5 ' "$D/log"
	check "$1: who is on the list is refused" \
	    gets 0 1 external 192.0.2.9 bad@spam.example $to x
	check "$1: but for the exception" \
	    gets 1 1 external 192.0.2.9 später@spam.example $to x
	check "$1: reported spam is refused" \
	    gets 0 1 external 192.0.2.9 b@x.example $to "$spam1"
	check "$1: so is a near copy" \
	    gets 0 1 external 192.0.2.9 b@x.example $to "$spam1_near"
	check "$1: and what a neighbour reported" \
	    gets 0 1 external 192.0.2.9 b@x.example $to "$spam3"
	check "$1: what was revoked passes" \
	    gets 1 1 external 192.0.2.9 c@x.example $to "$revoked"
	check "$1: one more copy" \
	    gets 1 1 external 192.0.2.9 news@lists.example $to "$bulk"
	check "$1: is one more" copies_are 8 4
	check "$1: a neighbour's file without a seal is not merged" \
	    refused 'has no seal' "$F/files/neighbour-2"
	check "$1: and adds nothing" copies_are 8 4
	check "$1: our next file" delta_goes_on
	check "$1: a list of that version's" \
	    tidemark addresses merge "$F/files/addresses"
	check "$1: the books are right" tidemark audit
}

# ---- one more start ----------------------------------------------------------

# remember - what will have to be the same; counters last, as questions count.
remember()
{
	for section in allowances bans buckets bulk addresses bypass open \
	    counters; do
		"fact_$section" >"$D/before.$section"
	done
}

as_before()
{
	"fact_$1" >"$D/got"
	[ -s "$D/before.$1" ] && diff "$D/before.$1" "$D/got"
}

none_less()
{
	fact_counters >"$D/got"
	! grep -vxF -f "$D/got" "$D/before.counters"
}

started_again()
{
	daemon_stop
	lacks 'error:' "$D/log" || return 1
	[ "$1" = same ] || then_is "$(($(clocks | cut -d' ' -f1) + 60000))" \
	    90000 "$third_boot"
	: >"$D/log"
	daemon_start
}

known_again()
{
	check "$1: nothing was lost, by the log" nothing_lost
	check "$1: counters as before" none_less
	for section in bans buckets bulk addresses bypass open; do
		check "$1: $section as before" as_before $section
	done
	known "$1"
	check "$1: spam" is spam
	check "$1: allowances as before" as_before allowances
	for user in over half spread places; do
		check "$1: $user may still not" \
		    gets 0 1 lists 192.0.2.67 list@example.org n@example.net x \
		    --auth $user
	done
	check "$1: the new ban refuses" \
	    gets 0 1 external 198.51.100.1 busy@x.example ann@example.org x
	check "$1: the books are right" tidemark audit
}

archive_is_whole()
{
	lacks 'error:' "$D/log" || return 1
	tidemark dump --offline "$D/state" --json >"$D/dump" || return 1
	# shellcheck disable=SC2016 # perl, by intent
	perl -MJSON::PP -ne '
		$r = decode_json($_);
		$n{$r->{type}}++;
		print, $bad++ if $r->{type} eq "unknown" ||
		    $r->{type} eq "checkpoint" && !$r->{whole};
		END { exit($bad || !$n{checkpoint} || !$n{end} ||
		    $n{window} < 7) }' "$D/dump" &&
	    rm -rf "$D/cold" && tidemark backup "$D/cold" &&
	    tidemark restore --check "$D/cold"
}

# ---- all of it ---------------------------------------------------------------

# downtime_is_a_gap - nobody looked while it was stopped.
downtime_is_a_gap()
{
	now=$(clocks | cut -d' ' -f1)
	exits 3 tidemark query --from nobody@never.example \
	    --since "$(stamp $((now - downtime / 2)))" \
	    --until "$(stamp $((now - downtime / 4)))"
}

# stamp MS - of the wall clock, for --since.
stamp()
{
	date -u -d "@$(($1 / 1000))" +%Y-%m-%dT%H:%M:%SZ
}

# goes_on NAME MOMENT STORED same | other - and the boot of a second start.
goes_on()
{
	moment=$2 stored=$3
	check "$1: starts" daemon_start || return
	check "$1: then" it_is_then
	check "$1: the time in between is not covered" \
	    downtime_is_a_gap
	known_at_first "$1"
	used_at_first "$1"
	remember
	check "$1: starts again" started_again "$4"
	known_again "$1, again"
	daemon_stop
	check "$1: the archive is whole" archive_is_whole
}

# late_is STATUS - of the query for what came after the checkpoint.
late_is()
{
	exits "$1" tidemark query --offline "$D/state" --text "$late"
}

# Three years later there are no levels and no allowances; what was to last is
# there.
lasts()
{
	moment=end stored=stopped
	check "$1: starts" daemon_start || return
	check "$1: then" it_is_then
	known "$1"
	check "$1: addresses" is addresses
	said bans | grep '"by_hand":true' >"$D/by_hand"
	check "$1: bans by hand" same "$(fact_bans)" "$(cat "$D/by_hand")"
	check "$1: the bypass" is bypass
	check "$1: its end" tidemark bypass off
	check "$1: who is banned is refused" \
	    gets 0 1 external 192.0.2.9 gauner@bücher.example a@example.org x
	daemon_stop
	check "$1: the archive is whole" archive_is_whole
}

# Complaints are of nothing but what an earlier version let pass.
stricter_only()
{
	tidemark configtest >"$D/configtest" 2>&1
	cat "$D/configtest"
	! grep -v ': content_blocked_header: anybody can\|: fine$' \
	    "$D/configtest"
}

for fixture in tests/upgrade/v*.tar.xz; do
	fixture=${fixture%.tar.xz}
	v=${fixture##*/v}
	F=$D/v$v
	check "what $v left is here" unpacked || break
	[ "$B" = "$D/bin" ] || check "with other clocks" then_programs || break

	machine stopped
	# shellcheck disable=SC2154 # sourced
	booted "$stopped" other
	stored=stopped
	check "its settings are right, but for what is stricter now" \
	    stricter_only
	check "its archive can be asked without a daemon" \
	    tidemark query --offline "$D/state" --from anna@alpha.example
	check "and shows its windows" has windows
	goes_on "$v, stopped, after a reboot" end stopped same
	check "what came late is known" late_is 0

	machine stopped
	booted "$stopped" same
	goes_on "$v, stopped" end stopped other
	check "what came late is known" late_is 0

	machine killed
	# shellcheck disable=SC2154 # sourced
	booted "$killed" other
	goes_on "$v, killed, after a reboot" checkpoint checkpoint same
	check "what came late is not known, nor denied" late_is 3

	machine killed
	booted "$killed" same
	goes_on "$v, killed" end end other
	check "what came late is known" late_is 0

	machine backup
	booted "$stopped" other
	check "its backup is whole" tidemark restore --check "$F/backup"
	check "and can be asked" tidemark query --offline "$F/backup" \
	    --from anna@alpha.example
	check "it is restored" tidemark restore "$F/backup"
	goes_on "$v, restored" checkpoint checkpoint other

	machine stopped
	then_is $((${stopped% *} + 3 * 365 * 86400000)) 90000 "$other_boot"
	lasts "$v, three years later"
done
tap_end
