#!/bin/sh
# pictures.sh - the README's pictures, of the real thing: `make run' on a
# terminal of 100 by 30 and its page in a browser, once somebody is banned and
# somebody else well on the way.
set -u
B=${B:-build}
here=tests/demo
work=$(mktemp -d) || exit 2

tm()
{
	LC_ALL=C.UTF-8 tmux -u -S "$work/tmux" -f /dev/null "$@"
}

finish()
{
	tm send-keys q 2>/dev/null
	sleep 3
	tm kill-server 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT

screen()
{
	tm capture-pane -p
}

rm -rf run # what an earlier one has left would be in the picture
tm new-session -d -x 100 -y 30 "env TERM=screen-256color LC_ALL=C.UTF-8 \
	B=$B FEED=$FEED $here/run.sh run"
tries=0
until screen | grep -q 'bans 1' && screen | grep -q 'sales.* 3./40'; do
	tries=$((tries + 1))
	[ "$tries" -lt 600 ] || exit 1
	sleep 0.2
done
tm capture-pane -e -p | perl "$here/picture.pl" >"$here/top.svg"
page=$(screen | grep -o 'http://[^ ]*')
for _ in 1 2 3 4 5 6; do # rates want more than one look
	curl -sS -o /dev/null "${page}state.json" || exit 1
	sleep 1
done
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
	--user-data-dir="$work/chromium" --virtual-time-budget=8000 \
	--window-size=1100,760 --screenshot="$work/page.png" "$page" \
	>/dev/null 2>&1 || exit 1
mv "$work/page.png" "$here/page.png"
ls -l "$here/top.svg" "$here/page.png"
