#!/bin/sh
# t_snippets - what we tell people to put into sendmail's and Postfix's
# configuration is taken by sendmail and by Postfix's own postconf.
#
# takes: 8s
set -u
. tests/lib/tap.sh
. tests/rig/rig.sh
. tests/rig/postfix.sh

snippet=conf/sendmail/tidemark.m4

# The rig's configuration, with the snippet in place of its own filters and
# daemons, on free ports.  $1 is an sed script over the snippet.
write_mc()
{
	sed -e "$1" -e "s/Port=smtp,/Addr=127.0.0.1, Port=$RIG_EXT,/" \
		-e "s/Port=submission,/Addr=127.0.0.1, Port=$RIG_INT,/" \
		"$snippet" >"$RIG/tidemark.m4"
	{
		rig_fill "$rig_src/rig.mc.in" |
			sed -e '/^INPUT_MAIL_FILTER/,+1d' \
				-e '/confINPUT_MAIL_FILTERS/d' \
				-e '/^DAEMON_OPTIONS/d' -e '/^LOCAL_CONFIG/,+1d' \
				-e '/^MAILER(.local/,$d'
		echo "define(\`TIDEMARK_DIR', \`$RIG/run')"
		echo "include(\`$RIG/tidemark.m4')"
		echo "MAIL_FILTER(\`other', \`S=local:$RIG/run/other.sock')"
		echo "MAILER(\`local')"
	} >"$RIG/snippet.mc"
	m4 -D_CF_DIR_="$rig_cf/" "$rig_cf/m4/cf.m4" "$RIG/snippet.mc" \
		>"$RIG/sendmail.cf"
}

# Packages put the snippet among sendmail's own features.
as_feature()
{
	cp -rs "$(realpath "$rig_cf")" "$RIG/cf" &&
		ln -s "$RIG/tidemark.m4" "$RIG/cf/feature/tidemark.m4" &&
		sed "s|^include(.*tidemark.m4.*|FEATURE(\`tidemark')|" \
			"$RIG/snippet.mc" >"$RIG/feature.mc" &&
		grep FEATURE..tidemark "$RIG/feature.mc" &&
		m4 -D_CF_DIR_="$RIG/cf/" "$RIG/cf/m4/cf.m4" "$RIG/feature.mc" |
		grep -v '^#' >"$RIG/feature.cf" &&
		grep -v '^#' "$RIG/sendmail.cf" | diff -B - "$RIG/feature.cf"
}

m4_is_quiet()
{
	write_mc '' 2>"$RIG/m4.err" && cat "$RIG/m4.err" &&
		! [ -s "$RIG/m4.err" ]
}

# Address test mode reads the whole file and complains about what it does
# not know.
sendmail_reads_it()
{
	echo '/quit' | unshare --uts "$RIG/bin/start" -bt >"$RIG/bt.out" 2>&1 ||
		return 1
	grep -iE 'line [0-9]+|unknown|invalid|warning|error' "$RIG/bt.out"
	[ $? -eq 1 ]
}

both_listen()
{
	rig_listens "$RIG_EXT" && rig_listens "$RIG_INT"
}

comes_up()
{
	rig_spawn sendmail unshare --uts "$RIG/bin/start" -bD
	within 10 both_listen
}

# An unknown filter has to stop it, or the test above proves nothing.
stays_down()
{
	write_mc 's/Filters=tidemark-ext/Filters=tidemark-ext;nobody/' &&
		timeout 20 unshare --uts "$RIG/bin/start" -bD
	[ $? -ne 124 ] && grep -h nobody "$RIG/mail.log"
}

sendmail_part()
{
	if ! rig_can; then
		skip "sendmail takes the snippet" "$rig_why"
		return
	fi
	trap rig_stop EXIT
	trap 'exit 130' HUP INT TERM
	# shellcheck disable=SC2046 # two words
	set -- $(rig_ports)
	RIG_EXT=$1 RIG_INT=$2
	check "a place for sendmail" eval \
		'rig_compile && rig_folder && rig_users && rig_configure'
	check "m4 takes the snippet without a word" m4_is_quiet
	check "FEATURE(\`tidemark') does the same" as_feature
	check "it has two daemons, each with its filter" \
		same "$(grep -c '^O DaemonPortOptions=.*Filters=tidemark-' \
			"$RIG/sendmail.cf")" 2
	check "sendmail reads the result" sendmail_reads_it
	check "a daemon starts with it" comes_up
	rig_end sendmail
	check "and with two filters for a daemon" eval \
		"write_mc 's/Filters=tidemark-int/&;other/' && comes_up"
	rig_end sendmail
	check "a filter that is not defined stops it" stays_down
	rig_stop
}

# ---- Postfix: names and syntax only; postconf knows which ones exist ------

# postconf_says OPTION... - what it says of our lines, in a folder of theirs.
postconf_says()
{
	LD_LIBRARY_PATH=$pf/root/usr/lib/postfix \
		"$pf/root/usr/sbin/postconf" -c "$pf/conf" "$@" 2>&1
}

main_is_known()
{
	postconf_says -n >"$pf/n.out"
	cat "$pf/n.out"
	! grep -i 'warning\|fatal' "$pf/n.out" &&
		grep -qx 'milter_protocol = 6' "$pf/n.out"
}

