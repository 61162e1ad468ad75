#!/bin/sh
# t_manuals - what a daemon at work shows stands in the manuals: every field of
# every JSON record in the page of its subcommand, every gauge in that of the
# metrics, every file in tidemark-files(5), every field of the log in
# tidemark-log(5).  And no page explains a field that nobody writes.
#
# takes: 8s
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh
. tests/lib/pages.sh

daemon_conf "[profile external]" "socket = local:$D/run/external.sock" \
	"oksender_mode = enforce" "oksender_limit = 500/1h" \
	"oksender_leak = 10s" "cbip_mode = dry-run" "addresses_mode = dry-run" \
	"bulk_mode = dry-run" "spam_mode = dry-run" "tokens_mode = dry-run" \
	"text_log = yes" "charged_by = milter" \
	"[policy submission]" "profile = external"
check "a daemon starts" daemon_start || exit 1
sed '1d; /^From /,$d' tests/demo/sample.mbox >"$D/mail"
printf 'hanna.bjork@harbour.example\n@bad.example\n' >"$D/list"
printf 'ann@bad.example\n' >"$D/good"
printf '203.0.113.9 a proxy\n' >"$D/relays"
tidemark addresses load "$D/list" >/dev/null
tidemark spam report "$D/mail" >/dev/null
feed -n 39 >"$D/feed"
check "mail came" test "$(counter accepted)" -gt 20
known()
{
	tidemark bucket list | grep hanna
}
check "and was counted" within 30 known

# A session that lasts, so that there is a worker to be shown.
"$FEED" -s "local:$D/run/external.sock" -c 1 -m 100000 -r 2 -n 0 --quiet \
	tests/demo/sample.mbox >/dev/null 2>&1 &
session=$!
served()
{
	[ -n "$(workers)" ]
}
check "a session runs" within 30 served

# ---- JSON --------------------------------------------------------------------

# explains PAGE - the names that its section JSON explains, one a line.
explains()
{
	section JSON "$1" | sed -n 's/^\.It Li //p' | tr -s ' ,' '\n' | sort -u
}

