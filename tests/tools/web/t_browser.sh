#!/bin/sh
# t_browser - the page in a real browser: Debian's chromium, driven by its
# WebDriver.  Pictures of it lie in $B/tests/tools/web.
#
# takes: 29s
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

for program in chromium chromedriver; do
	command -v "$program" >/dev/null ||
		tap_skip "the page in a browser" "no $program"
done

daemon_conf "web_listen = 127.0.0.1:0" '[profile external]
daemons = MTA-ext
oksender_mode = enforce
oksender_limit = 750/1h
oksender_leak = 5s
oksender_ban = 10min
okip_mode = dry-run
unsender_mode = dry-run
[profile internal]
daemons = MTA-int
oksender_mode = dry-run
oksender_limit = 1840/1h
oksender_leak = 2s'
mkdir -p "$B/tests/tools/web"
export B FEED D
CONF=$conf WEB=${WEB:-$B/tidemark-web} OUT=$B/tests/tools/web \
	perl -Itests/tools/web tests/tools/web/browser.pl
