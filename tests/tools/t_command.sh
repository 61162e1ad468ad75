#!/bin/sh
# t_command - what holds for every subcommand: JSON records, a full disk, help,
# colour, completion; and the metrics, read by a parser of their format.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

daemon_conf "[profile external]" "socket = local:$D/run/external.sock" \
	"oksender_mode = enforce" "oksender_limit = 500/1h" \
	"oksender_leak = 10s" "okip_mode = dry-run" "cbip_mode = dry-run"
check "a daemon starts" daemon_start || exit 1
feed -n 39 >"$D/feed"
check "mail came" test "$(counter accepted)" -gt 20
known()
{
	tidemark bucket list | grep hanna
}
check "and was counted" within 30 known

# ---- each subcommand, as it is called so that it has something to say --------

# In this order: what one makes, the next one finds.
cat >"$D/calls" <<-END
	status
	query --from hanna.bjork@harbour.example
	why hanna.bjork@harbour.example
	tail --once
	replay tests/demo/sample.mbox
	dump
	counters
	configtest
	config
	reload
	bypass on --for 1s
	seal
	checkpoint
	ban 203.0.113.7 --for 1h
	banned
	unban 203.0.113.7
	bucket list
	report content-blocked --sender x@example.net --ip 203.0.113.8
	audit
	size leaky --limit 100/1h
	normalise --text invoice
	addresses stats
	except add x@example.net
	egress deny add 198.51.100.0/24
	bulk stats
	spam stats
	export --key
	merge $D/feed
	top -1
	metrics
	completion bash
	setup sendmail
	backup $D/backup
	restore --check $D/backup
	forget hanna.bjork@harbour.example
	help
END

all_are_here()
{
	cut -d' ' -f1 "$D/calls" | sort >"$D/called"
	"$B/tidemark" --help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' | sort |
		diff "$D/called" -
}
check "every subcommand is tried here" all_are_here

# call WORD... - with $how added.
call()
{
	[ "$1" != unban ] || tidemark ban 203.0.113.7 >/dev/null
	[ "$1" != backup ] || rm -rf "$2"
	# shellcheck disable=SC2086 # words, by intent
	tidemark "$@" ${how:-}
}

records()
{
	how=--json
	call "$@" >"$D/out"
	[ $? -le 1 ] || return 1
	[ -s "$D/out" ] || return 1
	perl -MJSON::PP -ne '$r = decode_json($_);
		ref $r eq "HASH" && $r->{version} == 1 && $r->{type} or
			die "no record: $_"' "$D/out"
}

fills_the_disk()
{
	how=
	[ "$1" != merge ] || how=--json # a refusal has no other output
	call "$@" >/dev/full 2>"$D/err"
	same "exit status $?" "exit status 2" &&
		grep 'cannot write the output' "$D/err"
}

plain()
{
	how=
	NO_COLOR=1 call "$@" >"$D/out" 2>&1
	lacks "$(printf '\033')" "$D/out"
}

while read -r line; do
	# shellcheck disable=SC2086 # words, by intent
	set -- $line
	check "JSON: $line" records "$@"
	check "a full disk: $line" fills_the_disk "$@"
	check "no colour: $line" plain "$@"
done <"$D/calls"

colored()
{
	tidemark --color=always status | grep "$(printf '\033')"
}
check "--color=always" colored
check "nonsense is refused" exits 2 tidemark --color=nonsense status
suggests()
{
	tidemark "$1" 2>"$D/err"
	same "exit status $?" "exit status 2" && grep "did you mean $2?" "$D/err"
}
check "a slip is understood" suggests stauts status
check "another" suggests tpo top

listed_in_the_manual()
{
	sed -n '/^\.Sh SUBCOMMANDS/,/^\.Sh OPTIONS/s/^\.It Cm \([a-z]*\).*/\1/p' \
		tools/tidemark.1 | sort | diff "$D/called" -
}
check "tidemark(1) lists every subcommand" listed_in_the_manual

# ---- what somebody else wrote --------------------------------------------------

# Quotes, a newline's escape, control characters, half a character of UTF-8 and
# a whole one: what was said has to come out again, as JSON.
hostile=$(printf 'a"b\\c\001\033[31m\t\377\303\244\302')
wanted=$(printf 'a"b\\c\001\033[31m\t\357\277\275\303\244\357\277\275')

