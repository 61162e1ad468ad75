#!/bin/sh
# t_arrows - the rooms of the tree, and who may enter.
#
#   tools, milter, daemon  ->  include/tidemark  <-  daemon/core, text,
#                                                    memory, reputation
set -u
. tests/lib/tap.sh

B=${B:-build}
CC=${CC:-cc}
LIB=$B/libtidemark.a

# ---- headers -----------------------------------------------------------------

# Twice, so that a missing guard shows as well.
compiles_alone()
{
	printf '#include "%s"\n#include "%s"\n' "$1" "$1" |
		$CC -std=c11 -D_GNU_SOURCE -Iinclude -Wall -Wextra -Werror \
			-fsyntax-only -x c -
}

headers_alone()
{
	rc=0 n=0
	for h in include/tidemark/*.h; do
		compiles_alone "${h#include/}" || rc=1
		n=$((n + 1))
	done
	[ "$n" -gt 10 ] && [ "$rc" -eq 0 ]
}

# included PATTERN FOLDER... - the files that include such a header, sorted.
included()
{
	pattern=$1
	shift
	find "$@" -name '*.[ch]' -exec grep -lE \
		"^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)[>\"]" \
		{} + 2>/dev/null | sort
}

rooms="daemon include"
for room in milter tools; do
	[ ! -d "$room" ] || rooms="$rooms $room"
done

lmdb_once()
{
	# shellcheck disable=SC2086 # a list of folders
	same "$(included 'lmdb\.h' $rooms tests)" daemon/core/store.c
}

libmilter_in_its_room()
{
	# shellcheck disable=SC2086
	same "$(included 'libmilter/.*' $rooms | grep -v '^milter/')" '' &&
		[ -n "$(included 'libmilter/.*' milter)" ]
}

curses_once()
{
	# shellcheck disable=SC2086
	found=$(included '(n?curses[w]?/)?n?curses[w]?\.h' $rooms)
	same "$(echo "$found" | grep -v '^tools/')" '' &&
		[ "$(echo "$found" | grep -c .)" -le 1 ]
}

nftables_once()
{
	# shellcheck disable=SC2086
	same "$(included 'nftables/.*' $rooms tests)" tools/egress/nft.c
}

microhttpd_once()
{
	# shellcheck disable=SC2086
	same "$(included 'microhttpd\.h' $rooms tests)" tools/web/serve.c
}

# ---- includes between rooms --------------------------------------------------

# A room in the room: all of tools may read the map through tools/read, which
# knows nobody; the rooms of single commands may use what lies in tools/ itself;
# tidemark-web, another program, may not.
lets_in()
{
	case $1:$2 in
	tools:read/*) [ -f "tools/$2" ] ;;
	tools/read:*) false ;;
	tools/*:../read/*) [ -f "tools/${2#../}" ] ;;
	tools/web:* | tools/*:../*/*) false ;;
	tools/*:../*) [ -f "tools/${2#../}" ] ;;
	*) false ;;
	esac
}

# stays_in FOLDER - its files include, in quotes, tidemark/..., a file that
# lies beside them, or what lets_in() says.
stays_in()
{
	strays=$(for f in "$1"/*.[ch]; do
		[ -e "$f" ] || continue
		sed -n 's/^[ 	]*#[ 	]*include[ 	]*"\(.*\)".*/\1/p' "$f" |
			while read -r name; do
				! lets_in "$1" "$name" || continue
				case $name in
				*..*) ;;
				tidemark/*) [ ! -f "include/$name" ] || continue ;;
				*/*) ;;
				*) [ ! -f "$1/$name" ] || continue ;;
				esac
				echo "$f includes $name"
			done
	done)
	same "$strays" ''
}

# What is in the rooms is found by its name, not by a search path.
no_search_paths()
{
	same "$(grep -oE -- '-I *[^ )]+' Makefile | tr -d ' ' | sort -u |
		grep -vxE -e '-Iinclude|-Itests/[a-z]+')" ''
}

# ---- the library -------------------------------------------------------------

