#!/bin/sh
# t_web - tidemark-web over TCP and through a file: every route, who is turned
# away, what is masked, and a daemon that goes and comes.
#
# With WEB=PROGRAM another build of it is tried (a sanitizer's).
#
# takes: 8s
# shellcheck disable=SC2016 # perl, by intent
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh
. tests/tools/web/web.sh

command -v curl >/dev/null || tap_skip "tidemark-web" "no curl"

sender=sales@example.org
profiles='[profile external]
daemons = MTA-ext
oksender_mode = dry-run
oksender_limit = 780/1h
oksender_leak = 5s'

# ---- settings ----------------------------------------------------------------

says_and_exits()
{
	code=$1 words=$2
	shift 2
	"$@" >"$D/said" 2>&1
	same "exit status $?" "exit status $code" && cat "$D/said" &&
	    grep -qF -- "$words" "$D/said"
}

daemon_conf "$profiles"
check "without web_listen nothing is served" says_and_exits 78 \
	"web_listen is empty" "$WEB" -c "$conf" --allow-root
for place in 0.0.0.0:9190 192.0.2.1:9190 '[::]:9190' '[2001:db8::1]:80' \
	'[::ffff:127.0.0.1]:80'; do
	daemon_conf "log_level = info" "web_listen = $place"
	check "web_listen = $place is refused, by file and line" \
		says_and_exits 78 "$conf:5: web_listen: «$place» can be reached" \
		"$WEB" -c "$conf" --allow-root
done
check "configtest says so, too" says_and_exits 1 "$conf:5: web_listen" \
	tidemark configtest
for place in 127.0.0.1 127.0.0.1:x 127.0.0.1:70000 localhost:80 unix:here \
	unix: '[::1]' ::1:80; do
	daemon_conf "web_listen = $place"
	check "web_listen = $place is no place" says_and_exits 78 \
		"$conf:4: web_listen" "$WEB" -c "$conf" --allow-root
done
if [ "$(id -u)" -eq 0 ]; then
	daemon_conf "web_listen = 127.0.0.1:0"
	check "it will not run as root" says_and_exits 77 "--user NAME" \
		"$WEB" -c "$conf"
	check "nor become root" says_and_exits 64 "somebody else" \
		"$WEB" -c "$conf" --user root
	check "nor somebody who is not there" says_and_exits 67 "no such user" \
		"$WEB" -c "$conf" --user no-such-user-here
	becomes_nobody()
	{
		root='' && web_start --user nobody &&
		    awk '/^[UG]id:/ && ($2 + $3 + $4 + $5 == 0) { exit 1 }' \
			"/proc/$web_pid/status"
	}
	check "but it drops to another user for good" becomes_nobody
	root=--allow-root
	mkdir -p "$D/run" && : >"$D/run/map" && chmod 0600 "$D/run/map"
	check "who may not read the map, and says so" same \
		"$(state '$s->{at_work} . $s->{trouble}')" \
		"0the live map cannot be read"
	check "and why" eval 'state "\$s->{why}" | grep -q "run/map: "'
	check "in the page, too" eval 'get / | grep -q "cannot be read: .*run/map"'
	rm -f "$D/run/map"
	web_stop
fi
check "output that cannot be written fails" fails sh -c \
	"'$WEB' --help >/dev/full 2>/dev/null"

# ---- before there is a daemon ------------------------------------------------

daemon_conf "web_listen = 127.0.0.1:0" "$profiles"
check "it starts without a daemon" web_start
is_away()
{
	same "$(state '$s->{at_work} . $s->{attached} . $s->{trouble}')" \
		"00the daemon is not running"
}
check "and says that there is none" is_away
check "in the page, too" eval 'get / | grep -q "the daemon is not running"'
check "there are no metrics then" answers 503 get /metrics
check "and nothing to export" answers 503 get /export/levels.csv
check "nobody to ask" answers 503 post from=a@example.org
check "which it says" grep -q 'is tidemarkd running' "$D/body"

