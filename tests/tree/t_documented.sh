#!/bin/sh
# t_documented - every setting, option and subcommand stands in its manual, and
# the manuals speak of none that is not there.
set -u
. tests/lib/tap.sh

B=${B:-build}
CC=${CC:-cc}

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# ---- the tables, as the library has them -------------------------------------

make_tables()
{
	cat >"$dir/tables.c" <<-'END'
		#include <string.h>
		#include "tidemark/counters.h"
		#include "tidemark/params.h"

		int
		main(int argc, char **argv)
		{
			size_t i;

			if (argc > 1 && strcmp(argv[1], "man") == 0)
				tide_params_man(stdout);
			else if (argc > 1 && strcmp(argv[1], "sample") == 0)
				tide_params_sample(stdout);
			else if (argc > 1)
				for (i = 0; i < TIDE_COUNTER_COUNT; i++)
					puts(tide_counter_info[i].name);
			else
				for (i = 0; i < tide_params_count; i++)
					puts(tide_params[i].name);
			return 0;
		}
	END
	# shellcheck disable=SC2086 # words, by intent
	$CC -std=c11 -D_GNU_SOURCE -Iinclude ${SAN:+-fsanitize=$SAN} \
		-o "$dir/tables" "$dir/tables.c" "$B/libtidemark.a" \
		-llmdb -lxxhash -lsodium -lidn2 -lm -pthread &&
		"$dir/tables" | sort >"$dir/keys" &&
		"$dir/tables" counters >"$dir/counters" &&
		[ "$(wc -l <"$dir/keys")" -gt 20 ] &&
		[ "$(wc -l <"$dir/counters")" -gt 20 ]
}

fill_page()
{
	"$dir/tables" man >"$dir/list" &&
		sed -e "/^@PARAMS@\$/{r $dir/list" -e 'd}' \
			conf/tidemark.conf.5.in >"$dir/tidemark.conf.5" &&
		lacks '^@PARAMS@' "$dir/tidemark.conf.5"
}

# both SORTED SORTED - the same lines in both; says which are missing.
both()
{
	comm -23 "$1" "$2" >"$dir/left"
	comm -13 "$1" "$2" >"$dir/right"
	sed "s|^|only in ${1##*/}: |" "$dir/left"
	sed "s|^|only in ${2##*/}: |" "$dir/right"
	[ -s "$1" ] && ! [ -s "$dir/left" ] && ! [ -s "$dir/right" ]
}

keys_in_sample()
{
	sed -n 's/^#\{0,1\}\([a-z0-9_]*\) =.*/\1/p' conf/tidemark.conf |
		sort -u >"$dir/sample"
	sort -u "$dir/keys" >"$dir/table"
	both "$dir/table" "$dir/sample"
}

keys_in_page()
{
	sed -n 's/^\.It Ic \([a-z0-9_]*\) .*/\1/p' "$dir/tidemark.conf.5" |
		sort -u >"$dir/page"
	both "$dir/table" "$dir/page"
}

sample_is_current()
{
	"$@" >"$dir/printed" && diff "$dir/printed" conf/tidemark.conf
}

# The manuals name settings as .Ic; each has to be one.
settings_exist()
{
	sed -n 's/^\.Ic //p' daemon/*.8 milter/*.8 tools/*.[18] tools/web/*.8 |
		tr -s ' ,.;()' '\n' | grep -E '^[a-z_]{3,}$' |
		sort -u >"$dir/named"
	comm -13 "$dir/table" "$dir/named" >"$dir/unknown"
	cat "$dir/unknown"
	[ -s "$dir/named" ] && ! [ -s "$dir/unknown" ]
}

counters_once()
{
	sort "$dir/counters" | uniq -d >"$dir/twice"
	cat "$dir/twice"
	! [ -s "$dir/twice" ]
}

# What looks like a counter in a manual's .Li has to be one.
counters_exist()
{
	sort -u "$dir/counters" "$dir/table" >"$dir/known"
	sed -n 's/^\.Li //p' daemon/*.8 milter/*.8 tools/*.[18] tools/web/*.8 |
		tr -s ' ,.;()' '\n' | grep -E '^[a-z]+_[a-z_]+$' |
		grep -vE '^(milter|mdb)_' | sort -u >"$dir/named"
	comm -13 "$dir/known" "$dir/named" >"$dir/unknown"
	cat "$dir/unknown"
	[ -s "$dir/named" ] && ! [ -s "$dir/unknown" ]
}

# ---- options -----------------------------------------------------------------

# help_options COMMAND... - long ones, and short ones at the start of a line.
help_options()
{
	"$@" --help >"$dir/help" || return
	grep -oE -e '--[a-z][a-z-]*' "$dir/help"
	sed -n 's/^  \(-[A-Za-z0-9]\)[ ,].*/\1/p' "$dir/help"
}

# page_options - of the mdoc lines on stdin: those that a list explains.
page_options()
{
	grep '^\.It .*Fl ' | tr -s ' ,' '\n' | awk '
		fl && $0 == "Fl" { two = 1; next }
		fl { print (two ? "--" : "-") $0; fl = two = 0; next }
		{ fl = $0 == "Fl" }'
}

# agree PROGRAM PAGE
agree()
{
	help_options "$B/$1" | sort -u >"$dir/$1.help"
	page_options <"$2" | sort -u >"$dir/$1.page"
	both "$dir/$1.help" "$dir/$1.page"
}

