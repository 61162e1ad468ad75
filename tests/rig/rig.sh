# rig.sh - a private sendmail to test against.  Source it from the tree's root.
#
#	rig_can || ...		can it run here?  if not, $rig_why says why
#	rig_start		$RIG, $RIG_EXT and $RIG_INT (ports) are set
#	rig_send PORT FROM TO... [-- SWAKS OPTIONS]
#	rig_spawn NAME COMMAND...	in the background, ended by rig_stop
#	rig_stop		also runs when the shell exits
#
# sendmail runs two daemons on loopback, each with its own filters:
#	MTA-ext  $RIG_EXT  other;tidemark-ext
#	MTA-int  $RIG_INT  tidemark-int;other	and AUTH: carol, secret
# The sockets are external.sock (no F=: fails open), internal.sock (F=T) and
# other.sock (F=T; tests/rig/other.c, started here) below $RIG/run.
#
# alice and bob at mx.rig.test are known, other names there are refused with
# 5.1.1; any other domain is accepted.  All mail ends in $RIG/mbox/sink.
# Logs: $RIG/mail.log (sendmail's syslog), $RIG/other.log, $RIG/NAME.out.
#
# The folder lies below /run: sendmail refuses sockets and SASL files below a
# world-writable one.  RIG_KEEP=1 leaves it there.
# shellcheck shell=sh

rig_src=tests/rig
rig_build=${RIG_BUILD:-build/rig}
rig_why=
RIG=

rig_can()
{
	rig_why=
	if [ "$(id -u)" -ne 0 ]; then
		rig_why="needs root"
	elif ! unshare --uts true 2>/dev/null; then
		rig_why="needs the right to set a host name (unshare --uts)"
	else
		for rig_tool in m4 swaks saslpasswd2 flock setsid; do
			command -v "$rig_tool" >/dev/null ||
				rig_why="needs $rig_tool"
		done
	fi
	[ -z "$rig_why" ] || return 1
	mkdir -p "$rig_build" || return 1
	if ! rig_cache=$("$rig_src/unpack.sh" 2>"$rig_build/unpack.err"); then
		rig_why=$(cat "$rig_build/unpack.err")
		return 1
	fi
}

# Compile what is older than its source.
rig_compile()
{
	rig_cc="${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -pthread"
	for rig_it in 'other - -lmilter' 'smtpstorm -' \
		'syslog_shim -shared -fPIC'; do
		# shellcheck disable=SC2086 # words, by intent
		set -- $rig_it
		rig_c=$rig_src/$1.c rig_o=$rig_build/$1
		shift
		[ "$1" != - ] || shift
		[ -z "$(find "$rig_c" -newer "$rig_o" 2>&1)" ] && continue
		# shellcheck disable=SC2086
		$rig_cc -o "$rig_o.$$" "$rig_c" "$@" &&
			mv "$rig_o.$$" "$rig_o" || return 1
	done
}

# Two free ports below the ephemeral range, apart for concurrent rigs.
rig_ports()
{
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v seed="$$" '
		{ n = split($2, a, ":"); used[a[n]] = 1 }
		END {
			for (p = 20000 + seed * 7 % 10000; found < 2; p++)
				if (!(sprintf("%04X", p) in used)) {
					printf "%d ", p
					found++
				}
		}'
}

# fill FILE - put this rig's words into a template.
rig_fill()
{
	sed -e "s|@RIG@|$RIG|g" -e "s|@PORT_EXT@|$RIG_EXT|g" \
		-e "s|@PORT_INT@|$RIG_INT|g" \
		-e "s|@MAILER_UID@|$(id -u daemon)|g" \
		-e "s|@MAILER_GID@|$(id -g daemon)|g" "$1"
}

