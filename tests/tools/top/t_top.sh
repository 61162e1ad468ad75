#!/bin/sh
# t_top - the live monitor in a terminal of its own (tmux): keys are typed, the
# screen is read, in both locales and several sizes.
#
# takes: 31s
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

command -v tmux >/dev/null || tap_skip "tidemark top" "no tmux"

sender=hanna.bjork@harbour.example
key="$sender|192.0.2.0/24"

backslash=$(printf '\134')

# ---- a terminal --------------------------------------------------------------

tm()
{
	LC_ALL=C.UTF-8 tmux -u -S "$D/tmux" -f /dev/null "$@"
}

end()
{
	[ -z "${held:-}" ] || kill "$held" 2>/dev/null
	tm kill-server 2>/dev/null
	daemon_end
}
trap end EXIT

# top NAME WIDTH HEIGHT LOCALE [ARGUMENT...] - in a terminal of that size.
top()
{
	on=$1 size="-x $2 -y $3" locale=$4
	shift 4
	# shellcheck disable=SC2086 # words, by intent
	tm new-session -d -s "$on" $size "env LC_ALL=$locale ${colors:-} \
		'$B/tidemark' -c '$conf' top $*; echo \"ended with \$?\"; \
		exec sleep 600"
}

# keys KEY... - as tmux names them.
keys()
{
	tm send-keys -t "$on" "$@"
}

screen()
{
	tm capture-pane -p -t "$on" "$@"
}

# shows TEXT - somewhere on the screen; lines N TEXT: on so many lines.
shows()
{
	screen | grep -F -- "$1" || {
		screen
		return 1
	}
}

hides()
{
	screen >"$D/screen"
	! grep -F -- "$1" "$D/screen"
}

patience=${PATIENCE:-30}

sees()
{
	within "$patience" shows "$1"
}

misses()
{
	within "$patience" hides "$1"
}

resize()
{
	tm resize-window -t "$on" -x "$1" -y "$2"
}

# ---- before there is a daemon ------------------------------------------------

daemon_conf "max_decisions = 64" \
	"[profile external]" "socket = local:$D/run/external.sock" \
	"oksender_mode = enforce" "oksender_limit = 100/1h" \
	"oksender_leak = 1min" "okip_mode = dry-run"
sed -n '1,/^Hanna$/p' tests/demo/sample.mbox >"$D/one.mbox"

one()
{
	"$FEED" -s "local:$D/run/external.sock" -n "$@" "$D/one.mbox"
}

top utf8 80 24 C.UTF-8 -d 0.25
check "without a daemon it waits" sees "waiting for the daemon"
check "in batch not for ever" exits 2 tidemark top -1 --wait 1s
check "a daemon starts" daemon_start || exit 1
check "and is found" sees "at work"
check "an empty map has no rows" sees "nothing here now"

# ---- levels ------------------------------------------------------------------

one 5 >/dev/null
feed -n 39 >/dev/null
check "buckets are shown" sees "hanna.bjork@"
check "with group, level and depth" sees "6/40"
check "with their rate" sees "/min"
check "a bar" sees "█"
check "the water is pictured" sees "of all groups, by how full"
keys Right
check "of one group, too" sees "of OKSENDER, by how full"
keys Left p
check "or not at all" misses "by how full"
keys p "$backslash" 'hanna' Enter
check "a filter is told" sees '\hanna'
check "and hides the others" misses "tomas@"
keys F4 Enter
check "an empty one shows all" sees "tomas@"
keys / harbour Enter
key_is_selected()
{
	# reversed on this row only, below the names of the views
	screen -e | grep -a 'hanna' | grep -aF '[7m'
}
check "a search selects" within 30 key_is_selected
keys / nobody Enter
check "or says that there is none" sees "«nobody» is in no row"
keys '<'
check "sorted by another column" sees "KEY+"
keys '>' I
check "and the other way round" sees "FULL+"
keys I
keys +
check "more often" sees "0.125s"
keys - -
check "less often" sees "0.5s"
keys / tomas Enter
selected_is()
{
	screen -e | grep -aF "$1" | grep -aF '[7m'
}
check "a row is selected" within "$patience" selected_is tomas@
sed 's/hanna\.bjork/olaf/' "$D/one.mbox" >"$D/other.mbox"
"$FEED" -s "local:$D/run/external.sock" -n 5 "$D/other.mbox" >/dev/null
check "another moves above it" sees olaf@
check "it stays selected" within "$patience" selected_is tomas@
keys g
keys ' '
check "paused" sees PAUSED
keys z
check "and on again" misses PAUSED