check "the daemon comes" daemon_start
at_work()
{
	same "$(state '$s->{at_work} . $s->{trouble}')" 1
}
check "and it is seen by itself" within 30 at_work
feed -n 60 -c 2 >"$D/fed" 2>&1
fed()
{
	[ "$(state '$s->{flow}[0]{total}')" -ge 60 ]
}
check "mail is counted" within 30 fed

# ---- routes ------------------------------------------------------------------

check "the page" answers 200 get /
is_type()
{
	get "$1" -o /dev/null -w '%{content_type}' | grep "^$2"
}
check "is HTML" is_type / 'text/html; charset=utf-8'
check "with a summary for those without scripts" eval \
	'get / | sed -n "/<noscript>/,/<\/noscript>/p" | grep -q "Nearest to a ban"'
assets()
{
	grep -oE '(src|href)="/[a-z]+\.[a-z]+"' tools/web/page/page.html |
		sed 's/.*"\(.*\)"/\1/' | sort -u
}
for asset in $(assets); do
	check "$asset is served as it is" eval \
		"get $asset | cmp - tools/web/page$asset"
done
no_others()
{
	! grep -nE "https?://|//[a-z]+\.|url\(|@import|eval\(|innerHTML|style=" \
		tools/web/page/page.html tools/web/page/*.css tools/web/page/*.js |
		grep -v 'www.w3.org/2000/svg'
}
check "nothing in it is from elsewhere" no_others
check "the state is JSON of version 1" same \
	"$(state '$s->{version} . $s->{type}')" 1state
check "with the eight actions of flow" same \
	"$(state 'scalar @{$s->{flow}}')" 8
check "and what is in the water" eval \
	'[ "$(state "\$s->{groups}[0]{buckets}")" -gt 5 ]'
head_like_get()
{
	get "$1" -I | tr -d '\r' | grep -v '^Date' >"$D/head" &&
		get "$1" -D - -o "$D/body" | tr -d '\r' | grep -v '^Date' \
			>"$D/got" && diff "$D/head" "$D/got"
}
check "HEAD is GET without a body" head_like_get /page.css
check "of a page" answers 200 get / -I
# two requests on one connection; a body that HEAD has not would lie between
head_has_no_body()
{
	printf 'HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$1" |
		perl -MIO::Socket::INET -e '
		my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1",
			PeerPort => $ARGV[0]) or die;
		print $s <STDIN>, "GET /icon.svg HTTP/1.1\r\n",
			"Host: localhost\r\nConnection: close\r\n\r\n";
		$s->flush;
		local $/; my ($head, $rest) = split /\r\n\r\n/, <$s>, 2;
		print "$head\n-\n$rest";
		exit($head =~ /^HTTP/ && $rest =~ /^(HTTP.* 200 .*<svg.*)?$/s
			? 0 : 1)' "${page##*:}"
}
for path in / /state.json /metrics /page.css /export/levels.csv \
	/export/bans.ndjson /nothing /ask; do
	check "HEAD $path has no body" head_has_no_body "$path"
done
check "nothing else is here" answers 404 get /nothing
for path in /page.html /index.html /tools/web/page/page.css \
	/export/ /export/nothing.csv /export/levels /export/levels.xml; do
	check "$path is nothing, too" answers 404 get "$path"
done
check "nor above it" answers 404 get /../etc/passwd --path-as-is
allows()
{
	allow=$1
	shift
	same "$(status "$@" -D "$D/head")" 405 &&
		grep -qi "^Allow: $allow" "$D/head"
}
check "a page is not posted to" allows GET post_to /state.json x
check "nor deleted" allows GET get / -X DELETE
check "nor asked for its options" allows GET get / -X OPTIONS
check "a question is no GET: it would stand in a URL" allows POST \
	get '/ask?from=a@example.org'

for path in / /state.json /metrics /page.js /export/levels.csv /nothing; do
	get "$path" -D "$D/head" -o /dev/null
	for header in \
		"Content-Security-Policy: default-src 'none'" \
		'X-Content-Type-Options: nosniff' \
		'Referrer-Policy: no-referrer' \
		'Cache-Control: no-store' \
		'Cross-Origin-Resource-Policy: same-origin'; do
		check "$path has ${header%%:*}" grep -qiF "$header" "$D/head"
	done
done
check "nobody may frame it" grep -q "frame-ancestors 'none'" "$D/head"

# ---- metrics -----------------------------------------------------------------

# Names and labels in their order, without values.
names()
{
	sed '/^#/!s/ [^ ]*$//'
}
same_metrics()
{
	tidemark metrics | names >"$D/ours" && get /metrics | names >"$D/theirs" &&
		[ "$(wc -l <"$D/ours")" -gt 100 ] && diff "$D/ours" "$D/theirs"
}
check "/metrics is what tidemark metrics prints" same_metrics
check "as Prometheus wants it" is_type /metrics 'text/plain; version=0.0.4'

# ---- who is turned away ------------------------------------------------------

for host in localhost localhost:9 LOCALHOST 127.0.0.1 127.1.2.3:80 '[::1]' \
	'[::1]:443'; do
	check "Host: $host is us" answers 200 get / -H "Host: $host"
done
for host in evil.example localhost.evil.example 127.0.0.1.evil.example \
	evil.example:9190 192.0.2.1 127.0.0.1:x '127.0.0.1@evil.example' \
	'[::1].evil.example' 0.0.0.0 '' 'localhost:123456'; do
	check "Host: $host is not" answers 421 get / -H "Host: $host"
done
check "nor is none at all" answers 421 get / -0 -H 'Host:'
check "a name from elsewhere learns nothing" eval \
	'get /state.json -H "Host: evil.example" | grep -vq version'

q="from=$sender"
check "a question by nobody's page" answers 200 post "$q"
check "by our own" answers 200 post "$q" -H "Origin: $page" \
	-H 'Sec-Fetch-Site: same-origin'
check "by our own without scripts" answers 200 post "$q" -H "Origin: null" \
	-H 'Sec-Fetch-Site: same-origin'
for origin in http://evil.example null "$page.evil.example" \
	"http://localhost@evil.example" "https://evil.example/$page" ''; do
	check "by Origin: $origin" answers 403 post "$q" -H "Origin;" \
		-H "Origin: $origin"
done
for site in cross-site same-site none; do
	check "by Sec-Fetch-Site: $site" answers 403 post "$q" \
		-H "Sec-Fetch-Site: $site" -H "Origin: $page"
done

# ---- questions ---------------------------------------------------------------

head -c 50000 /dev/zero | tr '\0' x >"$D/long"
check "what is too long" answers 413 post "@$D/long"
check "in pieces, too" answers 413 post "@$D/long" \
	-H 'Transfer-Encoding: chunked'
check "to other paths, too" answers 413 post_to / "@$D/long"
letters()
{
	printf 'text=' && perl -e 'print "%E6%BD%AE" x 4000'
}
letters >"$D/letters"
check "4000 letters of any script are not" answers 200 post "@$D/letters"
check "what is no form" answers 415 post '{}' -H 'Content-Type: application/json'
for bad in 'from=%' 'from=%4' 'from=%zz' 'from=%00' 'from=a%07b'; do
	check "a bad form: $bad" answers 400 post "$bad"
done
check "nothing asked for" answers 400 post 'from=&to=&text=+%0a'
check "which it says" grep -q 'give a text, a sender or a recipient' "$D/body"
check "a time that is none" answers 400 post "$q&since=yesteryear"
check "which it says" grep -q 'since: ' "$D/body"
for none in tomas '*@b' 'not+an+address'; do
	check "what is no address: $none" answers 400 post "from=$none"
done
check "which it says" grep -q "is no address to ask for" "$D/body"
check "a phrase that is too short" answers 422 post 'text=too+short'
check "why is the daemon's own sentence" eval \
	'tidemark query --text "too short" 2>&1 | grep -qF "$(cat "$D/body")"'

# The same as the command says, but for the times in it.
like_query()
{
	body=$1
	shift
	tidemark query "$@" | sed 's/[0-9:]\{8\}/TIME/g' >"$D/ours"
	post "$body" | sed 's/[0-9:]\{8\}/TIME/g' >"$D/theirs"
	cat "$D/ours"
	[ -s "$D/ours" ] && diff "$D/ours" "$D/theirs"
}
check "a sender that passed" like_query "$q" --from "$sender"
check "is found" grep -q '^yes, probably' "$D/ours"
check "one that did not" like_query from=nobody@nowhere.example \
	--from nobody@nowhere.example
check "is certainly not" grep -q '^no: certainly not' "$D/ours"
check "a bare domain" like_query from=bookshop.example --from bookshop.example
check "is asked as one, and said so" grep -q 'was asked as @bookshop' "$D/ours"
check "a time before us" like_query \
	'from=nobody%40nowhere.example&since=2020-01-01' \
	--from nobody@nowhere.example --since 2020-01-01
check "is not covered" grep -q '^not found, but' "$D/ours"
phrase='Your account will be limited within 12 hours, unless you confirm your details.'
check "a phrase, quoted" like_query \
	"text=$(echo "$phrase" | tr ' ' +)" --text "$phrase"
check "is found" grep -q '^yes, probably' "$D/ours"
check "and with a sender that did not write it" like_query \
	"text=$(echo "$phrase" | tr ' ' +)&from=nobody@nowhere.example" \
	--text "$phrase" --from nobody@nowhere.example
check "is not" grep -q '^no: certainly not' "$D/ours"
check "an answer for scripts is NDJSON" eval \
	'post "$q" -H "Accept: application/x-ndjson" | head -n 1 |
	grep -q "^{\"version\":1,\"type\":\"answer\",\"verdict\":\"found\""'
check "mistakes are, too" eval \
	'post "to=" -H "Accept: application/x-ndjson" |
	grep -q "^{\"version\":1,\"type\":\"error\",\"text\":\"give"'
check "nor is what was typed, in a mistake" eval \
	'post "from=<script>alert(1)</script>" -H "Accept: text/html" \
	>"$D/body"; grep -q "is no address" "$D/body" &&
	lacks "<script>alert" "$D/body"'
post 'from="<script>alert(1)</script>"@x&since=1h' -H 'Accept: text/html' \
	>"$D/body"
check "an answer for a browser without scripts is the page" \
	grep -q '<pre>no: certainly not\|<pre>not found' "$D/body"
check "with nothing in it that was asked" lacks 'alert(1)</script>' "$D/body"
check "and nothing was logged" lacks "$sender\|nowhere\|account" "$D/web.log"

# ---- masks -------------------------------------------------------------------

feed -n 60 -c 2 >"$D/fed" 2>&1 # the first has leaked by now
tidemark ban '=cmd@evil.example' --reason "=2+5, says $sender of 192.0.2.77:25" \
	>/dev/null
tidemark ban 198.51.100.0/24 --reason '<b>"x"</b>, a=1' >/dev/null
tidemark ban '@bad.example' --reason '' >/dev/null
banned()
{
	same "$(state 'scalar @{$s->{banned}}')" 3
}
check "bans are seen" within 30 banned
sees_no_address()
{
	! get "$1" | grep -E 'sales@|cmd@|192\.0\.2|198\.51\.100'
}
for path in / /state.json /metrics /export/levels.csv /export/levels.ndjson \
	/export/bans.csv /export/bans.ndjson /export/windows.csv \
	/export/flow.csv; do
	check "no address in $path" sees_no_address "$path"
done
get /export/levels.csv >"$D/levels.csv"
check "but its mask" grep -q '"s\*\*\*s@example.org|192\.0\.\*\.\*"' \
	"$D/levels.csv"
get /export/bans.ndjson >"$D/bans"
check "a network's" grep -qF '"key":"198.51.*.*"' "$D/bans"
check "a reason's words" grep -qF \
	'"reason":"=2+5, says s***s@example.org of 1***5"' "$D/bans"
check "a domain stays" grep -qF '"key":"@bad.example"' "$D/bans"
check "markup in a reason is text in the page" eval \
	'get / | grep -qF "&lt;b&gt;&quot;x&quot;&lt;/b&gt;"'

# Of each cell: what a spreadsheet would take for a formula.
no_formula()
{
	get "$1" | perl -ne '
		s/\r\n//; $rows++;
		while (s/^(?:"((?:[^"]|"")*)"|([^",]*))(,|$)//) {
			my $cell = defined $1 ? $1 : $2;
			die "$_\n" if $cell =~ /^[=+\-@\t\r]/;
			last if $3 eq "";
		}
		die "left: $_" if $_ ne "";
		END { exit($rows > 3 ? 0 : 1) }'
}
for sheet in bans levels flow windows latency; do
	check "$sheet.csv has no formula, and right quotes" \
		no_formula "/export/$sheet.csv"
done
check "what begins like one has a mark" eval \
	'get /export/bans.csv | grep -q "\"'"'"'=\*\*\*d@evil.example\""'
is_ndjson()
{
	get "/export/$1.ndjson" | perl -MJSON::PP -ne '
		my $r = decode_json($_);
		die $_ unless $r->{version} == 1 && $r->{type};
		$n++; END { exit($n ? 0 : 1) }'
}
for sheet in bans levels flow windows latency; do
	check "$sheet.ndjson is NDJSON of version 1" is_ndjson "$sheet"
done
check "an export is a file to keep" eval \
	'get /export/bans.csv -I | grep -qi "^Content-Disposition: attachment"'
check "of the right kind" is_type /export/bans.csv 'text/csv'

# ---- those who are slow, or broken -------------------------------------------

# slow N WHAT - so many connections that have sent only that; they stay open.
slow()
{
	perl -MIO::Socket::INET -e '
		my ($port, $n, $what, $ready) = @ARGV;
		my @all = map { my $s = IO::Socket::INET->new(
			PeerAddr => "127.0.0.1", PeerPort => $port) or die;
			print $s $what; $s->flush; $s } 1 .. $n;
		open my $f, ">", $ready; close $f;
		sleep 60' "${page##*:}" "$1" "$2" "$D/slow" &
	slow_pid=$!
	within 30 test -e "$D/slow"
}
not_disturbed()
{
	rm -f "$D/slow" && slow "$@" && answers 200 get /state.json \
		--max-time 10 && answers 200 post "$q" --max-time 10
	rc=$?
	kill "$slow_pid" 2>/dev/null
	wait "$slow_pid" 2>/dev/null
	return "$rc"
}
crlf=$(printf '\r\nx')
crlf=${crlf%x}
check "30 who never end their headers disturb nobody" not_disturbed 30 \
	"GET / HTTP/1.1${crlf}Host: loc"
check "nor those who never send what they promised" not_disturbed 30 \
	"POST /ask HTTP/1.1${crlf}Host: localhost${crlf}Content-Length: 9000$crlf$crlf"
check "nor those who do not read" not_disturbed 30 \
	"GET /metrics HTTP/1.1${crlf}Host: localhost$crlf$crlf"
check "nor more of them than there are places" not_disturbed 200 \
	"GET / HTTP/1.1${crlf}Host: loc"
check "nor as many who promise and do not send" not_disturbed 200 \
	"POST /ask HTTP/1.1${crlf}Host: localhost${crlf}Content-Length: 9000$crlf$crlf"
check "nor garbage" not_disturbed 30 "$(printf '\1\2\3 garbage\377')$crlf$crlf"

# The page's own memory and its own sleep; a sanitizer has others.
rss()
{
	awk '/^VmRSS/ { print $2 }' "/proc/$web_pid/status"
}
thousand()
{
	seq 1000 | sed "s|.*|url = \"$page/state.json\"\noutput = \"/dev/null\"|" \
		>"$D/many" && curl -sS -K "$D/many"
}
grows_little()
{
	thousand
	before=$(rss)
	thousand
	echo "$before $(rss)"
	[ "$(rss)" -lt $((before + 4096)) ]
}
switches()
{
	cat /proc/"$web_pid"/task/*/status |
		awk '/ctxt_switches/ { n += $2 } END { print n }'
}
sleeps()
{
	was=$(switches)
	sleep 2
	same "$(switches)" "$was"
}
if [ "$WEB" = "$B/tidemark-web" ]; then
	check "a thousand looks take no more memory" grows_little
	check "while nobody asks, it sleeps" within 30 sleeps
