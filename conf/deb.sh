#!/bin/sh
# deb.sh VERSION - build the Debian packages of this tree into $B/deb, and
# have lintian look at them.  `make deb' calls it, from the tree's root.
#
# What git knows of is copied, as it stands in the folder: neither what was
# built here nor what lies about gets into a package.
set -eu
umask 022
version=$1
out=${B:-build}/deb
src=$out/tidemark-$version
# Tags of lintian that may not show.  All others are printed.
strict=error,warning

fail()
{
	echo "make deb: $*" >&2
	exit 1
}

# Out of a tarball there is no git, and nothing but the tree.
files()
{
	git ls-files -z 2>/dev/null ||
		find . \( -path ./.git -o -path "./${B:-build}" -o \
			-path ./run \) -prune -o -type f -print0
}

# Files that are deleted here, but not in git yet, are not there to copy.
copy()
{
	files | perl -0 -ne 'print if -e s/\0$//r' |
		xargs -0 cp -p --parents -t "$src"
	cp -r conf/debian "$src/debian"
}

said=$(sed -n '1s/.*(\(.*\)).*/\1/p' conf/debian/changelog)
[ "$said" = "$version" ] ||
	fail "conf/debian/changelog is of $said, the Makefile of $version"

rm -rf "$out"
mkdir -p "$src"
copy

(cd "$src" && dpkg-buildpackage -us -uc -b) >"$out/log" 2>&1 || {
	tail -n 40 "$out/log" >&2
	fail "dpkg-buildpackage failed; all it said is in $out/log"
}
lintian --pedantic -EviI --fail-on "$strict" \
	"$out"/*.changes >"$out/lintian" 2>&1 || {
	cat "$out/lintian" >&2
	fail "lintian is not content"
}
rm -rf "$src"
ls "$out"/*.deb