# ---- a ban -------------------------------------------------------------------

one 40 >/dev/null
check "it was banned" within 30 tidemark banned "$sender"
keys 2
check "bans: who" sees hanna.bjork@
check "why" sees OKSENDER
check "for how long" sees "min"
keys g Enter
check "Enter says what why says" sees "is banned for another"
check "with its decisions" sees "Last decisions:"
whole_words()
{
	screen | grep -E '^    (stage|client)=' # a line that goes on is set in
}
check "lines break between words" within "$patience" whole_words
keys G
check "G goes to its end" sees "Decisions are known since"
keys q
check "and back" sees "ban standing"
keys u
check "u asks" sees "Lift the ban on $key?"
keys n
check "no means no" sees "nothing was changed"
check "the ban stands" exits 0 tidemark banned "$sender"
keys u y
check "yes lifts it" sees "$key is no longer banned"
check "so says the daemon" exits 1 tidemark banned "$sender"
check "and the view" sees "0 bans standing"

one 2 >/dev/null
keys 1 "$backslash" hanna Enter
check "a bucket again" sees "hanna"
keys r
check "r asks" sees "Empty the OKSENDER bucket of $key?"
keys y
check "and it is emptied" sees "emptied 1 bucket of $key"
none_left()
{
	tidemark bucket list | lacks hanna -
}
check "so says the daemon again" none_left
keys "$backslash" Enter

# ---- the other views ---------------------------------------------------------

"$FEED" -s "local:$D/run/external.sock" -c 1 -m 100000 -r 2 -n 0 --quiet \
	tests/demo/sample.mbox >/dev/null 2>&1 &
held=$!
keys 3
check "flow: by profile and action" sees "external   accepted"
check "latency by stage" sees "eom"
latency_is_known()
{
	screen | grep -E 'external +rcpt +[1-9][0-9]* +[0-9.]+ us'
}
check "with percentiles" within "$patience" latency_is_known
check "sparks" sees "█"
keys Tab
check "memory: windows" sees "senders"
check "false positives" sees "FALSE YES"
keys 5
check "workers: whom it serves" sees "192.0.2.25"
check "at what" sees "wait"
keys Enter
check "asking about a worker is asking about its client" sees "in OKIP"
keys q 6
check "map: regions" sees "decisions"
check "files" sees "archive.mdb"
keys G
check "the collector's books" sees "posts_malformed"
keys '?'
check "help" sees "it only reads"
keys PageDown q F1
check "help again" sees "it only reads"
keys Escape
check "and back to where one was" sees "posts_malformed"

# ---- sizes -------------------------------------------------------------------

keys 1
check "levels again" sees tomas@
check "no room for the profile" hides PROFILE
resize 200 50
check "200x50: it is there" sees PROFILE
whole_key()
{
	shows "tomas@example.org|192.0.2.0/24"
}
check "and so are whole keys" within "$patience" whole_key
resize 30 6
check "30x6: something is left" sees tidemark
check "and the view's name" sees "1 Levels"
resize 80 4
keys G
check "80x4: no room for rows" misses tomas@
resize 1 1
resize 80 24
keys g
check "and room again" sees tomas@
resize 80 24
check "80x24 again" misses PROFILE
check "no line is too long" test "$(screen | wc -L)" -le 80

# ---- a new daemon, a new map -------------------------------------------------

kill "$held"
held=
keys 1
daemon_stop
check "a daemon that is stopped is missed" sees "THE DAEMON IS NOT AT WORK"
rm -f "$D/run/live.mdb"*
check "a daemon starts again, with a new map" daemon_start
check "which is followed" misses "NOT AT WORK"
"$FEED" -s "local:$D/run/external.sock" -n 2 --client 198.51.100.9 \
	"$D/one.mbox" >/dev/null
keys "$backslash" 198.51.100.9 Enter
check "and read" sees "OKIP"
keys q
check "q ends it in good order" sees "ended with 0"

# ---- without UTF-8, without colour, without rights ---------------------------

