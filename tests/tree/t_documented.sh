#!/bin/sh
# t_documented - every setting, option and subcommand stands in its manual, and
# the manuals speak of none that is not there.  Whether the manuals are sound by
# themselves is for t_manuals.sh.
#
# takes: 7s
set -u
. tests/lib/tap.sh
. tests/lib/pages.sh

B=${B:-build}
CC=${CC:-cc}

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# ---- the tables, as the library has them -------------------------------------

make_tables()
{
	cat >"$dir/tables.c" <<-'END'
		#include <string.h>
		#include "tidemark/shared/counters.h"
		#include "tidemark/settings/params.h"

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
	# shellcheck disable=SC2046 # words, by intent
	sed -n 's/^\.Ic //p' $(pages) |
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

# What looks like a counter in a manual's .Li has to be one.  Fields of JSON are
# for tests/tools/t_manuals.sh, and decisions are counted in their ring.
counters_exist()
{
	{ echo decisions; cat "$dir/counters" "$dir/table"; } |
		sort -u >"$dir/known"
	# shellcheck disable=SC2046 # words, by intent
	awk '/^\.Sh/ { on = $0 != ".Sh JSON" } on' $(pages) |
		sed -n 's/^\.Li //p' |
		tr -s ' ,.;()' '\n' | grep -E '^[a-z]+_[a-z_]+$' |
		sed 's/^tidemark_\(.*\)_total$/\1/' |
		grep -vE '^(milter|mdb)_' | sort -u >"$dir/named"
	comm -13 "$dir/known" "$dir/named" >"$dir/unknown"
	cat "$dir/unknown"
	[ -s "$dir/named" ] && ! [ -s "$dir/unknown" ]
}

counters_in_page()
{
	sort -u "$dir/counters" >"$dir/table.counters"
	section COUNTERS "$B/man/tidemark-counters.7" |
		sed -n 's/^\.It Cm //p' | sort -u >"$dir/page.counters"
	both "$dir/table.counters" "$dir/page.counters"
}

# What is said to do about it speaks of commands and settings that there are.
counters_act()
{
	section COUNTERS "$B/man/tidemark-counters.7" | tr '\n' ' ' |
		sed 's/\\-/-/g' |
		grep -oE 'tidemark [a-z]+( [a-z]+)?( --[a-z-]+)?' |
		sort -u | while read -r _ name word option; do
		case $word in --*) option=$word ;; esac
		"$B/tidemark" "$name" --help >"$dir/help" 2>&1 || option=none
		[ -z "$option" ] || grep -q -e "$option" "$dir/help" ||
			echo "tidemark $name $word $option"
	done >"$dir/wrong"
	section COUNTERS "$B/man/tidemark-counters.7" |
		grep -v '^\.' | grep -oE '\b[a-z0-9]+_[a-z_]+\b' | sort -u |
		comm -13 "$dir/known" - | grep -v '^smtpd_\|^check_policy' \
		>>"$dir/wrong"
	cat "$dir/wrong"
	! [ -s "$dir/wrong" ]
}

# ---- options -----------------------------------------------------------------

# help_options COMMAND... - long ones, and short ones at the start of a line.
help_options()
{
	"$@" --help >"$dir/help" || return
	grep -oE -e '--[a-z][a-z-]*' "$dir/help"
	sed -n 's/^  \(-[A-Za-z0-9]\)[ ,].*/\1/p' "$dir/help"
}

# flags - of the words of mdoc on stdin, a line each.
flags()
{
	awk '
		fl && $0 == "Fl" { two = 1; next }
		fl { print (two ? "--" : "-") $0; fl = two = 0; next }
		{ fl = $0 == "Fl" }'
}

# page_options - of the mdoc lines on stdin: those that a list explains.
page_options()
{
	grep '^\.It .*Fl ' | tr -s ' ,' '\n' | flags
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
	in=$1
	shift
	# shellcheck disable=SC2086 # words, by intent
	sed 's/Fl Fl /--/g' $in >"$dir/flat"
	sed -n 's/.*{ "\([a-z][a-z-]*\)", *[a-z]*_argument.*/\1/p' "$@" |
		sort -u >"$dir/long"
	rc=0
	while read -r name; do
		grep -qE -e "--$name( |\$)" "$dir/flat" ||
			{ echo "--$name is in no page"; rc=1; }
	done <"$dir/long"
	[ -s "$dir/long" ] && [ "$rc" -eq 0 ]
}

# ---- tidemark and its subcommands --------------------------------------------

commands_of_help()
{
	"$B/tidemark" --help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' | sort -u
}

# The list in the overview.
commands_agree()
{
	commands_of_help >"$dir/commands.help"
	section SUBCOMMANDS tools/tidemark.1 |
		sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' |
		sort -u >"$dir/commands.page"
	both "$dir/commands.help" "$dir/commands.page"
}

# And in the same order, below the same headings.
headings_agree()
{
	"$B/tidemark" --help | sed -n 's/^\([A-Z].*\):$/= \1/p
		s/^  \([a-z]\{1,\}\)  .*/\1/p' >"$dir/headings.help"
	section SUBCOMMANDS tools/tidemark.1 | sed -n 's/^\.Ss \(.*\)/= \1/p
		s/^\.It Cm \([a-z]*\).*/\1/p' >"$dir/headings.page"
	[ "$(grep -c = "$dir/headings.help")" -gt 2 ] &&
		diff "$dir/headings.help" "$dir/headings.page"
}

