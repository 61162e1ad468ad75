#!/bin/sh
# t_units - the systemd units are understood, hardened, and agree with the
# code; the user they run as can be made.
set -u
. tests/lib/tap.sh

B=${B:-build}
MOST=2.0	# exposure, as systemd-analyze counts it
unit=conf/systemd/tidemark.service

command -v systemd-analyze >/dev/null ||
	tap_skip "the systemd unit" "systemd-analyze is not installed"

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# As `make install` does it, with a program that is there.
fill()
{
	sed "s|@S*BINDIR@|$(realpath "$B")|" "$unit" >"$dir/tidemark.service" &&
		sed "s|@BINDIR@|$(realpath "$B")|" \
			conf/systemd/tidemark-egress.service \
			>"$dir/tidemark-egress.service" &&
		sed "s|@SBINDIR@|$(realpath "$B")|" \
			conf/systemd/tidemark-web.service \
			>"$dir/tidemark-web.service"
}

verifies()
{
	systemd-analyze verify --man=no "$dir/$1.service" \
		>"$dir/out" 2>&1 && ! [ -s "$dir/out" ]
	rc=$?
	cat "$dir/out"
	return $rc
}

# An exit status for numbers: is $1 below $2?
below()
{
	echo "$1, to be below $2"
	[ -n "$1" ] && awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 < b + 0) }'
}

exposure()
{
	systemd-analyze security --offline=true --no-pager "$1" 2>&1 |
		sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p'
}

# `systemctl reload' has the exit status of this command: no signal has one.
reload_can_fail()
{
	grep '^ExecReload=' "$unit"
	grep -q '^ExecReload=@BINDIR@/tidemark .*reload$' "$unit"
}

hardened()
{
	below "$(exposure "$dir/$1.service")" "$MOST"
}

# Without its sandbox the same unit has to score badly.
score_bites()
{
	mkdir -p "$dir/soft" &&
		grep -vE '^(Protect|Private|Restrict|System|Capab|NoNew)' \
			"$dir/tidemark.service" >"$dir/soft/tidemark.service"
	below "$MOST" "$(exposure "$dir/soft/tidemark.service")"
}

# value KEY - of the unit.
value()
{
	sed -n "s/^$1=//p" "$unit"
}

# seconds N, Ns, Nmin
seconds()
{
	case $1 in
	*min) echo $((${1%min} * 60)) ;;
	*s) echo "${1%s}" ;;
	*) echo "$1" ;;
	esac
}

# shutdown_grace, and the margin for acceptor and collector each.
stops_in_time()
{
	grace=$(sed -n 's/^#shutdown_grace = //p' conf/tidemark.conf)
	margin=$(sed -n 's/^#define STOP_MARGIN_MS \([0-9]*\).*/\1/p' \
		daemon/supervisor/supervisor.c)
	below "$(($(seconds "$grace") + 2 * margin / 1000))" \
		"$(seconds "$(value TimeoutStopSec)")"
}

# The folders of the settings are those that the unit may write.
same_folders()
{
	same "/run/$(value RuntimeDirectory)" \
		"$(sed -n 's/^#runtime_dir = //p' conf/tidemark.conf)" &&
		same "/var/lib/$(value StateDirectory)" \
			"$(sed -n 's/^#state_dir = //p' conf/tidemark.conf)" &&
		same "$(value RuntimeDirectoryPreserve)" yes
}

# live.c tells boots apart by a file that ProcSubset=pid would hide.
sees_boot_id()
{
	! grep -q /proc/sys/kernel/random/boot_id daemon/lib/archive/live.c ||
		! grep -q '^ProcSubset=pid' "$unit"
}

# One capability for the kernel's table, none for the daemon and the page.
one_capability()
{
	same "$(value CapabilityBoundingSet)$(value AmbientCapabilities)" '' &&
		same "$(sed -n 's/^CapabilityBoundingSet=//p
			s/^AmbientCapabilities=//p' \
			"$dir/tidemark-web.service")" "$(printf '\n\n')" &&
		same "$(sed -n 's/^CapabilityBoundingSet=//p' \
			"$dir/tidemark-egress.service")" CAP_NET_ADMIN
}

makes_user()
{
	mkdir -p "$dir/root/etc" &&
		systemd-sysusers --root="$dir/root" \
			"$(realpath conf/systemd/tidemark.sysusers.conf)" &&
		grep "^$(value User):" "$dir/root/etc/passwd" &&
		grep "^$(value Group):" "$dir/root/etc/group"
}

fill
for name in tidemark tidemark-egress tidemark-web; do
	check "no placeholder is left in $name" \
		lacks '^[^#]*@[A-Z]' "$dir/$name.service"
	check "systemd understands $name" verifies "$name"
	echo "# exposure $(exposure "$dir/$name.service")"
	check "its exposure is below $MOST" hardened "$name"
done
check "only tidemark-egress has a capability, and only one" one_capability
check "a reload can fail" reload_can_fail
check "without its sandbox it would not be" score_bites
# Whoever is the daemon's user may change things.
not_the_daemon()
{
	grep -x DynamicUser=yes "$dir/tidemark-web.service" &&
		grep -x SupplementaryGroups=tidemark "$dir/tidemark-web.service" &&
		! grep ^User= "$dir/tidemark-web.service"
}
check "the page is served by somebody who may ask, and not change" \
	not_the_daemon
check "systemd waits longer than a stop in good order takes" stops_in_time
check "it may write the folders of the settings, and keeps the map" \
	same_folders
check "the boot id can be seen" sees_boot_id
if command -v systemd-sysusers >/dev/null; then
	check "systemd-sysusers makes its user" makes_user
else
	skip "its user" "systemd-sysusers is not installed"
fi
tap_end