top ascii 80 24 C --readonly -d 0.25
check "in the C locale it is drawn, too" sees "tomas@"
is_ascii()
{
	screen >"$D/screen"
	! LC_ALL=C grep -a '[^ -~]' "$D/screen"
}
check "with letters" sees "##"
check "and nothing else" is_ascii
keys 1 u
check "--readonly: u does nothing" sees "nothing is changed from here"
keys F10
check "F10 ends it" sees "ended with 0"

colored()
{
	screen -e | LC_ALL=C grep -a '\[[0-9;]*3[0-7]m'
}
top color 80 24 C.UTF-8 -d 0.25
check "there is colour" within "$patience" colored
check "it is drawn" sees tomas@
keys q
check "q" sees "ended with 0"
colors=NO_COLOR=1
top plain 80 24 C.UTF-8 -d 0.25
check "with NO_COLOR" sees tomas@
check "there is none" fails colored
tm send-keys -t plain C-c
check "Ctrl-C ends it, too" sees "ended with 0"
colors=
top quit 80 24 C.UTF-8 -d 600
check "one that looks rarely" sees "600s"
keys + + + + + + + + + + +
check "looks often when told so" sees "0.293s"
seen=$(screen | head -n 1)
another_second()
{
	[ "$(screen | head -n 1)" != "$seen" ]
}
check "at once" within "$patience" another_second
keys "C-$backslash"
check "SIGQUIT ends it in good order" sees "ended with 0"
tm new-session -d -s jobs -x 80 -y 24 "env LC_ALL=C.UTF-8 sh -im"
on="jobs"
keys "'$B/tidemark' -c '$conf' top" Enter
check "under a shell" sees tomas@
keys C-z
check "Ctrl-Z stops it" sees Stopped
keys "stty -a" Enter
check "and gives the terminal back" sees " icanon"
keys clear Enter fg Enter
check "fg goes on" sees "tomas@"
keys q
check "to the end" misses "tomas@"
colors=TERM=dumb
top dumb 80 24 C.UTF-8
check "one that can only write lines" sees "cannot be drawn on"
check "is an error" sees "ended with 2"
# what libtinfo leaks then, and what hangs in LeakSanitizer when a signal comes
# late, is not ours
colors="TERM=nonsense ASAN_OPTIONS=detect_leaks=0"
top nowhere 80 24 C.UTF-8
check "a terminal that nobody knows" sees "cannot be drawn on"
check "is an error" sees "ended with 2"

colors=ASAN_OPTIONS=detect_leaks=0
top closed 80 24 C.UTF-8 -d 0.25
check "another one" sees tomas@
none_runs()
{
	! grep -lz "^$conf\$" /proc/[0-9]*/cmdline 2>/dev/null |
		xargs -r grep -lzx top 2>/dev/null | grep .
}
check "runs" fails none_runs
tm kill-session -t closed
check "ends with its terminal" within "$patience" none_runs

# ---- batch -------------------------------------------------------------------

batch()
{
	tidemark top "$@" >"$D/batch"
}
check "batch: two samples" batch -b -n 2 -d 0.2
check "of them" same "$(grep -c '^tidemark ' "$D/batch")" 2
check "with the level" grep '2/40' "$D/batch"
check "without a terminal there is no screen" exits 2 tidemark top
check "a filter" batch -1 -F 198.51
check "works there, too" lacks 192.0.2 "$D/batch"
check "sorted by key" batch -1 -s key
check "an unknown column" exits 2 tidemark top -1 -s nonsense
tidemark top -1 -s nonsense 2>"$D/err"
check "is told those that there are" grep 'columns are profile group key' "$D/err"
check "a bad interval" exits 2 tidemark top -1 -d 0
check "a bad view" exits 2 tidemark top -1 --view nonsense

# A steady sender's rate is soon the one that the history of the map tells.
rate_is_right()
{
	"$FEED" -s "local:$D/run/external.sock" -c 1 -m 1000 -r 8 -n 0 \
		--client 198.51.100.20 --quiet tests/demo/sample.mbox \
		>/dev/null 2>&1 &
	held=$!
	batch -b -n 9 -d 1 --json
	kill "$held"
	held=
	perl -MJSON::PP -e 'while (<STDIN>) {
			my $r = decode_json($_);
			$mail = $r->{mail_per_s} if $r->{type} eq "state";
			$rate = $r->{rate} if ($r->{key} // "") eq
			    "198.51.100.20";
		}
		print "rate $rate, mail $mail\n";
		exit !($rate > 0.6 * $mail && $rate < 1.6 * $mail)' <"$D/batch"
}
check "a rate is right after some seconds" rate_is_right