fi

# ---- a daemon that goes and comes --------------------------------------------

daemon_stop
stopped()
{
	same "$(state '$s->{at_work} . $s->{trouble}')" \
		"0the daemon is not at work"
}
check "a daemon that ends is missed" within 60 stopped
check "the page says so in words" eval \
	'get / | grep -q "the daemon is not at work"'
check "metrics are those of its map" same_metrics
check "which say that it is away" eval \
	'get /metrics | grep -qx "tidemark_collector_up 0"'
check "it cannot be asked" answers 503 post "$q"
check "it comes back" daemon_start
check "and is seen" within 30 at_work
check "and can be asked" answers 200 post "$q"
check "with another map, too" lose_map
check "it is seen" within 30 at_work
feed -n 20 -c 2 >"$D/fed" 2>&1
check "mail is counted again" within 30 eval \
	'[ "$(state "\$s->{flow}[0]{total}")" -ge 20 ]'

# Cut short under its eyes: what it read is worth nothing, and it lives.
tear_map()
{
	cp "$D/run/live.mdb" "$D/torn" && mv "$D/torn" "$D/run/live.mdb" &&
		touch "$D/run/map" && within 30 at_away &&
		truncate -s 4096 "$D/run/live.mdb" &&
		kill -0 "$web_pid"
}
at_away()
{
	same "$(state '$s->{attached} . $s->{trouble}')" \
		"1the daemon is not at work"
}
is_torn()
{
	same "$(state '$s->{attached} . $s->{trouble}')" \
		"0the live map cannot be read" &&
	state '$s->{why}' | grep -q 'is truncated'
}
daemon_stop
check "a map is cut short while it is open" tear_map
check "there are no metrics then" answers 503 get /metrics
check "and why is said" grep -q 'is truncated' "$D/body"
check "in the state, too" within 10 is_torn
check "nothing is exported" answers 503 get /export/levels.csv
check "the page lives" answers 200 get /
check "the daemon makes another" daemon_start
check "which is seen" within 30 at_work