# What its objects ask of others: "object.o symbol".
wanted()
{
	nm -A -u "$LIB" | sed 's/^[^:]*:\([^:]*\):.* U /\1 /; s/@.*//'
}

prints_nothing()
{
	[ -f "$LIB" ] || { echo "$LIB is not built"; return 1; }
	same "$(wanted | grep -E ' (__)?(v?printf|puts|putchar|perror|stdout|stderr|psignal|v?warnx?|v?errx?|error)(_chk|_unlocked)?$')" ''
}

# _exit() in the process that store_probe.c forks to look for damage.
exits_never()
{
	[ -f "$LIB" ] || { echo "$LIB is not built"; return 1; }
	same "$(wanted | grep -E ' (exit|_exit|_Exit|quick_exit|pthread_exit)$')" \
		"store_probe.o _exit"
}

logs_in_one_place()
{
	same "$(wanted | grep -E ' (__)?v?syslog(_chk)?$' | cut -d' ' -f1 |
		sort -u)" log.o
}

names_are_ours()
{
	same "$(nm -g --defined-only "$LIB" | awk 'NF == 3 { print $3 }' |
		grep -v '^tide_' | grep -vE '^(__asan|__odr_asan|__tsan|\.)')" ''
}

# links PROGRAM LIBRARY - is it linked to it?
links()
{
	readelf -d "$1" | grep -q "NEEDED.*\[$2"
}

# Only the filter needs libmilter; nobody but the filter may get it.
libmilter_linked_once()
{
	for p in tidemarkd tidemark tidemark-web; do
		[ -x "$B/$p" ] || continue
		! links "$B/$p" libmilter || { echo "$p links it"; return 1; }
	done
	[ ! -x "$B/tidemark-milter" ] || links "$B/tidemark-milter" libmilter
}

# It brings a dozen libraries: loaded by those who need it, when they do.
nftables_never_linked()
{
	for p in tidemarkd tidemark-milter tidemark tidemark-web; do
		[ -x "$B/$p" ] || continue
		! links "$B/$p" libnftables || { echo "$p links it"; return 1; }
	done
}

# What listens to a browser is a program of its own.
microhttpd_linked_once()
{
	for p in tidemarkd tidemark-milter tidemark; do
		[ -x "$B/$p" ] || continue
		! links "$B/$p" libmicrohttpd || { echo "$p links it"; return 1; }
	done
	[ ! -x "$B/tidemark-web" ] || links "$B/tidemark-web" libmicrohttpd
}

# ---- the top level -----------------------------------------------------------

# Everything that is in the repository, by its first name.
top_level()
{
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files
	else
		find . -mindepth 1 -maxdepth 1 ! -name build ! -name run |
			sed 's|^\./||'
	fi | cut -d/ -f1 | sort -u
}

top_is_tidy()
{
	same "$(top_level | grep -vxE 'Makefile|README\.md|LICENSE|daemon|milter|tools|include|tests|conf|\..*')" ''
}

check "each header compiles alone" headers_alone
check "lmdb.h is included in one file, daemon/core/store.c" lmdb_once
check "libmilter is included under milter/ (and by tests) only" \
	libmilter_in_its_room
check "libnftables is included in one file, tools/egress/nft.c" nftables_once
check "curses is included in one file of tools/ at most" curses_once
check "libmicrohttpd is included in one file, tools/web/serve.c" \
	microhttpd_once
for room in include/tidemark daemon/core daemon/text daemon/memory \
	daemon/reputation daemon milter tools tools/*/; do
	room=${room%/}
	[ ! -d "$room" ] ||
		check "$room includes contracts and its own files only" \
			stays_in "$room"
done
check "no search path leads from room to room" no_search_paths
check "the library prints nothing" prints_nothing
check "the library never exits, but for the process it forks" exits_never
check "syslog is called in log.c only" logs_in_one_place
check "what the library exports begins with tide_" names_are_ours
check "only tidemark-milter links libmilter" libmilter_linked_once
check "nobody is linked to libnftables" nftables_never_linked
check "only tidemark-web links libmicrohttpd" microhttpd_linked_once
check "the top level holds nothing else" top_is_tidy
tap_end
