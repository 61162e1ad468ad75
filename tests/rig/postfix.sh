# postfix.sh - a private Postfix to test against.  Source it after rig.sh, from
# the tree's root.
#
#	pf_can || ...		can it run here?  if not, $rig_why says why
#	pf_start		$RIG, $RIG_EXT and $RIG_INT (ports) are set
#	rig_stop		as for sendmail
#
# It is unpacked, never installed.  Two services on loopback:
#	smtp        $RIG_EXT  milters other.sock (tests/rig/other.c, started
#			      here), external.sock, MTA-ext; policy ext
#	submission  $RIG_INT  milter internal.sock, MTA-int; policy out
# A client becomes an authenticated one by XCLIENT LOGIN=NAME and a new EHLO,
# which leaves SASL's files out of it.  alice, bob and postmaster at mx.rig.test
# are known; submission takes any other domain, too.
# All mail is discarded, but for keep.test's, which stays in the queue.  Logs: $RIG/mail.log, $RIG/master.out.
# shellcheck shell=sh

# shellcheck disable=SC2154 # rig.sh has it
pf=$rig_build/postfix

pf_can()
{
	rig_why=
	if [ "$(id -u)" -ne 0 ]; then
		rig_why="needs root"
	elif ! pf_unpack; then
		rig_why="no postfix package to unpack (see $pf/log)"
	fi
	[ -z "$rig_why" ]
}

pf_download()
{
	apt-get -q -o APT::Sandbox::User=root download postfix >>../log 2>&1
}

# One at a time: tests beside us may want it, too, or a sendmail.
pf_unpack()
{
	[ -x "$pf/root/usr/sbin/postconf" ] && return
	mkdir -p "$pf" && (
		flock 9
		[ -x "$pf/root/usr/sbin/postconf" ] && exit
		rm -rf "$pf/new" && mkdir "$pf/new" && cd "$pf/new" || exit 1
		pf_download || {
			apt-get -q update >>../log 2>&1
			pf_download
		} && dpkg -x postfix_*.deb root && rm -rf ../root &&
			mv root .. && rm -rf ../new
	) 9>"$rig_build/lock"
}

pf_folder()
{
	RIG=$(mktemp -d /run/tidemark-rig.XXXXXX) || return 1
	chmod 755 "$RIG"
	pf_root=$(realpath "$pf/root")
	(
		umask 022
		cd "$RIG" && mkdir bin conf data pids run spool &&
			chown daemon data && cd spool &&
			mkdir active bounce corrupt defer deferred flush hold \
				incoming maildrop pid private public saved trace &&
			chown daemon active bounce corrupt defer deferred \
				flush hold incoming private public saved trace
	) && rig_programs
}

# The policy client stands last, behind everything that refuses recipients,
# and again at DATA and at the end of the message: as conf/postfix says.
pf_main()
{
	cat <<-END
		compatibility_level = 3.6
		queue_directory = $RIG/spool
		data_directory = $RIG/data
		command_directory = $pf_root/usr/sbin
		daemon_directory = $pf_root/usr/lib/postfix/sbin
		shlib_directory = $pf_root/usr/lib/postfix
		meta_directory = $pf_root/usr/share/postfix
		mail_owner = daemon
		setgid_group = mail
		default_privs = nobody
		import_environment = MAIL_CONFIG LD_LIBRARY_PATH RIG_OF
		maillog_file = $RIG/mail.log
		maillog_file_prefixes = /run
		myhostname = mx.rig.test
		mydestination = mx.rig.test
		mynetworks =
		inet_protocols = ipv4
		smtpd_peername_lookup = no
		disable_dns_lookups = yes
		local_transport = discard:
		default_transport = discard:
		transport_maps = inline:{ keep.test=keep: }
		defer_transports = keep
		local_recipient_maps = inline:{ alice=1, bob=1, postmaster=1 }
		alias_maps =
		smtpd_error_sleep_time = 0
		smtpd_soft_error_limit = 1000
		smtpd_hard_error_limit = 1000
		smtpd_client_connection_count_limit = 0
		smtpd_authorized_xclient_hosts = 127.0.0.0/8
		milter_default_action = accept
		milter_protocol = 6
		smtpd_policy_service_default_action = DUNNO
		smtpd_policy_service_max_idle = 2s
		smtpd_policy_service_try_limit = 2
		smtpd_policy_service_retry_delay = 1s
		ext_policy = check_policy_service unix:$RIG/run/ext-policy.sock
		ext_rcpt = reject_unauth_destination, reject_unlisted_recipient, \$ext_policy
		out_policy = check_policy_service unix:$RIG/run/out-policy.sock
		out_rcpt = \$out_policy, reject_unlisted_recipient, permit_sasl_authenticated, reject
	END
}

pf_master()
{
	cat <<-END
		127.0.0.1:$RIG_EXT inet n - n - 50 smtpd
		  -o smtpd_milters=unix:$RIG/run/other.sock,unix:$RIG/run/external.sock
		  -o milter_macro_daemon_name=MTA-ext
		  -o smtpd_relay_restrictions=
		  -o smtpd_recipient_restrictions=\$ext_rcpt
		  -o smtpd_data_restrictions=\$ext_policy
		  -o smtpd_end_of_data_restrictions=\$ext_policy
		127.0.0.1:$RIG_INT inet n - n - 50 smtpd
		  -o smtpd_milters=unix:$RIG/run/internal.sock
		  -o milter_macro_daemon_name=MTA-int
		  -o smtpd_sasl_auth_enable=yes
		  -o smtpd_recipient_limit=20
		  -o smtpd_relay_restrictions=
		  -o smtpd_recipient_restrictions=\$out_rcpt
		  -o smtpd_data_restrictions=\$out_policy
		  -o smtpd_end_of_data_restrictions=\$out_policy
		cleanup unix n - n - 0 cleanup
		qmgr unix n - n 300 1 qmgr
		rewrite unix - - n - - trivial-rewrite
		bounce unix - - n - 0 bounce
		defer unix - - n - 0 bounce
		trace unix - - n - 0 bounce
		proxymap unix - - n - - proxymap
		discard unix - - n - - discard
		keep unix - - n - - discard
		error unix - - n - - error
		retry unix - - n - - error
		showq unix n - n - - showq
		anvil unix - - n - 1 anvil
		postlog unix-dgram n - n - 1 postlogd
	END
}

pf_command()
{
	pf_name=$1
	shift
	LD_LIBRARY_PATH=$pf_root/usr/lib/postfix \
		"$pf_root/usr/sbin/$pf_name" -c "$RIG/conf" "$@"
}

pf_listens()
{
	rig_listens "$RIG_EXT" && rig_listens "$RIG_INT"
}

pf_start()
{
	trap rig_stop EXIT
	trap 'exit 130' HUP INT TERM
	# shellcheck disable=SC2046 # two words
	set -- $(rig_ports)
	RIG_EXT=$1 RIG_INT=$2
	rig_compile && pf_folder || return 1
	rig_spawn other "$rig_build/other" "$RIG/run/other.sock" \
		"$RIG/other.log"
	within 20 test -S "$RIG/run/other.sock" &&
		chmod 666 "$RIG/run/other.sock" || return 1
	pf_main >"$RIG/conf/main.cf"
	pf_master >"$RIG/conf/master.cf"
	rig_spawn master env LD_LIBRARY_PATH="$pf_root/usr/lib/postfix" \
		"$pf_root/usr/lib/postfix/sbin/master" -c "$RIG/conf" -d
	within 20 pf_listens || {
		cat "$RIG/master.out" "$RIG/mail.log" >&2
		return 1
	}
}