check "TERM ends it in good order" web_stop

# ---- without masks, and through a file ---------------------------------------

daemon_conf "web_listen = unix:$D/web.sock" "web_mask = no" \
	"web_socket_mode = 0640" "$profiles"
check "the daemon knows of it" tidemark reload
feed -n 60 -c 2 >"$D/fed" 2>&1
check "it serves through a file" web_start
page=http://localhost
file()
{
	"$@" --unix-socket "$D/web.sock"
}
check "with the mode that was asked for" same \
	"$(stat -c %a "$D/web.sock")" 640
check "the page" answers 200 file get /
check "whatever its host is called" answers 200 file get / \
	-H 'Host: mail.example.org'
check "a proxy's page may ask" answers 200 file post "$q" \
	-H 'Host: mail.example.org' -H 'Origin: https://mail.example.org'
check "another's may not" answers 403 file post "$q" \
	-H 'Host: mail.example.org' -H 'Origin: https://evil.example'
check "unmasked, if one says so" eval \
	'file get /export/levels.csv | grep -qF "\"$sender|192.0.2.0/24\""'
sed -i 's/^web_mask.*/web_mask = yes/' "$conf"
masked_again()
{
	file get /export/levels.csv >"$D/csv"
	grep -qF "|192.0.*.*" "$D/csv" && lacks "$sender" "$D/csv"
}
check "masked again, by a reload of the daemon" eval \
	'tidemark reload && within 10 masked_again'
sed -i 's/^web_mask.*/web_mask = no/' "$conf"
tidemark reload >/dev/null
check "and still no formula" eval \
	'file get /export/bans.csv | grep -q "^\"'"'"'=cmd@evil.example\",\"by hand\",\"'"'"'=2+5"'
check "another does not take its place" says_and_exits 69 \
	"another program is listening" "$WEB" -c "$conf" $root
check "it ends" web_stop
check "and leaves no file" fails test -e "$D/web.sock"
tap_end