# Options that only our own programs give each other are at least mentioned.
mentioned()
{
	page=$1
	shift
	sed 's/Fl Fl /--/g' "$page" >"$dir/flat"
	sed -n 's/.*{ "\([a-z][a-z-]*\)", *[a-z]*_argument.*/\1/p' "$@" |
		sort -u >"$dir/long"
	rc=0
	while read -r name; do
		grep -qE -e "--$name( |\$)" "$dir/flat" ||
			{ echo "--$name is not in $page"; rc=1; }
	done <"$dir/long"
	[ -s "$dir/long" ] && [ "$rc" -eq 0 ]
}

# ---- tidemark and its subcommands --------------------------------------------

commands_of_help()
{
	"$B/tidemark" --help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' | sort -u
}

# section NAME - of tidemark.1: what stands under .It Cm NAME.
section()
{
	awk -v name="$1" '
		/^\.Sh/ { on = 0; inside = $0 == ".Sh SUBCOMMANDS" }
		inside && /^\.It Cm/ { on = $3 == name }
		on' tools/tidemark.1
}

commands_agree()
{
	commands_of_help >"$dir/commands.help"
	sed -n '/^\.Sh SUBCOMMANDS/,/^\.Sh ENV/s/^\.It Cm \([a-z]*\).*/\1/p' \
		tools/tidemark.1 | sort -u >"$dir/commands.page"
	both "$dir/commands.help" "$dir/commands.page"
}

commands_in_synopsis()
{
	sed -n '/^\.Sh SYN/,/^\.Sh DESC/s/^\.Cm \([a-z]*\)$/\1/p' \
		tools/tidemark.1 | sort -u >"$dir/commands.synopsis"
	both "$dir/commands.help" "$dir/commands.synopsis"
}

common_agree()
{
	help_options "$B/tidemark" | sort -u >"$dir/common.help"
	sed '/^\.Sh SUBCOMMANDS/,$d' tools/tidemark.1 | page_options |
		sort -u >"$dir/common.page"
	both "$dir/common.help" "$dir/common.page"
}

# Beyond what is common to all.
command_agrees()
{
	help_options "$B/tidemark" "$1" | sort -u |
		comm -23 - "$dir/common.help" >"$dir/$1.help"
	section "$1" | page_options | sort -u >"$dir/$1.page"
	echo x | tee -a "$dir/$1.help" >>"$dir/$1.page" # there may be none
	both "$dir/$1.help" "$dir/$1.page"
}

# ---- lint --------------------------------------------------------------------

# Our pages refer to each other and to mail servers that may not be there.
lints()
{
	mandoc -T lint "$1" >"$dir/lint" 2>&1
	grep -v 'referenced manual not found\|outdated mandoc.db' "$dir/lint"
	[ $? -eq 1 ]
}

# skip SENTENCE REASON - one case.
skip()
{
	tap_cases=$((tap_cases + 1))
	echo "ok - $1 # SKIP $2"
}

# has PROGRAM ROOM - built?  If there is source for it, it has to be.
has()
{
	[ -x "$B/$1" ] && return
	if [ -e "$2/main.c" ]; then
		check "$1 is built" test -x "$B/$1"
	else
		skip "the options of $1" "it has no source yet"
	fi
	return 1
}

check "the tables can be read" make_tables || { tap_end; exit; }
check "the page of settings is filled from its table" fill_page
check "every setting is in conf/tidemark.conf, and no other" keys_in_sample
check "every setting is in tidemark.conf(5), and no other" keys_in_page
check "conf/tidemark.conf is what the table says" \
	sample_is_current "$dir/tables" sample
check "every setting that a manual names is one" settings_exist
check "no counter is named twice" counters_once
check "every counter that a manual names is one" counters_exist

if has tidemarkd daemon; then
	check "options of tidemarkd: help and manual agree" \
		agree tidemarkd daemon/tidemarkd.8
	check "and its internal ones are mentioned" \
		mentioned daemon/tidemarkd.8 daemon/main.c
fi
if has tidemark-milter milter; then
	check "options of tidemark-milter: help and manual agree" \
		agree tidemark-milter milter/tidemark-milter.8
	check "and none is left out of both" \
		mentioned milter/tidemark-milter.8 milter/main.c
fi
if has tidemark-web tools/web; then
	check "options of tidemark-web: help and manual agree" \
		agree tidemark-web tools/web/tidemark-web.8
	check "and none is left out of both" \
		mentioned tools/web/tidemark-web.8 tools/web/main.c
fi
if has tidemark tools; then
	check "tidemark prints conf/tidemark.conf" \
		sample_is_current "$B/tidemark" config --sample
	check "subcommands: help and manual agree" commands_agree
	check "each stands in the synopsis" commands_in_synopsis
	check "options of all subcommands: help and manual agree" common_agree
	while read -r name; do
		check "options of tidemark $name: help and manual agree" \
			command_agrees "$name"
	done <"$dir/commands.help"
	check "and none is left out of both" \
		mentioned tools/tidemark.1 tools/*.c
fi

for page in daemon/tidemarkd.8 milter/tidemark-milter.8 tools/tidemark.1 \
	tools/tidemark-egress.8 tools/web/tidemark-web.8 \
	"$dir/tidemark.conf.5"; do
	if command -v mandoc >/dev/null; then
		check "${page##*/} lints" lints "$page"
	else
		skip "${page##*/} lints" "mandoc is not installed"
	fi
done
tap_end
