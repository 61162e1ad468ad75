#!/bin/sh
# t_egress - the lists: added, deleted, listed, imported, asked; what would be
# applied.  No root, no kernel: t_egress_net has those.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

egress() { tidemark egress "$@"; }

# lines N COMMAND... - it prints that many lines.
lines()
{
	want=$1
	shift
	"$@" >"$D/lines"
	cat "$D/lines"
	same "$(wc -l <"$D/lines")" "$want"
}

# of_list LIST FIELD - of the last entry.
of_list()
{
	egress "$1" list --json | FIELD=$2 perl -MJSON::PP -ne '
		$r = decode_json($_);
		END { print $r->{$ENV{FIELD}} }'
}

daemon_conf
check "the daemon starts" daemon_start || { tap_end; exit; }
check "an empty list says so" exits 1 egress deny list

adds()
{
	egress deny add 192.0.2.0/24 2001:db8::1 --reason "open relay" \
		--origin tests && lines 2 egress deny list &&
		same "$(of_list deny reason)" "open relay" &&
		same "$(of_list deny origin)" tests &&
		same "$(of_list deny until_ms)" 0
}
check "addresses and networks are added" adds

again()
{
	since=$(of_list deny since_ms) &&
		egress deny add 2001:db8::1 --reason proxy --for 1h &&
		lines 2 egress deny list &&
		same "$(of_list deny reason)" proxy &&
		same "$(of_list deny since_ms)" "$since" &&
		[ "$(of_list deny until_ms)" -gt "$since" ]
}
check "adding again changes reason and expiry, not since when" again

wrong()
{
	says 'neither an IP address' egress deny add relay.example.org &&
		says 'is everybody' egress deny add 0.0.0.0/0 &&
		says 'beyond its prefix' egress deny add 192.0.2.1/24 &&
		says 'does not reach' egress permit add 10.0.0.1 2001:db8::1 &&
		says 'CUSTOMER and SERVER' egress permit add 10.0.0.1 &&
		says 'none of deny, permit, .* (did you mean deny?)' egress den list &&
		says 'more than 0' egress deny add 192.0.2.9 --for 0 &&
		says 'no word begins' egress deny add 192.0.2.9 --reason 'a #b' &&
		exits 2 egress deny add nonsense && lines 2 egress deny list
}
check "nonsense is refused, with the reason" wrong

asked()
{
	egress permit add 10.0.0.0/8 192.0.2.25 192.0.2.26 --for 1h &&
		lines 1 egress deny check 192.0.2.77 &&
		exits 1 egress deny check 192.0.3.1 &&
		lines 1 egress permit check 10.1.2.3 192.0.2.26 &&
		exits 1 egress permit check 10.1.2.3 192.0.2.27 &&
		exits 1 egress permit check 11.1.2.3 192.0.2.26
}
check "one can ask whether an address is on a list" asked

deletes()
{
	egress permit del 10.0.0.0/8 192.0.2.26 && lines 1 egress permit list &&
		exits 1 egress permit del 10.0.0.0/8 192.0.2.26 &&
		exits 1 egress permit del 10.0.0.0/9 192.0.2.25
}
check "entries are deleted as they were added" deletes

imports()
{
	cat >"$D/list" <<-'END'
		# a comment, and an empty line

		198.51.100.1
		198.51.100.0/28 for=2h seen in spam   # again
		198.51.100.2 ; SB1
	END
	says '3 entries on the deny list' egress deny import "$D/list" &&
		lines 5 egress deny list && same "$(egress deny list --json |
			grep -c '"origin":"list"')" 3 &&
		says '"reason":"seen in spam"' egress deny list --json
}
check "a file is imported, with its comments" imports

names_lines()
{
	printf '198.51.100.7\nwhere\n198.51.100.8/99\n' >"$D/bad" &&
		says "$D/bad:2: " egress deny import "$D/bad" &&
		says "$D/bad:3: .*prefix" egress deny import "$D/bad" &&
		says "nothing is imported" egress deny import "$D/bad" &&
		exits 2 egress deny import "$D/bad" &&
		exits 2 egress deny import "$D/none" && lines 5 egress deny list
}
check "a wrong line is named, and nothing is imported" names_lines

replaces()
{
	echo 198.51.100.2 | egress deny import - --origin list --replace &&
		lines 3 egress deny list &&
		exits 0 egress deny check 198.51.100.2 &&
		exits 1 egress deny check 198.51.100.1
}
check "an import may replace what had the same origin" replaces

killed()
{
	for pid in $(children "$daemon_pid"); do
		kill -9 "$pid"
	done
	within 30 egress deny list
}
survives()
{
	egress deny list >"$D/one" && egress permit list >>"$D/one" &&
		egress deny add 203.0.113.9 && killed && daemon_stop &&
		daemon_start && egress deny del 203.0.113.9 &&
		egress deny list >"$D/two" && egress permit list >>"$D/two" &&
		diff "$D/one" "$D/two"
}
check "what was acknowledged outlives a killed daemon" survives

shows()
{
	egress show >"$D/rules" && grep -q 'hook forward' "$D/rules" &&
		grep -q '192.0.2.0-192.0.2.255' "$D/rules" &&
		grep -q '10.0.0.0-10.255.255.255 . 192.0.2.25 timeout' "$D/rules" &&
		grep -q 'elements = { 25, 465, 587 }' "$D/rules" &&
		lacks 'hook output' "$D/rules"
}
check "what would be applied is shown, without root" shows

dumps()
{
	tidemark ban 192.0.2.66 --reason test &&
		tidemark dump --archive --json >"$D/dump" &&
		grep '"type":"ban".*"192.0.2.66"' "$D/dump" &&
		grep '"type":"egress".*"customer":"10.0.0.0/8"' "$D/dump"
}
check "a dump of the archive has the lists, and the bans" dumps

# set_to SETTING PATTERN - a configuration that has to be complained of.
set_to()
{
	sed "\$a $1" "$conf" >"$D/other.conf" &&
		says "$2" "$B/tidemark" -c "$D/other.conf" configtest
}
settings()
{
	set_to 'egress_ports = 25 smtp' 'smtp.* is no port' &&
		set_to 'egress_ports =' 'a value is missing' &&
		set_to 'egress_hooks = input' 'neither forward nor output' &&
		set_to 'egress_table = a-b' 'egress_table' &&
		set_to 'egress_mode = on' 'egress_mode'
}
check "settings that make no sense are refused" settings
check "a full disk for output is an error" \
	exits 2 sh -c "'$B/tidemark' -c '$conf' egress show >/dev/full"
daemon_stop
check "without a daemon it says so" says 'is tidemarkd running' egress deny list
tap_end