# Names below these are data: of counters, profiles, settings, labels.  And so
# are those of settings, which have a default.
cat >"$D/fields.pl" <<'END'
use strict;
use JSON::PP;
my (%known, %told);
open my $f, '<', $ARGV[0] or die;
while (<$f>) { chomp; $known{$_} = 1 }
sub lacking { my $n = shift; $told{$n}++ or print "$n\n" }
sub walk {
	my ($r, $data) = @_;
	if (ref $r eq 'ARRAY') { walk($_, 0) for @$r }
	return if ref $r ne 'HASH';
	for my $k (keys %$r) {
		(my $base = $k) =~ s/_ms$//;
		$data ||= ref $r->{$k} eq 'HASH' && exists $r->{$k}{default};
		lacking($k) unless $data || $known{$k} ||
			($base ne $k && exists $r->{$base} && $known{$base});
		walk($r->{$k}, ref $r->{$k} eq 'HASH' &&
			$k =~ /^(counters|profiles|settings|policies|labels)$/);
	}
}
while (<STDIN>) {
	next unless /^\{/;
	my $r = decode_json($_);
	lacking("record $r->{type}") unless $known{$r->{type}};
	delete @$r{qw(version type)};
	walk($r, 0);
}
exit(%told ? 1 : 0);
END

# explained WORD... - all that this prints is in its page.
explained()
{
	explains "$(page_of "tidemark-$1")" >"$D/known"
	tidemark "$@" --json >"$D/out" 2>&1
	[ $? -ne 2 ] && grep '^{' "$D/out" >"$D/records" &&
		perl "$D/fields.pl" "$D/known" <"$D/records"
}

cat >"$D/calls" <<-END
	status
	query --from hanna.bjork@harbour.example
	query --from nobody@nowhere.example --since 2d
	query --message $D/mail
	query --file $D/mail
	query --text nobody-has-ever-written-these-words-and-there-are-enough-of-them-to-ask-for-them
	why hanna.bjork@harbour.example
	tail --once
	replay tests/demo/sample.mbox
	replay $D/log
	dump
	counters
	configtest
	configtest --config $D/bad.conf
	config
	reload
	bypass on --for 1s
	seal
	checkpoint
	ban 203.0.113.7 --for 1h
	banned
	why 203.0.113.7
	top -1 --view bans
	unban 203.0.113.7
	bucket list
	report content-blocked --sender x@example.net --ip 203.0.113.8
	bucket reset hanna.bjork@harbour.example
	audit
	size leaky --limit 100/1h
	size tokens --burst 100 --rate 100/1d
	normalise $D/mail
	addresses load $D/list
	addresses add joe@bad.example
	addresses test joe@bad.example
	addresses check-against $D/good
	addresses stats
	except add x@example.net
	except list
	except del x@example.net
	egress deny add 198.51.100.0/24
	egress deny list
	egress permit add 10.0.0.0/8 192.0.2.25
	egress permit list
	egress deny import $D/relays
	egress deny del 198.51.100.0/24
	bulk stats
	bulk test $D/mail
	spam stats
	spam test $D/mail
	spam revoke $D/mail
	export --key
	export
	merge $D/feed
	top -1
	top -1 --view flow
	top -1 --view memory
	top -1 --view workers
	top -1 --view map
	metrics
	completion bash
	setup sendmail
	help
END
printf 'max_wrokers = 7\n' >"$D/bad.conf"
while read -r line; do
	# shellcheck disable=SC2086 # words, by intent
	check "explained: $line" explained $line
done <"$D/calls"
kill "$session"
wait "$session" 2>/dev/null

# A field that a page explains is a string in the tools; the names of filters
# are put before some.
written()
{
	find tools daemon/lib -name "*.c" -exec cat {} + >"$D/source"
	explains "$1" | while read -r name; do
		case $name in
		senders_* | recipients_* | content_*)
			grep -qF -e "\"%s_${name#*_}\"" "$D/source" && continue
			;;
		esac
		grep -qF -e "\"$name\"" "$D/source" || echo "nobody writes $name"
	done >"$D/unwritten"
	cat "$D/unwritten"
	! [ -s "$D/unwritten" ]
}
for page in $(pages); do
	[ -n "$(explains "$page")" ] || continue
	check "${page##*/}: each field is written by somebody" written "$page"
done

# ---- metrics -----------------------------------------------------------------

gauges_explained()
{
	section DESCRIPTION tools/man/tidemark-metrics.1 |
		sed -n 's/^\.It Cm //p' | tr -s ' ,' '\n' | sort -u >"$D/known"
	tidemark metrics | sed -n 's/^# HELP tidemark_\([^ ]*\) .*/\1/p' |
		grep -v '_total$' | sort -u | diff "$D/known" -
}
check "every gauge is in tidemark-metrics(1), and no other" gauges_explained

# ---- files -------------------------------------------------------------------

files_explained()
{
	sed -n 's/^\.It Pa //p' tools/man/tidemark-files.5 |
		tr -s ' ,' '\n' >"$D/known"
	find "$D/run" "$D/state" -mindepth 1 | sed 's|.*/||' |
		sed -e 's/^.*-policy\.sock$/NAME-policy.sock/' |
		sort -u >"$D/there"
	grep -vxFf "$D/known" "$D/there"
	[ $? -eq 1 ]
}
check "the folders have files" test -S "$D/run/submission-policy.sock"
check "every file is in tidemark-files(5)" files_explained

# ---- log ---------------------------------------------------------------------

# Of lines about mail: NAME=, in the order that they come.
log_explained()
{
	sed -n 's/^\.It Li \([a-z_]*=\).*/\1/p; s/^\.Li \([a-z_]*=\).*/\1/p' \
		tools/man/tidemark-log.5 | sort -u >"$D/known"
	sed -n 's/^[^ ]* tidemark-milter[^ ]* //p' "$D/log" |
		grep -oE ' [a-z_]+=' | tr -d ' ' | sort -u >"$D/there"
	cat "$D/there"
	[ "$(wc -l <"$D/there")" -gt 15 ] || return
	grep -vxFf "$D/known" "$D/there"
	[ $? -eq 1 ]
}
check "every field of the log is in tidemark-log(5)" log_explained

tap_end
