# box.sh - a machine of the test's own: this one's files under an overlay, in
# namespaces, with a systemd that is booted in it.  Source it after tap.sh.
#
#	box_can || ...		can it run here?  if not, $box_why says why
#	box_open FILE...	boot; copies of the files are in /srv/box inside
#	box COMMAND...		run it inside, as root
#	box_written		files that were written inside, and new folders
#	box_close		the end of all of it
#
# What is written inside goes to memory and is gone with the box.  It has no
# network but its own loopback.  The kernel is everybody's: so /sys and
# /proc/sys are read-only inside, what could change it all the same is not
# started, and capabilities for that are dropped.
# shellcheck shell=sh

box_init=/lib/systemd/systemd
box_pid=

# The one cgroup2 that is mounted here, whether alone or beside others.
box_cgroups()
{
	awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

box_can()
{
	box_why=
	if [ "$(id -u)" -ne 0 ]; then
		box_why="needs root"
	elif ! [ -x "$box_init" ]; then
		box_why="no systemd to boot"
	elif ! grep -qw overlay /proc/filesystems &&
	    ! modprobe overlay 2>/dev/null; then
		box_why="no overlayfs in this kernel"
	elif ! unshare --mount --pid --fork --uts --ipc --net --cgroup true; then
		box_why="namespaces are not allowed here"
	elif [ -z "$(box_cgroups)" ] || ! box_try_cgroup; then
		box_why="no cgroup2 that can be written"
	fi
	[ -z "$box_why" ]
}

box_try_cgroup()
{
	box_cgroup=$(box_cgroups)/tidemark-box.$$
	mkdir "$box_cgroup" 2>/dev/null && rmdir "$box_cgroup"
}

# Inside the namespaces, still with the old root: everything is mounted below
# $1/fs, and then the box boots.
box_inside()
{
	cat <<'END'
set -eu
fs=$1/fs root=$1/fs/root
mount -t tmpfs -o mode=755 tmpfs "$fs"
mkdir "$fs/upper" "$fs/work" "$root"
mount -t overlay -o "lowerdir=/,upperdir=$fs/upper,workdir=$fs/work" \
	overlay "$root"
mount -t proc proc "$root/proc"
for frozen in sys sysrq-trigger bus fs irq; do
	[ -e "$root/proc/$frozen" ] || continue
	mount --bind "$root/proc/$frozen" "$root/proc/$frozen"
	mount -o remount,bind,ro "$root/proc/$frozen"
done
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty; do
	: >"$root/dev/$node"
	mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"

mkdir -p "$root/srv/box/fs"
cp -a "$1/files/." "$root/srv/box"
mount --bind "$fs" "$root/srv/box/fs"

# Of what this machine starts when it boots: the journal, and no more.
units=$root/etc/systemd/system
for wanted in "$root"/lib/systemd/system/*.target.wants/* \
	"$units"/*.wants/*; do
	case $wanted in
	*/systemd-journald*) ;;
	*) ln -sf /dev/null "$units/${wanted##*/}" ;;
	esac
done
printf '[Unit]\nRequires=sysinit.target\n' >"$units/box.target"
: >"$root/etc/fstab"
# Machines that build things often forbid packages to start anything.
rm -f "$root/usr/sbin/policy-rc.d"
ip link set lo up
# Not chroot: whoever is in one may not have a user namespace (PrivateUsers=).
cd "$root"
pivot_root . .
umount -l .
cd /
exec env -i container=box PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	setpriv --bounding-set=-sys_module,-sys_time,-sys_boot,-sys_rawio,-syslog \
	/lib/systemd/systemd --unit=box.target --show-status=no
END
}

box()
{
	nsenter -t "$box_pid" -m -p -n -u -i -C -r -w env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
}

# A folder in which something was written lies in the overlay, too, and is not
# new.
box_written()
{
	box find /srv/box/fs/upper -printf '%y /%P\n' |
		while read -r kind path; do
			[ "$kind" = d ] && [ -d "$path" ] || echo "$path"
		done
}

box_is_up()
{
	box_pid=$(cat "/proc/$box_unshare/task/$box_unshare/children") &&
		box_pid=${box_pid% } && [ -n "$box_pid" ] &&
		box systemctl is-active box.target
}

box_open()
{
	box_cgroup=$(box_cgroups)/tidemark-box.$$
	BOX=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-box.XXXXXX") || return 1
	mkdir "$BOX/fs" "$BOX/files" "$box_cgroup" &&
		cp -a "$@" "$BOX/files" && box_inside >"$BOX/inside" || return 1
	# shellcheck disable=SC2016 # the inner shell's own pid
	sh -c 'echo $$ >"$1/cgroup.procs" && exec unshare --mount --pid --fork \
		--kill-child --uts --ipc --net --cgroup --propagation private \
		sh "$2/inside" "$2"' - "$box_cgroup" "$BOX" \
		>"$BOX/console" 2>&1 </dev/null &
	box_unshare=$!
	within 60 box_is_up || {
		cat "$BOX/console"
		return 1
	}
}

# The first process of its namespace takes all others with it.
box_close()
{
	[ -n "${BOX:-}" ] || return 0
	[ -z "$box_pid" ] || kill -9 "$box_pid" 2>/dev/null
	kill -9 "$box_unshare" 2>/dev/null
	wait "$box_unshare" 2>/dev/null
	within 10 box_cgroup_gone
	rm -rf "$BOX"
	BOX='' box_pid=''
}

box_cgroup_gone()
{
	find "$box_cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null
	! [ -d "$box_cgroup" ]
}
