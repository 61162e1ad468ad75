#!/bin/sh
# t_manuals - the manual pages are sound: mandoc has nothing to say about them,
# they are installed under every name that they go by, and what they refer to
# is there.
set -u
. tests/lib/tap.sh
. tests/lib/pages.sh

B=${B:-build}

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# Pages of others that ours refer to need not be installed here; those of ours
# are looked for below.
silent()
{
	mandoc -T lint -W style "$1" >"$dir/lint" 2>&1
	grep -v 'referenced manual not found\|outdated mandoc.db' "$dir/lint"
	[ $? -eq 1 ]
}

# What is outside ASCII has a name in mdoc.
ascii()
{
	! LC_ALL=C grep -n '[^ -~	]' "$1"
}

# A page about ban is tidemark-ban.1, whatever else it is about.
named()
{
	file=${1##*/}
	names "$1" >"$dir/names" &&
		same "$(sed 1q "$dir/names")" "${file%.*}" &&
		same "$(sed -n 's/^\.Dt //p' "$1")" \
			"$(echo "${file%.*}" | tr '[:lower:]' '[:upper:]') ${file##*.}"
}

# ours PAGE - the manuals of ours that it refers to, as NAME.SECTION.
ours()
{
	sed -n 's/^\..*Xr \(tidemark[^ ]*\) \([1-9]\).*/\1.\2/p' "$1" | sort -u
}

refers()
{
	ours "$1" | while read -r name; do
		[ -e "$dir/man/man${name##*.}/$name" ] || echo "no $name"
	done >"$dir/lacking"
	cat "$dir/lacking"
	! [ -s "$dir/lacking" ]
}

# From everywhere a reader finds back.
refers_to_the_tool()
{
	case ${1##*/} in
	tidemark.1) return ;;
	esac
	section "SEE ALSO" "$1" | grep -q '^\.Xr tidemark 1'
}

installs()
{
	make -s B="$B" DESTDIR="$dir" MANDIR=/man install-man &&
		[ -s "$dir/man/man1/tidemark.1" ]
}

# Every name is one that man finds, and leads to the page.
found()
{
	section=${1##*.}
	names "$1" | while read -r name; do
		cmp "$1" "$dir/man/man$section/$name.$section" || echo "$name"
	done >"$dir/lost" 2>&1
	cat "$dir/lost"
	! [ -s "$dir/lost" ]
}

# Examples are not wrapped.
fits()
{
	mandoc -T ascii "$1" | sed "s/.$(printf '\b')//g" |
		awk 'length > 80 { print; bad = 1 } END { exit bad }'
}

command -v mandoc >/dev/null ||
	tap_skip "the manual pages" "mandoc is not installed"
check "the pages can be installed" installs || { tap_end; exit; }
for page in $(pages); do
	name=${page##*/}
	check "$name: mandoc has nothing to say" silent "$page"
	check "$name: is in ASCII" ascii "$page"
	check "$name: is named like its file" named "$page"
	check "$name: man finds it by all its names" found "$page"
	check "$name: what it refers to is there" refers "$page"
	check "$name: refers to tidemark(1)" refers_to_the_tool "$page"
	check "$name: fits 80 columns" fits "$page"
done
tap_end