# says_back FIELD WORD... - with --json, some record has it in that field.
says_back()
{
	field=$1
	shift
	tidemark "$@" --json >"$D/out"
	[ $? -le 1 ] || return 1
	WANT=$wanted perl -MJSON::PP -MEncode -e '$field = shift;
		while (<>) {
			$r = decode_json($_);
			$v = encode("UTF-8", $r->{$field} // "");
			$found = 1 if index($v, $ENV{WANT}) >= 0;
		}
		exit !$found' "$field" "$D/out" || {
		cat -v "$D/out"
		return 1
	}
}

mv "$D/feed" "$D/$hostile"
check "a hostile name of a file" says_back file merge "$D/$hostile"
mv "$D/$hostile" "$D/feed"
mkdir "$D/$hostile"
check "of a folder" says_back dir backup "$D/$hostile/backup"

# ---- metrics -----------------------------------------------------------------

cat >"$D/prometheus.pl" <<'END'
# Prometheus text format 0.0.4: complain about everything that is not.
use strict;
my (%type, %help, %seen, %done, $family, %bucket, %count, %sum, %value);
sub bad { die "line $.: $_[0]\n" }
while (<STDIN>) {
	/\n$/ or bad "has no end";
	chomp;
	if (/^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/) {
		my ($what, $name, $text) = ($1, $2, $3);
		if ($what eq 'HELP') {
			$help{$name}++ and bad "second HELP";
			$text ne '' or bad "empty HELP";
			$family and $done{$family}++;
			$family = $name;
		} else {
			$type{$name} and bad "second TYPE";
			$name eq $family or bad "TYPE without HELP";
			$text =~ /^(counter|gauge|histogram)$/ or bad "TYPE $text";
			$text ne 'counter' or $name =~ /_total$/ or
				bad "a counter ends in _total";
			$type{$name} = $text;
		}
		next;
	}
	/^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/ or bad "no sample: $_";
	my ($name, $labels, $value) = ($1, $2 // '', $3);
	$seen{"$name\{$labels}"}++ and bad "twice";
	$value =~ /^(?:[+-]?Inf|NaN|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/ or
		bad "no number: $value";
	# 0.1, not 0.10000000000000001: the shortest that is the same
	$value !~ /\./ or $value + 0 != sprintf('%.15g', $value) or
		length $value <= length sprintf('%.15g', $value) or
		bad "longer than it need be: $value";
	my %label;
	my $rest = $labels;
	while ($rest =~ s/^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)//) {
		$label{$1} = $2;
	}
	$rest eq '' or bad "labels: $rest";
	for my $l (keys %label) {
		$l =~ /^(profile|group|stage|filter|le|version)$/ or
			bad "label $l";
		$l eq 'version' || $l eq 'le' ||
			$label{$l} !~ /@|\d+\.\d+\.\d+|:/ or bad "an address?";
	}
	(my $base = $name) =~ s/_(bucket|sum|count)$//;
	$base = $name unless ($type{$base} // '') eq 'histogram';
	$base eq $family or bad "outside of its family";
	$done{$base} and bad "its family was ended";
	$value{$name} += $value;
	next unless $type{$base} eq 'histogram';
	my $le = delete $label{le};
	my $key = join ',', map { "$_=$label{$_}" } sort keys %label;
	if ($name =~ /_bucket$/) {
		defined $le or bad "a bucket without le";
		push @{$bucket{$key}}, [$le, $value];
	} elsif ($name =~ /_count$/) {
		$count{$key} = $value;
	} else {
		$sum{$key} = $value;
	}
}
for my $key (keys %bucket) {
	my ($le, $n) = (-1, 0);
	for (@{$bucket{$key}}) {
		my $this = $_->[0] eq '+Inf' ? 9e99 : $_->[0];
		# whole microseconds: a rounded bound would count too much
		$this == 9e99 or abs($this * 1e6 - sprintf('%.0f', $this * 1e6))
			< 1e-6 or die "$key: le $_->[0] is rounded\n";
		$this > $le or die "$key: le $_->[0] comes too late\n";
		$_->[1] >= $n or die "$key: le $_->[0] is less than before\n";
		($le, $n) = ($this, $_->[1]);
	}
	$le == 9e99 or die "$key: no +Inf\n";
	$n == $count{$key} or die "$key: +Inf is not _count\n";
	defined $sum{$key} or die "$key: no _sum\n";
}
%bucket or die "no histogram\n";
for (@ARGV) {
	my ($name, $want) = split /=/;
	defined $value{$name} or die "no $name\n";
	!defined $want or $value{$name} == $want or
		die "$name is $value{$name}, not $want\n";
}
END

metrics()
{
	tidemark metrics >"$D/metrics" &&
		perl "$D/prometheus.pl" "$@" <"$D/metrics"
}
check "metrics are what Prometheus reads" metrics
# shellcheck disable=SC2046 # words, by intent
check "every counter is there" metrics $(tidemark counters --json |
	sed 's/.*"name":"\([^"]*\)".*/tidemark_\1_total/')
check "with its value" metrics \
	"tidemark_messages_total=$(counter messages)" \
	"tidemark_recipients_total=$(counter recipients)" \
	tidemark_collector_up=1 tidemark_acceptor_up=1 tidemark_workers=0 \
	tidemark_bans=0
eom_count()
{
	grep '^tidemark_callback_seconds_count.*"eom"' "$D/metrics" |
		grep " $(counter messages)\$"
}
check "each end of message was timed" eom_count
check "no sender is in it" lacks harbour "$D/metrics"
check "without a map it is an error" exits 2 "$B/tidemark" --root "$D/no" metrics

# ---- completion --------------------------------------------------------------

tidemark completion bash >"$D/tidemark.bash"
check "bash takes the script" bash -n "$D/tidemark.bash"
check "and it is the one that is built" diff "$D/tidemark.bash" "$B/tidemark.bash"

# completes 'LINE' WORD... - typing LINE and then Tab offers these words, and
# completes_to: none else.
offered()
{
	bash -c '
		. "$1"
		line=$2
		case $line in
		*:=*) line=${line//:=/=} ;; # COMP_WORDBREAKS without =
		*) line=${line//=/ = } ;;
		esac
		read -r -a COMP_WORDS <<<"$line"
		case $line in *" " | *=) COMP_WORDS+=("") ;; esac
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_tidemark
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$D/tidemark.bash" "$1" | sort -u
}

completes()
{
	offered "$1" >"$D/offered"
	shift
	for word; do
		grep -qx -e "$word" "$D/offered" || {
			echo "no $word in"
			cat "$D/offered"
			return 1
		}
	done
}

completes_to()
{
	same "$(offered "$1" | tr '\n' ' ')" "$2 "
}

# shellcheck disable=SC2046 # words, by intent
check "every subcommand is offered" completes "tidemark " $(cat "$D/called")
check "a part of one is completed" completes_to "tidemark sta" status
check "behind options, too" completes_to "tidemark --root x --json met" metrics
check "help of what there is" completes_to "tidemark help conf" "config configtest"
check "words of a subcommand" completes "tidemark bypass " on off status --for
check "that begin like its name" completes "tidemark addresses " add del test
check "its options" completes_to "tidemark query --fr" --from
check "those of all" completes "tidemark query --" --json --config --color
check "values of an option" completes_to "tidemark bucket list --sort " "key level"
check "of another" completes_to "tidemark top --view m" "map memory"
check "of all" completes_to "tidemark --color=a" "always auto"
check "after it, subcommands again" completes_to "tidemark --color=auto sta" status
check "files are left to the shell" completes_to "tidemark -c " ""
check "behind an option of its own, too" completes_to \
	"tidemark query --file " ""
check "and as the argument" completes_to "tidemark merge " ""
check "of one of its words" completes_to "tidemark spam report " ""
check "of the second" completes_to "tidemark egress deny import " ""
check "options are there all the same" completes_to "tidemark merge --js" --json
check "what nobody can know is not guessed" completes_to \
	"tidemark query --from " ""
check "where = is no end of a word" completes_to "tidemark --color:=al" \
	--color=always

options_of()
{
	"$B/tidemark" "$1" --help | grep -oE -e '--[a-z][a-z-]+' | sort -u
}
all_options()
{
	while read -r name; do
		# shellcheck disable=SC2046 # words, by intent
		completes "tidemark $name -" $(options_of "$name") || return
	done <"$D/called"
}
check "every option of every subcommand" all_options

tap_end