master_is_known()
{
	postconf_says -M >"$pf/M.out"
	postconf_says -P >"$pf/P.out"
	cat "$pf/M.out" "$pf/P.out"
	! grep -i 'warning\|fatal' "$pf/M.out" "$pf/P.out" &&
		grep -q '^smtp/inet/smtpd_milters.*external.sock,default_action=accept}' \
			"$pf/P.out" &&
		grep -q '^submission/inet/smtpd_milters.*internal.sock,default_action=tempfail}' \
			"$pf/P.out" &&
		grep -q '^submission/inet/smtpd_end_of_data_restrictions' \
			"$pf/P.out"
}

unknown_is_noticed()
{
	echo 'milter_default_acton = accept' >>"$pf/conf/main.cf"
	postconf_says -n | grep 'unused parameter'
}

postfix_part()
{
	if ! pf_unpack; then
		skip "Postfix takes the lines" "no postfix package to unpack"
		return
	fi
	mkdir -p "$pf/conf"
	{
		echo 'compatibility_level = 3.6'
		cat conf/postfix/main.cf.snippet
	} >"$pf/conf/main.cf"
	cp conf/postfix/master.cf.snippet "$pf/conf/master.cf"
	check "Postfix knows every name in main.cf.snippet" main_is_known
	check "and reads master.cf.snippet" master_is_known
	check "it would have noticed a wrong name" unknown_is_noticed
}

# ---- the README ---------------------------------------------------------------

# Line by line, but for other filters and where the sockets lie.
readme_like_snippet()
{
	for f in README.md "$snippet"; do
		sed -n "s/^ *\(MAIL_FILTER\|DAEMON_OPTIONS\)(/\1(/p" "$f" |
			grep tidemark- | sed -e 's/dnl$//' \
			-e 's|/run/tidemark|TIDEMARK_DIR|' \
			-e "s/\(Filters=\)[^']*\(tidemark-...\)[^']*/\1\2/" \
			>"$work/${f##*/}"
	done
	[ -s "$work/README.md" ] &&
		diff "$work/README.md" "$work/${snippet##*/}"
}

# A text of fewer than 63 letters and digits is refused.
texts_are_long_enough()
{
	perl -0777 -ne 'while (/query (?:--guess \w+ )?--text (["\x27])(.*?)\1/sg) {
			$n++;
			for my $piece (split / \* /, $2) {
				(my $bare = $piece) =~ s/[^a-z0-9]//gi;
				next if $piece =~ /^TEXT/ || length $bare >= 63;
				print "$ARGV: $piece\n";
				$short = 1;
			}
		}
		END { exit($n >= 4 && !$short ? 0 : 1) }' \
		README.md tools/man/tidemark-query.1
}

# Within a fifth: a region that grows a little is no news.
megabytes_are_true()
{
	said=$(sed -n 's/.*keeps, in \([0-9]*\) megabytes of.*/\1/p' README.md)
	is=$("$B/tidemark" --root "$work" size --json |
		sed -n 's/.*"kind":"map","bytes":\([0-9]*\).*/\1/p')
	echo "said $said, is $is"
	[ "$((is * 5 / 1000000))" -le "$((said * 6))" ] &&
		[ "$((is * 5 / 1000000))" -ge "$((said * 4))" ]
}

# ---- the hook -----------------------------------------------------------------

# What was handed on is mailed once, all of it, and nothing of it is a command.
# shellcheck disable=SC2016 # a key that looks like a command, by intent
hook_mails()
{
	printf '#!/bin/sh\necho "$*" >"%s/to" && cat >"%s/mail"\n' "$work" "$work" \
		>"$work/sendmail"
	chmod 755 "$work/sendmail"
	for key in 'ann@x.example|192.0.2.0/24' '-oQ$(touch x)@`y`'; do
		env -i PATH="$PATH" TIDEMARK_HOOK_DIR="$work/hook" \
			TIDEMARK_KEY="$key" TIDEMARK_GROUP=OKSENDER \
			TIDEMARK_UNTIL=never conf/hook/ban-spool || return
	done
	same "$(find "$work/hook" -name 'ban.*' | wc -l)" 2 &&
		TIDEMARK_HOOK_DIR="$work/hook" SENDMAIL="$work/sendmail" \
			conf/hook/ban-mail &&
		cat "$work/to" "$work/mail" &&
		same "$(cat "$work/to")" "-i -- root" &&
		grep -qx 'Subject: Tidemark: 2 banned' "$work/mail" &&
		grep -qxF 'KEY=ann@x.example|192.0.2.0/24' "$work/mail" &&
		grep -qxF 'KEY=-oQ$(touch x)@`y`' "$work/mail" &&
		same "$(find "$work/hook" -type f)" ""
}

hook_keeps()
{
	env -i PATH="$PATH" TIDEMARK_HOOK_DIR="$work/hook" TIDEMARK_KEY=a@b \
		conf/hook/ban-spool &&
		! TIDEMARK_HOOK_DIR="$work/hook" SENDMAIL=/bin/false \
			conf/hook/ban-mail &&
		same "$(find "$work/hook" -name 'ban.*' | wc -l)" 1
}

work=$(mktemp -d) || exit 2
B=${B:-build}
check "the README's lines for sendmail are the snippet's" readme_like_snippet
check "every text that is asked for in the manual is long enough" \
	texts_are_long_enough
check "the live map is as large as the README says" megabytes_are_true
check "the hook that we ship mails bans" hook_mails
check "and keeps them if it cannot" hook_keeps
rm -rf "$work"

sendmail_part
postfix_part
tap_end