# Thirty at once, then silence: on the way up for a moment, and no longer.
burst_is_over()
{
	{
		sleep 3
		"$FEED" -s "local:$D/run/external.sock" -m 30 -n 30 \
			--client 198.51.100.21 --quiet tests/demo/sample.mbox
	} >/dev/null 2>&1 &
	held=$!
	batch -b -n 16 -d 1 --json
	wait "$held"
	held=
	perl -MJSON::PP -ne '$r = decode_json($_);
		push @s, $r->{state} if ($r->{key} // "") eq "198.51.100.21";
		END { print "@s\n"; exit !(grep($_ eq "rising", @s) &&
		    $s[-1] eq "leaking") }' <"$D/batch"
}
check "who has stopped is not rising any more" burst_is_over

# valid VIEW TYPE... - each line is a record, and these types are among them.
valid()
{
	batch -1 --json --view "$1" || return
	shift
	perl -MJSON::PP -e 'while (<STDIN>) {
			my $r = decode_json($_);
			$r->{version} == 1 or die "no version: $_";
			my @keys = /"(\w+)":/g;
			@keys == keys %$r or die "a key stands twice: $_";
			$seen{$r->{type}}++;
		}
		$seen{$_} or die "no $_\n" for @ARGV' "$@" <"$D/batch"
}
"$FEED" -s "local:$D/run/external.sock" -c 1 -m 100000 -r 2 -n 0 --quiet \
	tests/demo/sample.mbox >/dev/null 2>&1 &
held=$!
check "a ban to be seen" tidemark ban 203.0.113.7 --reason test
check "JSON: levels" valid levels state level water
check "bans" valid bans state ban
check "flow" valid flow flow latency
check "memory" valid memory filter
check "workers" within 30 valid workers worker
check "map" valid map region book
check "a full disk is noticed" fails sh -c \
	"'$B/tidemark' -c '$conf' top -b -n 3 -d 0.2 >/dev/full"
check "in JSON, too" fails sh -c \
	"'$B/tidemark' -c '$conf' top -1 --json --view map >/dev/full"

# ---- a map that is damaged, or cut short -------------------------------------

kill "$held"
held=
daemon_stop
cp "$D/run/live.mdb" "$D/whole"
# All but the head of the regions is what a terminal must never be sent.
damage()
{
	tidemark dump --live |
		sed -n 's/^region name=\(.*\) offset=\(.*\) length=\([0-9]*\) .*/\1 \2 \3/p' |
		perl -e 'open my $f, "+<", $ARGV[0] or die;
			for (<STDIN>) {
				my ($name, $at, $length) = split;
				my $keep = $name eq "control" ? 1024 : 0;
				seek $f, $at + $keep, 0;
				print $f substr("\xc2\x9b\e[2J\a\x9b\xff" x
				    ($length / 9 + 1), 0, $length - $keep);
			}' "$D/run/live.mdb"
}
is_harmless()
{
	"$@" >"$D/shown" 2>&1
	[ $? -le 2 ] || return
	! LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$D/shown"
}
check "a map full of escape sequences" damage
for view in levels bans flow memory workers map; do
	check "is shown, harmless: $view" is_harmless tidemark top -1 --view $view
	check "and as JSON" is_harmless tidemark top -1 --json --view $view
done
check "tail" is_harmless tidemark tail --once -n 100000
check "why" is_harmless tidemark why 192.0.2.25
check "banned" is_harmless tidemark banned
check "bucket list" is_harmless tidemark bucket list

cp "$D/whole" "$D/run/live.mdb"
colors=
top cut 80 24 C.UTF-8 -d 0.25
check "a map without a daemon" sees "THE DAEMON IS NOT AT WORK"
tidemark tail >"$D/tail" 2>&1 &
tail=$!
truncate -s 8192 "$D/run/live.mdb"
check "that is cut short" sees "is truncated"
check "is an error to tail" fails wait "$tail"
check "which says so" grep "is truncated" "$D/tail"
cp "$D/whole" "$D/run/live.mdb"
check "whole again, it is read again" misses "is truncated"
keys q
check "and all is in good order" sees "ended with 0"

tap_end