rig_folder()
{
	RIG=$(mktemp -d /run/tidemark-rig.XXXXXX) || return 1
	chmod 755 "$RIG"
	(
		umask 022
		cd "$RIG" && mkdir bin maps mbox pids queue run sasl &&
			chown daemon mbox && chmod 700 queue
	) || return 1
	rig_fill "$rig_src/mbox.sh.in" >"$RIG/bin/mbox.sh"
	chmod 755 "$RIG/bin/mbox.sh"
	rig_root=$rig_cache/root
	rig_libs=$(echo "$rig_root"/usr/lib/*-linux-gnu)
	# A plain copy has no setgid bit, so that preloading works.
	cp "$rig_root/usr/libexec/sendmail/sendmail" "$RIG/bin/sendmail" &&
		chmod 755 "$RIG/bin/sendmail" &&
		rig_starter >"$RIG/bin/start" && chmod 755 "$RIG/bin/start" &&
		rig_programs
}

# tidemarkd gives up root, and then starts its own programs again: they must
# lie where everybody gets to, and the tree may be in /root.
rig_programs()
{
	for program in tidemarkd tidemark-milter; do
		cp "${B:-build}/$program" "$RIG/bin/$program" &&
			chmod 755 "$RIG/bin/$program" || return 1
	done
}

# A host name without a dot would make sendmail sleep for a minute before it
# reads its configuration: run this under unshare --uts.
rig_starter()
{
	cat <<-END
		#!/bin/sh
		hostname mx.rig.test
		export LD_LIBRARY_PATH=$rig_libs RIG_LOG=$RIG/mail.log
		export LD_PRELOAD=$(realpath "$rig_build/syslog_shim")
		exec $RIG/bin/sendmail -C $RIG/sendmail.cf "\$@"
	END
}

# alice and bob are known as aliases, so that no account is needed; the local
# mailer's flag w refuses every other name.
rig_users()
{
	cat >"$RIG/aliases" <<-END
		alice: alice@sink.test
		bob: bob@sink.test
		postmaster: postmaster@sink.test
		MAILER-DAEMON: postmaster
	END
	cat >"$RIG/sasl/Sendmail.conf" <<-END
		pwcheck_method: auxprop
		auxprop_plugin: sasldb
		sasldb_path: $RIG/sasl/sasldb2
		mech_list: PLAIN LOGIN CRAM-MD5
	END
	echo secret | saslpasswd2 -p -c -f "$RIG/sasl/sasldb2" \
		-u mx.rig.test carol &&
		chmod 600 "$RIG/sasl/sasldb2"
}

rig_configure()
{
	rig_cf=$rig_root/usr/share/sendmail/cf
	printf 'hosts files\naliases files\n' >"$RIG/service.switch"
	: >"$RIG/statistics"
	rig_fill "$rig_src/rig.mc.in" >"$RIG/rig.mc"
	m4 -D_CF_DIR_="$rig_cf/" "$rig_cf/m4/cf.m4" "$RIG/rig.mc" \
		>"$RIG/sendmail.cf" || return 1
	printf '.\tsink:x\n' | LD_LIBRARY_PATH=$rig_libs \
		"$rig_root/usr/libexec/sendmail/makemap" -C "$RIG/sendmail.cf" \
		hash "$RIG/maps/mailertable" || return 1
	unshare --uts "$RIG/bin/start" -bi >"$RIG/newaliases.out" 2>&1
}

# rig_listens PORT - is somebody there?  In hex, as the kernel lists it.
rig_listens()
{
	grep -q "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp
}

rig_start()
{
	trap rig_stop EXIT
	trap 'exit 130' HUP INT TERM
	# shellcheck disable=SC2046 # two words
	set -- $(rig_ports)
	RIG_EXT=$1 RIG_INT=$2
	rig_compile && rig_folder && rig_users && rig_configure || return 1
	rig_spawn other "$rig_build/other" "$RIG/run/other.sock" \
		"$RIG/other.log"
	rig_spawn sendmail unshare --uts "$RIG/bin/start" -bD
	rig_tries=100
	until rig_listens "$RIG_EXT" && rig_listens "$RIG_INT" &&
		[ -S "$RIG/run/other.sock" ]; do
		rig_tries=$((rig_tries - 1))
		if [ "$rig_tries" -eq 0 ]; then
			echo "the rig did not come up:" >&2
			cat "$RIG"/*.out "$RIG/mail.log" >&2
			return 1
		fi
		sleep 0.1
	done
}

# Each in a session of its own, so that it can be ended with its children;
# RIG_OF marks what leaves that session.
rig_spawn()
{
	rig_name=$1
	shift
	RIG_OF=$RIG setsid "$@" >"$RIG/$rig_name.out" 2>&1 </dev/null &
	echo $! >"$RIG/pids/$rig_name"
}

# rig_pid NAME - of what rig_spawn started.
rig_pid()
{
	cat "$RIG/pids/$1"
}

# rig_end NAME [SIGNAL] - end it and wait for it; after 10 s, kill it.
rig_end()
{
	rig_p=$(rig_pid "$1") || return
	kill "-${2:-TERM}" "$rig_p" 2>/dev/null
	rig_tries=100
	while kill -0 "$rig_p" 2>/dev/null && [ "$rig_tries" -gt 0 ]; do
		rig_tries=$((rig_tries - 1))
		sleep 0.1
	done
	kill -KILL -- "-$rig_p" 2>/dev/null
	wait "$rig_p" 2>/dev/null
	rm -f "$RIG/pids/$1"
}

# rig_send PORT FROM TO... [-- SWAKS OPTIONS] - the SMTP dialogue on stdout;
# 0 if the message was accepted for at least one recipient.
rig_send()
{
	rig_port=$1 rig_from=$2 rig_to=
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		rig_to=$rig_to${rig_to:+,}$1
		shift
	done
	[ $# -eq 0 ] || shift
	swaks --server 127.0.0.1 --port "$rig_port" --helo client.test \
		--timeout 60 --from "$rig_from" --to "$rig_to" "$@"
}

rig_stop()
{
	trap - EXIT HUP INT TERM
	[ -n "$RIG" ] || return 0
	for rig_f in "$RIG"/pids/*; do
		[ ! -e "$rig_f" ] || rig_end "${rig_f##*/}" KILL
	done
	grep -lzxsF "RIG_OF=$RIG" /proc/[0-9]*/environ | cut -d/ -f3 |
		while read -r rig_p; do
			kill -KILL "$rig_p" 2>/dev/null
		done
	if [ -n "${RIG_KEEP:-}" ]; then
		echo "# kept: $RIG"
	else
		rm -rf "$RIG"
	fi
	RIG=
}
