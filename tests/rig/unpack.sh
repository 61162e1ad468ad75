#!/bin/sh
# unpack.sh - put a sendmail into a folder of the rig's own.
#
# Nothing is installed: apt only downloads, dpkg only unpacks, so the machine's
# own mail server is left alone.  Libraries the binary misses are unpacked
# beside it.  Done once; later calls return at once.
#
# Prints the folder: DIR/root/usr/libexec/sendmail/{sendmail,makemap},
# DIR/root/usr/share/sendmail/cf.  Exit 77, with the reason on stderr, when
# it cannot be had here.
set -u
umask 022

tree=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cache=${RIG_CACHE:-$tree/build/rig/cache}
libs="libdb5.3 libldap-2.5-0 libnsl2 libsasl2-2 libssl3 libwrap0"

cannot()
{
	echo "no sendmail for the rig: $*" >&2
	exit 77
}

# download PACKAGE... - into the folder we are in.
download()
{
	apt-get -q -o APT::Sandbox::User=root download "$@" >>log 2>&1
}

fetch()
{
	download "$@" && return
	[ "$(id -u)" -eq 0 ] ||
		cannot "apt-get download $* failed, and only root may update" \
			"the package lists (see $cache/new/log)"
	apt-get -q update >>log 2>&1
	download "$@" ||
		cannot "apt-get download $* failed: $(grep '^E:' log | tail -1)"
}

unpack()
{
	for deb in *.deb; do
		dpkg -x "$deb" root >>log 2>&1 || cannot "dpkg -x $deb failed"
		rm -f "$deb"
	done
}

missing()
{
	LD_LIBRARY_PATH=$(echo "$PWD"/root/usr/lib/*-linux-gnu) \
		ldd root/usr/libexec/sendmail/sendmail | grep 'not found'
}

# have_it - then this is all.
have_it()
{
	[ ! -e "$cache/root/.complete" ] || {
		echo "$cache"
		exit 0
	}
}

have_it
for tool in apt-get dpkg flock; do
	command -v "$tool" >/dev/null || cannot "no $tool on this machine"
done
# One at a time: tests beside us may want it, too, or a Postfix.
mkdir -p "$cache" || cannot "no folder $cache"
exec 9>"$cache/../lock"
flock 9 || cannot "no lock beside $cache"
have_it
rm -rf "$cache/root" "$cache/new"
mkdir -p "$cache/new/root" || cannot "no folder $cache"
cd "$cache/new" || exit 1
fetch sendmail-bin sendmail-cf
unpack
if missing >/dev/null; then
	# shellcheck disable=SC2086 # a list of names
	fetch $libs
	unpack
fi
lost=$(missing) && cannot "libraries are missing:" "$lost"
touch root/.complete
mv root "$cache/root" && cd .. && rm -rf "$cache/new"
echo "$cache"