common_agree()
{
	help_options "$B/tidemark" | sort -u >"$dir/common.help"
	page_options <tools/tidemark.1 | sort -u >"$dir/common.page"
	both "$dir/common.help" "$dir/common.page"
}

# help_page PAGE NAME - help refers to the page.
help_page()
{
	"$B/tidemark" "$2" --help | tail -n 1 |
		grep -F "See tidemark-$2(${1##*.})"
}

# own_options PAGE - those of the subcommands that a page is about, beyond
# what is common to all.
own_options()
{
	names "$1" | sed 's/^tidemark-//' >"$dir/names"
	[ -s "$dir/names" ] || return
	while read -r own; do
		help_options "$B/tidemark" "$own" || return
	done <"$dir/names" | sort -u | comm -23 - "$dir/common.help"
}

# its_page PAGE - lists what its subcommands understand, and nothing else.
its_page()
{
	own_options "$1" >"$dir/own" || return
	page_options <"$1" | sort -u | comm -23 - "$dir/common.help" \
		>"$dir/page"
	echo x | tee -a "$dir/own" >>"$dir/page" # there may be none
	both "$dir/own" "$dir/page"
}

# Of options with a short and a long form one suffices.
its_synopsis()
{
	section SYNOPSIS "$1" | tr -s ' ,' '\n' | sed 's/^\.//' |
		flags >"$dir/synopsis"
	grep '^\.It .*Fl ' "$1" | while read -r line; do
		echo "$line" | tr -s ' ,' '\n' | flags >"$dir/forms"
		grep -qxFf "$dir/forms" "$dir/synopsis" ||
			echo "not in the synopsis: $line"
	done >"$dir/lacking"
	cat "$dir/lacking"
	! [ -s "$dir/lacking" ]
}

# spoken_of PAGE - "SUBCOMMAND OPTION" for each option in prose and examples;
# the subcommand is - where the line names none.
spoken_of()
{
	sed -e 's/Fl Fl /--/g' -e 's/Fl \([A-Za-z0-9]\)/-\1/g' "$1" | awk '
		{
			if (!sub(/^\.([A-Z][a-z] )?/, "")) # the shell takes over
				sub(/[|>;&].*/, "")
			gsub(/(Cm|Nm|Ns|Op|Oo|Oc) /, "")
			gsub(/=[^ ]*/, "")
			if (!on) {
				who = "-"
				if (match($0, /tidemark (-c [^ ]+ )?[a-z]+/)) {
					n = split(substr($0, RSTART, RLENGTH), w)
					who = w[n]
				}
			}
			for (i = 1; i <= NF; i++)
				if ($i ~ /^--?[A-Za-z]/)
					print who, $i
			on = /\\e$/
		}' | sort -u
}

# Another command's options, as mdb_copy -n, are not ours to check: they stand
# in lines that name no subcommand, as short ones.
none_invented()
{
	own_options "$1" | sort -u - "$dir/common.help" >"$dir/known.-"
	spoken_of "$1" | while read -r who option; do
		if ! [ -e "$dir/known.$who" ]; then
			grep -qxF "$who" "$dir/commands.help" || continue
			help_options "$B/tidemark" "$who" |
				sort -u - "$dir/common.help" >"$dir/known.$who"
		fi
		case $who$option in --[!-]*) continue ;; esac
		grep -qxF -e "${option%%[.,;:)]*}" "$dir/known.$who" ||
			echo "$who has no $option"
	done >"$dir/invented"
	cat "$dir/invented"
	! [ -s "$dir/invented" ]
}

check_command()
{
	page=$(page_of "tidemark-$1")
	check "tidemark $1 has a page" test -n "$page" || return
	check "its help names it" help_page "$page" "$1"
	check "its options: help and manual agree" its_page "$page"
	check "they stand in the synopsis" its_synopsis "$page"
	check "it speaks of no others" none_invented "$page"
}

# ---- from here ---------------------------------------------------------------

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
check "every counter is in tidemark-counters(7), and no other" counters_in_page
check "what to do about them can be done" counters_act

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
for program in "$B"/tidemark-*; do # what has come since
	name=${program##*/}
	[ -x "$program" ] || continue
	[ "$name" != tidemark-milter ] || continue
	page=$(page_of "$name")
	check "$name has a page" test -n "$page" &&
		check "options of $name: help and manual agree" \
			agree "$name" "$page"
done
if has tidemark-web tools/web; then
	check "and none of tidemark-web is left out of both" \
		mentioned tools/web/tidemark-web.8 tools/web/main.c
fi
if has tidemark tools; then
	check "tidemark prints conf/tidemark.conf" \
		sample_is_current "$B/tidemark" config --sample
	check "subcommands: help and manual agree" commands_agree
	check "and have them in the same order" headings_agree
	check "options of all subcommands: help and manual agree" common_agree
	while read -r name; do
		check_command "$name"
	done <"$dir/commands.help"
	# shellcheck disable=SC2046 # words, by intent
	check "and none is left out of both" mentioned "$(pages)" \
		$(find tools -name "*.c" ! -path "tools/web/*")
fi
tap_end
