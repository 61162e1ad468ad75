#!/bin/sh
# t_setup - tidemark setup over configuration trees of its own: what it
# prints, applies and undoes, and each fault that --check can find, made from a
# sound tree by one change.
# shellcheck disable=SC2016 # dollars for others to read
set -u
umask 022
. tests/lib/tap.sh

B=${B:-build}
# its name must not have ours in it
D=$(mktemp -d "${TMPDIR:-/tmp}/setup.XXXXXX") || exit 2
T=$D/tree
trap 'finish' EXIT
trap 'exit 1' INT TERM
listener=

finish()
{
	[ -z "$listener" ] || kill "$listener" 2>/dev/null
	rm -rf "$D"
}

setup()
{
	"$B/tidemark" --root "$T" setup "$@"
}

# ---- a sound tree --------------------------------------------------------------

people()
{
	mkdir -p "$1/etc"
	printf '%s\n' "root:x:0:0::/:" "postfix:x:4201:$(id -g)::/:" \
		"smmta:x:4202:4202::/:" "tidemark:x:4203:4203::/:" \
		>"$1/etc/passwd"
	printf '%s\n' "root:x:4200:" "postfix:x:$(id -g):tidemark" \
		"smmta:x:4202:" "tidemark:x:4203:" "other:x:4204:" \
		>"$1/etc/group"
}

settings()
{
	mkdir -p "$1/etc/tidemark/conf.d"
	cat >"$1/etc/tidemark/tidemark.conf" <<-'END'
		max_workers = 300

		[profile external]
		socket_group = postfix

		[profile internal]
		socket_group = postfix
		charged_by = policy

		[policy submission]
		socket_group = postfix

		include conf.d/*.conf
	END
}

sendmail_files()
{
	mkdir -p "$1/etc/mail"
	cat >"$1/etc/mail/sendmail.mc" <<-'END'
		FEATURE(`no_default_msa')dnl
		DAEMON_OPTIONS(`Name=MTA-ext, Port=smtp, InputMailFilters=spamass;tidemark-ext')dnl
		DAEMON_OPTIONS(`Name=MTA-int, Port=submission, M=Ea, InputMailFilters=tidemark-int;opendkim')dnl
	END
	cat >"$1/etc/mail/sendmail.cf" <<-'END'
		O DaemonPortOptions=Name=MTA-ext, Port=smtp,
		    InputMailFilters=spamass;tidemark-ext
		O DaemonPortOptions=Name=MTA-int, Port=submission, M=Ea, InputMailFilters=tidemark-int;opendkim
		#O InputMailFilters=
		O MaxDaemonChildren=100
		Xspamass, S=local:/run/spamass.sock, F=, T=C:15m;S:4m;R:4m;E:10m
		Xtidemark-ext, S=local:/run/tidemark/external.sock, T=C:10s;S:30s;R:30s;E:60s
		Xtidemark-int, S=local:/run/tidemark/internal.sock, F=T, T=C:10s;S:30s;R:30s;E:60s
		Xopendkim, S=inet:8891@localhost
	END
	printf 'V10\nD{MTAHost}[127.0.0.1]\n' >"$1/etc/mail/submit.cf"
	touch -d '2026-01-01 00:00:00' "$1/etc/mail/sendmail.mc"
	touch -d '2026-01-01 00:00:01' "$1/etc/mail/sendmail.cf"
}

postfix_files()
{
	mkdir -p "$1/etc/postfix"
	cat >"$1/etc/postfix/main.cf" <<-'END'
		compatibility_level = 3.6
		milter_default_action = accept
		tidemark_policy = check_policy_service unix:/run/tidemark/submission-policy.sock
		tidemark_recipient = reject_unlisted_recipient,
		    $tidemark_policy, permit_sasl_authenticated, reject
		smtpd_policy_service_default_action = DUNNO
	END
	cat >"$1/etc/postfix/master.cf" <<-'END'
		smtp      inet  n       -       n       -       -       smtpd
		  -o smtpd_milters=unix:/run/spamass.sock,unix:/run/tidemark/external.sock
		  -o milter_macro_daemon_name=MTA-ext
		# our own people
		submission inet n       -       n       -       -       smtpd
		  -o smtpd_sasl_auth_enable=yes
		  -o smtpd_milters=unix:/run/tidemark/internal.sock
		  -o milter_macro_daemon_name=MTA-int
		# they can wait
		  -o milter_default_action=tempfail
		  -o smtpd_recipient_restrictions=$tidemark_recipient
		  -o smtpd_data_restrictions=$tidemark_policy
		  -o smtpd_end_of_data_restrictions=$tidemark_policy
		pickup    unix  n       -       y       60      1       pickup
	END
}

# Somebody who listens on all three.
listen()
{
	mkdir -p "$T/run/tidemark"
	perl -MIO::Socket::UNIX -e '
		for (@ARGV) {
			push @s, IO::Socket::UNIX->new(Local => $_,
				Listen => 99) or die "$_: $!";
			chmod 0660, $_;
		}
		sleep 600' "$T/run/tidemark/external.sock" \
		"$T/run/tidemark/internal.sock" \
		"$T/run/tidemark/submission-policy.sock" &
	listener=$!
	within 30 test -S "$T/run/tidemark/submission-policy.sock"
}

mkdir -p "$D/sound" "$T"
people "$D/sound"
settings "$D/sound"
sendmail_files "$D/sound"
postfix_files "$D/sound"

# fresh - the sound tree again, but for its sockets.
fresh()
{
	rm -rf "${T:?}/etc"
	cp -a "$D/sound/etc" "$T/etc"
}
fresh
check "somebody listens" listen || exit 1

# ---- a sound one -----------------------------------------------------------

for mta in sendmail postfix; do
	check "a sound $mta: nothing is wrong" exits 0 setup $mta --check
	check "and no line is missing" eval \
		"setup $mta | grep 'every line is there'"
done
check "what F= does is told" eval \
	"setup sendmail --check | grep -x '    tidemark-int: F=T: 451, and the client tries again later'"
check "and what no F= does" eval \
	"setup sendmail --check | grep 'tidemark-ext: no F=: mail passes, unseen'"
check "and where this machine's own mail goes" eval \
	"setup sendmail --check | grep 'goes to .127.0.0.1. 25, and so in'"

check "an smtpd that a content filter gives mail back to is left alone" eval \
	"printf '127.0.0.1:10025 inet n - n - - smtpd\n  -o smtpd_milters=\n' \
		>>'$T/etc/postfix/master.cf'; setup postfix --check |
		grep -x 'note left-alone: /etc/postfix/master.cf:15'"
check "so no line is missing there" eval \
	"setup postfix | grep 'every line is there'"
fresh
cat >>"$T/etc/postfix/master.cf" <<-'END'
	127.0.0.1:10025 inet n - n - - smtpd
	  -o content_filter=
	  -o receive_override_options=no_unknown_recipient_checks,no_milters
END
echo 'smtpd_milters = unix:/run/other.sock' >>"$T/etc/postfix/main.cf"
check "also where main.cf has filters for all" exits 0 setup postfix --check
check "and no line is missing there" eval \
	"setup postfix | grep 'every line is there'"
fresh

# A mount, as the package has one, in a namespace of its own: a chroot is fine
# where smtpd sees the sockets.
cat >"$D/mounted.sh" <<-'END'
	mkdir -p "$1/var/spool/postfix/run/tidemark" &&
	mount --bind "$1/run/tidemark" "$1/var/spool/postfix/run/tidemark" &&
	shift && "$@"
END
if unshare -rm true 2>/dev/null; then
	sed -i '/^smtp /s/n\( *\)-\( *\)n/n\1-\2y/' "$T/etc/postfix/master.cf"
	check "what a mount shows in the chroot is seen" \
		unshare -rm sh "$D/mounted.sh" "$T" \
		"$B/tidemark" --root "$T" setup postfix --check
	check "and the chroot stays" eval "unshare -rm sh '$D/mounted.sh' '$T' \
		'$B/tidemark' --root '$T' setup postfix |
		grep 'every line is there'"
	rm -r "${T:?}/var"
	fresh
else
	skip "what a mount shows" "no namespaces here"
fi

# ---- broken ones -----------------------------------------------------------

# found MTA - the faults that --check names, each once.
found()
{
	setup "$1" --check --json >"$D/json" 2>"$D/err"
	echo "$?" >"$D/rc"
	perl -MJSON::PP -ne '$r = decode_json($_);
		$r->{version} == 1 or die;
		next unless $r->{type} eq "finding" &&
			$r->{severity} ne "note";
		$r->{file} =~ m:^/: && $r->{what} && $r->{because} && $r->{mend}
			or die "incomplete: $_";
		$n{$r->{name}}++;
		END { print join(" ", sort keys %n) }' "$D/json"
}

# broken WANT MTA BREAK [MEND] - that finding, and no other.
broken()
{
	fresh
	eval "$3" || return 1
	got=$(found "$2")
	eval "${4:-}"
	cat "$D/json" "$D/err"
	same "$got" "$1" && same "exit status $(cat "$D/rc")" "exit status 1"
}

# Words for the table: change FILE SED-SCRIPT, where something has to change.
change()
{
	cp -p "$T/etc/$1" "$D/before"
	sed -i -e "$2" "$T/etc/$1" || return 1
	touch -r "$D/before" "$T/etc/$1"
	! cmp -s "$D/before" "$T/etc/$1"
}
cf() { change mail/sendmail.cf "$1"; }
main() { change postfix/main.cf "$1"; }
master() { change postfix/master.cf "$1"; }
conf() { change tidemark/tidemark.conf "$1"; }

# finding % mail server % break % mend
cat >"$D/table" <<'END'
conf-wrong%sendmail%conf '1i max_wrokers = 7'
socket-missing%sendmail%mv $T/run/tidemark/external.sock $T/away%mv $T/away $T/run/tidemark/external.sock
socket-missing%postfix%mv $T/run/tidemark/internal.sock $T/away%mv $T/away $T/run/tidemark/internal.sock
socket-missing%postfix%mv $T/run/tidemark/submission-policy.sock $T/away%mv $T/away $T/run/tidemark/submission-policy.sock
socket-kind%sendmail%mv $T/run/tidemark/external.sock $T/away && touch $T/run/tidemark/external.sock%mv -f $T/away $T/run/tidemark/external.sock
socket-kind%postfix%mv $T/run/tidemark/external.sock $T/away && mkdir $T/run/tidemark/external.sock%rmdir $T/run/tidemark/external.sock; mv $T/away $T/run/tidemark/external.sock
socket-link%sendmail%mv $T/run/tidemark/external.sock $T/away && ln -s $T/away $T/run/tidemark/external.sock%mv -f $T/away $T/run/tidemark/external.sock
socket-deaf%sendmail%mv $T/run/tidemark $T/awake && perl -MIO::Socket::UNIX -e 'mkdir $ARGV[0]; IO::Socket::UNIX->new(Local => "$ARGV[0]/$_.sock", Listen => 1) or die $! for "external"; symlink "$ARGV[1]/$_.sock", "$ARGV[0]/$_.sock" for ()' $T/run/tidemark $T/awake && mv $T/awake/internal.sock $T/run/tidemark%mv $T/run/tidemark/internal.sock $T/awake; rm -rf $T/run/tidemark; mv $T/awake $T/run/tidemark
socket-rights%sendmail%cf '1i O RunAsUser=smmta'
socket-rights%sendmail%cf '1i O RunAsUser=smmta' && change group 's/^postfix:.*/&,smmta/'
socket-rights%postfix%chmod 600 $T/run/tidemark/external.sock%chmod 660 $T/run/tidemark/external.sock
socket-rights%postfix%chmod 700 $T/run/tidemark%chmod 755 $T/run/tidemark
socket-folder%sendmail%chmod 775 $T/run/tidemark%chmod 755 $T/run/tidemark
socket-folder%sendmail%chmod 757 $T/run%chmod 755 $T/run
socket-unknown%sendmail%cf 's|tidemark/external.sock|tidemark/extern.sock|'
socket-unknown%postfix%master 's|tidemark/internal.sock|tidemark/intern.sock|'
socket-unknown%postfix%main 's|submission-policy.sock|policy.sock|'
socket-inet%sendmail%cf 's|local:/run/tidemark/external.sock|inet:8892@localhost|'
socket-inet%postfix%conf '/profile ext/a socket = inet:8892@127.0.0.1' && master 's|unix:/run/tidemark/external.sock|inet:127.0.0.1:8892|'
group-unknown%sendmail%conf 's/socket_group = postfix/socket_group = nobodys/'
group-unknown%postfix%conf '/policy submission/,$s/= postfix/= nobodys/'
group-denied%postfix%conf 's/socket_group = postfix/socket_group = other/'
filters-comma%sendmail%cf 's/spamass;tidemark-ext/spamass,tidemark-ext/'
filters-comma%sendmail%cf 's/tidemark-int;opendkim/tidemark-int, opendkim/'
filter-undefined%sendmail%cf 's/spamass;tide/spamas;tide/'
filter-unused%sendmail%cf '$a Xtidemark-old, S=local:/run/tidemark/external.sock, T=C:10s;S:30s;R:30s;E:60s'
daemon-unfiltered%sendmail%cf '$a O DaemonPortOptions=Name=MTA-v6, Family=inet6'
daemon-unfiltered%sendmail%cf '1i O DaemonPortOptions=Name=third, Port=2525, InputMailFilters='
daemon-unfiltered%postfix%master '$a smtps inet n - n - - smtpd'
daemon-unfiltered%postfix%master '/^smtp /a \  -o receive_override_options=no_address_mappings,no_milters'
daemon-unfiltered%postfix%main '$a receive_override_options = no_milters'
daemon-unfiltered%postfix%master '$a 192.0.2.1:2525 inet n - n - - smtpd -o smtpd_milters='
msa-unfiltered%sendmail%cf '$a O DaemonPortOptions=Port=587, Name=MSA, M=E'
daemon-profile%sendmail%cf 's/Name=MTA-int/Name=MTA-ext/;s/Name=MTA-ext, Port=smtp/Name=world, Port=smtp/'
daemon-profile%postfix%master 's/name=MTA-int/name=MTA-ext/;s/name=MTA-ext$/name=world/;0,/name=world/!s/name=world/name=MTA-ext/'
daemon-same%sendmail%cf 's/Name=MTA-int/Name=MTA-ext/'
daemon-same%postfix%master 's/name=MTA-int/name=MTA-ext/'
daemon-unnamed%sendmail%cf 's/Name=MTA-int/Name=own/;s/tidemark-int;/tidemark-ext;/;/^Xtidemark-int/d'
daemon-unnamed%postfix%master 's/name=MTA-int/name=own/;s/internal.sock/external.sock/'
cf-older%sendmail%touch $T/etc/mail/sendmail.mc
flag-refuses%sendmail%cf 's|external.sock, |external.sock, F=R, |'
flag-refuses%postfix%main 's/= accept/= reject/'
flag-refuses%postfix%master 's|unix:/run/tidemark/external.sock|{&,default_action=reject}|'
timeout-short%sendmail%cf 's/C:10s;S:30s;R:30s;E:60s/C:1s;S:30s;R:30s;E:60s/'
timeout-short%postfix%main '$a milter_command_timeout = 1s'
timeout-long%sendmail%cf '/^Xtidemark-int/s/, T=.*//'
timeout-long%postfix%master '$a smtps inet n - n - - smtpd -o smtpd_milters=unix:/run/tidemark/internal.sock -o milter_content_timeout=10m' && conf 's/300/400/'
order%sendmail%cf 's/spamass;tidemark-ext/tidemark-ext;spamass/'
order%postfix%master 's|=\(unix:/run/spamass.sock\),\(.*\)|=\2,\1|'
workers%sendmail%cf 's/Children=100/Children=1000/'
workers%sendmail%cf 's/Children=100/Children=0/'
workers%sendmail%cf '/MaxDaemonChildren/d'
workers%postfix%master '/^smtp /s/-\( *\)smtpd/101\1smtpd/'
chroot%postfix%master '/^smtp /s/n\( *\)-\( *\)n/n\1-\2y/'
chroot%postfix%main 's/^compat.*//' && master '/^smtp /s/n\( *\)-\( *\)n/n\1-\2-/'
chroot%postfix%master '/^smtp /s/n\( *\)-\( *\)n/n\1-\2y/' && mkdir -p $T/var/spool/postfix/run && ln -s $T/run/tidemark $T/var/spool/postfix/run/tidemark%rm -r $T/var
action-unknown%postfix%main 's/= accept/= acept/'
action-unknown%postfix%master 's|unix:/run/tidemark/external.sock|{&,default_action=acept}|'
action-unknown%postfix%master 's|smtpd_milters=.*\(unix:/run/tidemark/external.sock\)|{ smtpd_milters = { unix:/run/spamass.sock, connect_timeout=5s }, { \1, { default_action = acept } } }|'
protocol%postfix%main '$a milter_protocol = 2'
policy-places%postfix%master '/end_of_data/d'
policy-places%postfix%master '/smtpd_data/d'
policy-action%postfix%main '/service_default_action/d'
policy-charged%postfix%conf '/charged_by/d'
END
while IFS='%' read -r want mta break mend; do
	check "$want: $mta: $(echo "$break" | tr -d '\044' | cut -c1-60)" \
		broken "$want" "$mta" "$break" "$mend"
done <"$D/table"
fresh

# ---- the table, the manual and the cases -------------------------------------

sed -n 's/^	X([A-Z_]*, "\([a-z-]*\)".*/\1/p' tools/setup/findings.h |
	sort >"$D/names"
tried()
{
	{
		cut -d'%' -f1 "$D/table"
		echo while-away
		echo local-route
		echo left-alone # notes, tried above
	} | sort -u | diff "$D/names" -
}
documented()
{
	sed -n '/^\.Ss Findings/,/^\.Sh/s/^\.It Li \([a-z-]*\)$/\1/p' \
		tools/man/tidemark-setup.1 |
		sort | diff "$D/names" -
}
check "there are findings" test "$(wc -l <"$D/names")" -gt 25
check "each has a case here" tried
check "each is in tidemark-setup(1), and no other" documented

# ---- sendmail: print, apply, undo ----------------------------------------------

# Macros enough to make a .cf of filters and daemons.
cat >"$D/cf.m4" <<'END'
divert(-1)
define(`MAIL_FILTER', `divert(1)X$1, $2
divert(-1)')
define(`INPUT_MAIL_FILTER', `MAIL_FILTER(`$1', `$2')divert(3)O InputMailFilters=$1
divert(-1)')
define(`FEATURE', `ifelse(`$1', `no_default_msa', `define(`_NO_MSA_')')')
define(`DAEMON_OPTIONS', `divert(2)O DaemonPortOptions=$1
divert(-1)define(`_DPO_')')
define(`MAILER', `')
m4wrap(`divert(0)O MaxDaemonChildren=100
ifdef(`_DPO_', `', `O DaemonPortOptions=Name=MTA
')ifdef(`_NO_MSA_', `', `O DaemonPortOptions=Port=587, Name=MSA, M=E
')undivert')
END

# mc LINE... - a sendmail.mc with these lines, and its sendmail.cf.
mc()
{
	fresh
	{
		echo "include(\`$D/cf.m4')dnl"
		for line; do
			echo "$line"
		done
		echo "MAILER(\`smtp')dnl"
	} >"$T/etc/mail/sendmail.mc"
	chmod 640 "$T/etc/mail/sendmail.mc"
	{
		m4 "$T/etc/mail/sendmail.mc"
		echo '### /etc/mail/sendmail.mc ###'
		sed 's/^/# /' "$T/etc/mail/sendmail.mc"
	} >"$T/etc/mail/sendmail.cf"
}

# added LINE... - that setup sendmail would add, all of them.
added()
{
	setup sendmail >"$D/printed" || return 1
	cat "$D/printed"
	for line; do
		echo "$line"
	done >"$D/want"
	sed -n 's/^+//p' "$D/printed" | diff "$D/want" -
}

times='T=C:10s;S:30s;R:30s;E:60s'
ext="MAIL_FILTER(\`tidemark-ext', \`S=local:/run/tidemark/external.sock, $times')dnl"
int="MAIL_FILTER(\`tidemark-int', \`S=local:/run/tidemark/internal.sock, F=T, $times')dnl"

mc "FEATURE(\`no_default_msa')dnl" "DAEMON_OPTIONS(\`Name=MTA-v4, Port=smtp')dnl" \
	"dnl DAEMON_OPTIONS(\`Name=old')" \
	"DAEMON_OPTIONS(\`Name=MSP, Port=submission, M=Ea')dnl"
check "two daemons get their filters" added "dnl Tidemark" "$ext" "$int" \
	"DAEMON_OPTIONS(\`Name=MTA-v4, Port=smtp, InputMailFilters=tidemark-ext')dnl" \
	"DAEMON_OPTIONS(\`Name=MSP, Port=submission, M=Ea, InputMailFilters=tidemark-int')dnl"
check "nothing was changed by that" lacks tidemark "$T/etc/mail/sendmail.mc"
mc
check "daemons that sendmail adds by itself get lines" added "dnl Tidemark" \
	"$ext" "$int" \
	"DAEMON_OPTIONS(\`Name=MTA, InputMailFilters=tidemark-ext')dnl" \
	"FEATURE(\`no_default_msa')dnl" \
	"DAEMON_OPTIONS(\`Port=587, Name=MSA, M=E, InputMailFilters=tidemark-int')dnl"
mc "FEATURE(\`no_default_msa')dnl" \
	"MAIL_FILTER(\`spamass', \`S=local:/run/spamass.sock')dnl" \
	"MAIL_FILTER(\`clam', \`S=local:/run/clam.sock')dnl" \
	"DAEMON_OPTIONS(\`Name=MTA-ext, InputMailFilters=spamass,clam, Port=smtp')dnl"
check "Tidemark comes last, and a comma is mended" added "dnl Tidemark" \
	"$ext" \
	"DAEMON_OPTIONS(\`Name=MTA-ext, Port=smtp, InputMailFilters=spamass;clam;tidemark-ext')dnl"
mc "FEATURE(\`no_default_msa')dnl" \
	"INPUT_MAIL_FILTER(\`spamass'," "  \`S=local:/run/spamass.sock')dnl" \
	"DAEMON_OPTIONS(\`Name=MTA-ext')dnl"
check "the list of all daemons is copied" added "dnl Tidemark" "$ext" \
	"DAEMON_OPTIONS(\`Name=MTA-ext, InputMailFilters=spamass;tidemark-ext')dnl"
printf '#!/bin/sh\ncase $(cat "${1#-C}") in *RunAs*) ;; esac\necho "> "\n' >"$D/sendmail"
printf '#!/bin/sh\ngrep -n "^Xtide" "${1#-C}" | sed "s/^/line /"\n' >"$D/picky"
chmod 755 "$D/sendmail" "$D/picky"

snapshot() { (cd "$T/etc" && find . -type f ! -name '*.tidemark-*' -exec ls -ln {} + -exec cksum {} +) | sed 's/  *[A-Z][a-z][a-z] .*\.\// /'; }

check "a .cf that somebody changed is left alone" eval \
	"echo 'O Other=1' >>'$T/etc/mail/sendmail.cf'; ! setup sendmail --apply --program '$D/sendmail' && lacks tidemark '$T/etc/mail/sendmail.mc'"
mc "FEATURE(\`no_default_msa')dnl" "DAEMON_OPTIONS(\`Name=MTA-ext')dnl"
snapshot >"$D/0"
refused()
{
	setup sendmail --apply --program "$D/picky" 2>"$D/err"
	same "exit status $?" "exit status 2" &&
		grep 'sendmail does not like' "$D/err" &&
		snapshot | diff "$D/0" - && lacks tidemark "$T/etc/mail/sendmail.mc"
}
check "what sendmail does not like is not written" refused
check "it applies" exits 0 setup sendmail --apply --program "$D/sendmail"
check "the .mc has it" grep -x "$ext" "$T/etc/mail/sendmail.mc"
check "the .cf as well" grep '^Xtidemark-ext, S=local' "$T/etc/mail/sendmail.cf"
check "with the .mc as a comment, where it was" \
	grep -x "# $ext" "$T/etc/mail/sendmail.cf"
check "rights are kept" same "$(stat -c %a "$T/etc/mail/sendmail.mc")" 640
check "nothing is wrong then" exits 0 setup sendmail --check
backups() { find "$T/etc" -name '*.tidemark-*' | wc -l; }
check "there are two backups" same "$(backups)" 2
snapshot >"$D/1"
check "twice is once" exits 0 setup sendmail --apply --program "$D/sendmail"
check "nothing has changed" eval "snapshot | diff '$D/1' -"
check "and there are no more backups" same "$(backups)" 2
check "no folder is left behind" same \
	"$(find "$T/etc/mail" -name '.tidemark*')" ''
chmod 666 "$T/etc/tidemark/setup-sendmail.undo"
check "no undo by what others may have written" exits 1 setup sendmail --undo
check "it is all there" eval "snapshot | grep -v undo >'$D/2'; grep -v undo '$D/1' | diff '$D/2' -"
chmod 600 "$T/etc/tidemark/setup-sendmail.undo"
check "undo" exits 0 setup sendmail --undo
check "all is as it was" eval "snapshot | diff '$D/0' -"
check "and no backup is left" same "$(backups)" 0
check "there is no second undo" exits 1 setup sendmail --undo
setup sendmail --apply --program "$D/sendmail" >/dev/null
echo "dnl later" >>"$T/etc/mail/sendmail.mc"
check "undo leaves alone what was changed since" exits 1 setup sendmail --undo
check "with that change in it" grep later "$T/etc/mail/sendmail.mc"
check "but puts back the rest" lacks tidemark "$T/etc/mail/sendmail.cf"

# What we cannot change: daemons of a file that the .mc includes.
says() { pattern=$1; shift; "$@" 2>&1 | grep -e "$pattern"; }
echo "DAEMON_OPTIONS(\`Name=inc, Port=26')dnl" >"$D/inc.m4"
mc "FEATURE(\`no_default_msa')dnl" "include(\`$D/inc.m4')dnl"
check "a daemon of an included file is told of" says \
	'daemon inc has no filter of Tidemark' setup sendmail
check "and no other daemon is added for it" exits 2 setup sendmail --apply
check "nothing was changed" lacks tidemark "$T/etc/mail/sendmail.mc"
{
	echo "$ext"
	echo "DAEMON_OPTIONS(\`Name=MTA-ext, InputMailFilters=tidemark-ext')dnl"
} >"$D/inc.m4"
mc "FEATURE(\`no_default_msa')dnl" "include(\`$D/inc.m4')dnl"
check "with its filter there is nothing to do" says 'every line is there' \
	setup sendmail --apply
mc "FEATURE(\`no_default_msa')dnl" "DAEMON_OPTIONS(Port=26)dnl"
check "a daemon without quotes is told of" says \
	'daemon Daemon0 has no filter' setup sendmail

# Filters of a file that the .mc includes, beside its own.
echo "INPUT_MAIL_FILTER(\`spamass', \`S=local:/run/spamass.sock')dnl" >"$D/inc.m4"
mc "FEATURE(\`no_default_msa')dnl" "include(\`$D/inc.m4')dnl" \
	"INPUT_MAIL_FILTER(\`clamav', \`S=local:/run/clamav.sock')dnl" \
	"DAEMON_OPTIONS(\`Name=MTA-ext')dnl"
sed -i -e '/^O InputMailFilters=spamass/d' \
	-e 's/^O InputMailFilters=clamav/O InputMailFilters=spamass, clamav/' \
	"$T/etc/mail/sendmail.cf"
check "no filter of an included file is lost" says \
	'InputMailFilters=spamass;clamav;tidemark-ext' setup sendmail
mc "FEATURE(no_default_msa)dnl" "DAEMON_OPTIONS(\`Name=MTA-ext')dnl" \
	"DAEMON_OPTIONS(\`Port=587, Name=MSA, M=E')dnl"
one_msa()
{
	setup sendmail >"$D/printed" 2>&1
	cat "$D/printed"
	same "$(grep -c '^+.*Port=587' "$D/printed")" 1 &&
		lacks '^+FEATURE' "$D/printed"
}
check "a daemon on 587 is not doubled" one_msa

# Whatever goes wrong, the old files stay, and nothing beside them.
mc "FEATURE(\`no_default_msa')dnl" "DAEMON_OPTIONS(\`Name=MTA-ext')dnl"
snapshot >"$D/0"
untouched()
{
	snapshot | diff "$D/0" - && same "$(backups)" 0 &&
		same "$(find "$T/etc" -name '.tidemark*')" ''
}
printf '#!/bin/sh\necho "dnl late" >>"%s"\n' "$T/etc/mail/sendmail.mc" \
	>"$D/meddler"
chmod 755 "$D/meddler"
meddled()
{
	says 'somebody changed it just now' \
		setup sendmail --apply --program "$D/meddler" || return 1
	grep 'dnl late' "$T/etc/mail/sendmail.mc" || return 1
	sed -i '/dnl late/d' "$T/etc/mail/sendmail.mc"
	untouched
}
check "a file that changes meanwhile is not overwritten" meddled
printf 'dnl \000\n' >>"$T/etc/mail/sendmail.mc"
snapshot >"$D/0"
check "nor is one with a NUL in it" says 'there is a NUL in it' \
	setup sendmail --apply --program "$D/sendmail"
check "all of it is there" untouched
mc "FEATURE(\`no_default_msa')dnl" "DAEMON_OPTIONS(\`Name=MTA-ext')dnl"
sed -i 's/^# /# a comment that needs some room: &/' "$T/etc/mail/sendmail.mc"
cat >"$D/full.sh" <<-'END'
	etc=$1/etc
	shift
	mount -t tmpfs -o size=128k none "$etc" && cp -a "$SAVED/." "$etc" ||
		exit 99
	dd if=/dev/zero of="$etc/filler" bs=4k 2>/dev/null
	dd if=/dev/null of="$etc/filler" bs=4k seek=$(($(stat -c %s \
		"$etc/filler") / 4096 - ${ROOM:-0})) 2>/dev/null
	"$@"
	code=$?
	rm "$etc/filler"
	cp -a "$etc/." "$SAVED.after"
	exit $code
END
# full_disk ROOM - with so many pages left, --apply changes all or nothing.
full_disk()
{
	rm -rf "${D:?}/etc" "$D/etc.after"
	cp -a "$T/etc" "$D/etc"
	mkdir "$D/etc.after"
	SAVED=$D/etc ROOM=$1 unshare -rm sh "$D/full.sh" "$T" "$B/tidemark" \
		--root "$T" setup sendmail --apply --program "$D/sendmail"
	case $? in
	2) diff -r "$D/etc" "$D/etc.after" ;;
	0) applied=yes && grep tidemark "$D/etc.after/mail/sendmail.cf" ;;
	*) return 1 ;;
	esac
}
if unshare -rm true 2>/dev/null; then
	room=0 applied=no
	while [ "$applied" = no ] && [ "$room" -lt 16 ]; do
		check "a full disk, $room pages left" full_disk "$room"
		room=$((room + 1))
	done
	check "it did not suffice at first, and did in the end" \
		test "$room" -gt 3 -a "$applied" = yes
else
	skip "a full disk" "no namespaces here"
fi

# By settings that are wrong nothing is changed.
mc "FEATURE(\`no_default_msa')dnl" "DAEMON_OPTIONS(\`Name=MTA-ext')dnl"
echo "max_wrokers = 7" >>"$T/etc/tidemark/tidemark.conf"
snapshot >"$D/0"
check "by wrong settings nothing is applied" exits 2 setup sendmail --apply \
	--program "$D/sendmail"
check "all is as before" untouched
check "and it says so" says 'mend them first' setup sendmail --apply \
	--program "$D/sendmail"

# A sendmail.cf by hand: lines for it, and hands off.
fresh
rm "$T/etc/mail/sendmail.mc"
check "without a .mc nothing is missing in a sound .cf" says \
	'every line is there' setup sendmail
cat >"$T/etc/mail/sendmail.cf" <<-'END'
	V10/Berkeley
	O DaemonPortOptions=Name=MTA,
	    Port=smtp
	O DaemonPortOptions=Name=MSA, Port=587, M=Ea
	O InputMailFilters=clam
	Xclam, S=local:/run/clam.sock
END
cat >"$D/want" <<-END
	O DaemonPortOptions=Name=MTA,    Port=smtp, InputMailFilters=clam;tidemark-ext
	O DaemonPortOptions=Name=MSA, Port=587, M=Ea, InputMailFilters=clam;tidemark-int
	Xtidemark-ext, S=local:/run/tidemark/external.sock, $times
	Xtidemark-int, S=local:/run/tidemark/internal.sock, F=T, $times
END
cf_lines()
{
	setup sendmail >"$D/printed" && sed -n 's/^+//p' "$D/printed" |
		diff "$D/want" - && lacks --apply "$D/printed" &&
		lacks make "$D/printed"
}
check "a .cf by hand gets lines of its own kind" cf_lines
check "but nothing is applied to it" exits 2 setup sendmail --apply
check "it is as it was" lacks tidemark "$T/etc/mail/sendmail.cf"
printf 'V10/Berkeley' >"$T/etc/mail/sendmail.cf"
check "not even a daemon: it gets its line" says \
	'^+O DaemonPortOptions=Name=MTA, InputMailFilters=tidemark-ext' \
	setup sendmail

# RunAsUser: the user's group, and a drop-in.
mc "FEATURE(\`no_default_msa')dnl" "DAEMON_OPTIONS(\`Name=MTA-ext')dnl"
echo 'O RunAsUser=smmta' >>"$T/etc/mail/sendmail.cf"
dropin=$T/etc/systemd/system/tidemark.service.d/setup.conf
check "RunAsUser: its group gets the sockets" says '^+socket_group = smmta' \
	setup sendmail
check "and the daemon may give them to it" says '^+SupplementaryGroups=smmta' \
	setup sendmail
mkdir -p "${dropin%/*}"
printf '[Service]\nSupplementaryGroups=other\n' >"$dropin"
check "beside the groups that it has" eval \
	"! setup sendmail | grep '^-.*SupplementaryGroups'"

# ---- Postfix: print, apply, undo ------------------------------------------------

stock()
{
	fresh
	printf 'compatibility_level = 3.6\nsmtpd_milters = unix:/run/other.sock\n' \
		>"$T/etc/postfix/main.cf"
	cat >"$T/etc/postfix/master.cf" <<-'END'
		smtp      inet  n       -       y       -       -       smtpd
		submission inet n       -       y       -       -       smtpd
		  -o smtpd_sasl_auth_enable=yes
		#  -o smtpd_milters=no
		  -o smtpd_recipient_restrictions=reject_unlisted_recipient,permit_sasl_authenticated,reject
		pickup    unix  n       -       y       60      1       pickup
	END
	printf 'include conf.d/*.conf\n[policy submission]\n[profile external]\n[profile internal]\ncharged_by = policy\n' \
		>"$T/etc/tidemark/tidemark.conf"
	sed -i 's/^postfix:.*/postfix:x:'"$(id -g)"':/' "$T/etc/group"
}
stock
snapshot >"$D/0"
printf '#!/bin/sh\nexit 0\n' >"$D/postconf"
printf '#!/bin/sh\n! grep -q tidemark_policy "$2/main.cf" || echo "unused parameter" >&2\n' \
	>"$D/fussy"
chmod 755 "$D/postconf" "$D/fussy"
check "Postfix: it prints" exits 0 setup postfix --program "$D/postconf"
check "and changes nothing" eval "snapshot | diff '$D/0' -"
check "what postconf does not like is not written" eval \
	"! setup postfix --apply --program '$D/fussy' && snapshot | diff '$D/0' -"
check "it applies" exits 0 setup postfix --apply --program "$D/postconf"
master_is()
{
	diff - "$T/etc/postfix/master.cf" <<-'END'
		smtp      inet  n       -       n       -       -       smtpd
		  -o smtpd_milters=unix:/run/other.sock,{unix:/run/tidemark/external.sock,default_action=accept}
		  -o milter_macro_daemon_name=MTA-ext
		submission inet n       -       n       -       -       smtpd
		  -o smtpd_sasl_auth_enable=yes
		#  -o smtpd_milters=no
		  -o smtpd_recipient_restrictions=$tidemark_recipient
		  -o smtpd_milters=unix:/run/other.sock,{unix:/run/tidemark/internal.sock,default_action=tempfail}
		  -o milter_macro_daemon_name=MTA-int
		  -o smtpd_data_restrictions=$tidemark_policy
		  -o smtpd_end_of_data_restrictions=$tidemark_policy
		pickup    unix  n       -       y       60      1       pickup
	END
}
main_is()
{
	diff - "$T/etc/postfix/main.cf" <<-'END'
		compatibility_level = 3.6
		smtpd_milters = unix:/run/other.sock
		tidemark_policy = check_policy_service unix:/run/tidemark/submission-policy.sock
		tidemark_recipient = reject_unlisted_recipient, $tidemark_policy, permit_sasl_authenticated, reject
		smtpd_policy_service_default_action = DUNNO
	END
}
check "master.cf is as it should be" master_is
check "main.cf as well" main_is
check "a drop-in gives the daemon the group" grep -x \
	'SupplementaryGroups=postfix' "$dropin"
check "settings give it the sockets" grep -c 'socket_group = postfix' \
	"$T/etc/tidemark/conf.d/setup.conf"
check "and workers enough" grep -x 'max_workers = 300' \
	"$T/etc/tidemark/conf.d/setup.conf"
check "nothing is wrong then" exits 0 setup postfix --check
check "beside another filter mail of the world passes while we are away" says \
	'^    smtp: accept: mail passes' setup postfix --check
check "and mail of our own people waits" says \
	'^    submission: tempfail: 451' setup postfix --check
snapshot >"$D/1"
check "twice is once" exits 0 setup postfix --apply --program "$D/postconf"
check "nothing has changed" eval "snapshot | diff '$D/1' -"
check "undo" exits 0 setup postfix --undo
check "all is as it was" eval "snapshot | diff '$D/0' -"
check "folders that were made are gone" test ! -e \
	"$T/etc/systemd/system/tidemark.service.d"

# ---- what the package does when it is removed ------------------------------------

# As dpkg calls it, on the tree.  Of tidemark only setup is let through: the
# rest is about this machine.
mkdir -p "$D/bin"
cat >"$D/bin/tidemark" <<END
#!/bin/sh
[ "\$1" = setup ] || exit 0
exec "$(realpath "$B")/tidemark" --root "\$DPKG_ROOT" "\$@"
END
printf '#!/bin/sh\n' >"$D/bin/deb-systemd-invoke"
chmod 755 "$D/bin/"*
maintain()
{
	script=$1
	shift
	[ -n "$T" ] && env PATH="$D/bin:$PATH" DPKG_ROOT="$T" \
		sh "conf/debian/tidemark.$script" "$@" >"$D/told" 2>&1
	rc=$?
	cat "$D/told"
	return $rc
}
stock
snapshot >"$D/0"
setup postfix --apply --program "$D/postconf" >/dev/null
snapshot >"$D/1"
check "an upgrade of the package changes nothing" maintain prerm upgrade 9
check "in no file" eval "snapshot | diff '$D/1' -"
check "and says nothing" test ! -s "$D/told"
check "its removal is a success" maintain prerm remove
check "and puts back what --apply wrote" eval "snapshot | diff '$D/0' -"
check "says so" grep 'files of postfix are as they were' "$D/told"
check "and that it has to be read" grep 'restart postfix' "$D/told"
check "no line of it is left" lacks /etc/postfix/ "$D/told"
check "those of a sendmail that we did not write are told" grep -F \
	'/etc/mail/sendmail.cf:7:Xtidemark-ext, S=' "$D/told"
setup postfix --apply --program "$D/postconf" >/dev/null
echo '# mine' >>"$T/etc/postfix/master.cf"
snapshot >"$D/1"
check "a file that was changed since: removal is a success" maintain prerm remove
check "all or nothing is put back" eval "snapshot | diff '$D/1' -"
check "the lines that have to go are told" grep -F \
	'/etc/postfix/master.cf:2:  -o smtpd_milters=unix:/run/other.sock,{unix:/run/tidemark/' \
	"$D/told"
check "comments are no such lines" lacks mine "$D/told"
check "at a purge the kept files are named" maintain postrm purge
check "as they were before" grep -E \
	'^  /.*/etc/postfix/master.cf: /.*/master.cf.tidemark-[0-9]' "$D/told"
check "a record is kept no longer" test ! -e "$T/etc/tidemark"
printf '#!/bin/sh\nexit 1\n' >"$D/bin/tidemark"
stock
mkdir -p "$T/etc/tidemark"
echo nonsense >"$T/etc/tidemark/setup-postfix.undo"
check "whatever happens, removal is a success" maintain prerm remove
rm -f "$T/etc/tidemark/setup-postfix.undo"

# ---- Postfix: other filters ------------------------------------------------------

# Other filters stay as they are written; what we could not write again is
# left to somebody who can.
others()
{
	stock
	sed -i "s|^smtpd_milters.*|smtpd_milters = $1|" "$T/etc/postfix/main.cf"
}
others '{ unix:/run/a.sock, default_action=accept, command_timeout=5s } $more\
more = inet:localhost:11332\
nobody = cares'
check "a filter keeps its own settings, and \$names are followed" says \
	'^+  -o smtpd_milters={unix:/run/a.sock,default_action=accept,command_timeout=5s},inet:localhost:11332,{unix:/run/tidemark/external.sock,default_action=accept}$' \
	setup postfix
others '{ unix:/run/a.sock, { default_action = accept } }'
check "braces in braces are left to others" says 'by hand' setup postfix --apply
others '${cond?unix:/run/a.sock}'
check "conditions, too" says 'by hand' setup postfix --apply
stock
sed -i '/^submission/a \  -o { smtpd_milters = unix:/run/a.sock, unix:/run/b.sock }' \
	"$T/etc/postfix/master.cf"
check "and lists in braces" says 'in braces; change it by hand' \
	setup postfix --apply
stock
sed -i '/^submission/a \  -o smtpd_milters=unix:/run/a.sock\n  -o smtpd_milters=unix:/run/b.sock' \
	"$T/etc/postfix/master.cf"
check "of two lines the one that counts is changed" says \
	'^-  -o smtpd_milters=unix:/run/b.sock$' setup postfix
stock
sed -i '/sasl_auth_enable/a \  -o milter_macro_daemon_name=ORIGINATING' \
	"$T/etc/postfix/master.cf"
setup postfix >"$D/printed"
check "a name that others may go by stays" lacks MTA-int "$D/printed"
check "the socket decides" grep internal.sock "$D/printed"
stock
sed -i 's/$/\r/' "$T/etc/postfix/master.cf"
check "lines that end as on other systems are understood" says \
	'^+  -o smtpd_milters=unix:/run/other.sock,{unix:/run/tidemark/ext' \
	setup postfix

# What stands in other settings already, or in other services' lists, is not
# written over: all stays as it was.
pf_untouched()
{
	snapshot >"$D/0"
	says "$1" setup postfix --apply --program "$D/postconf" &&
		snapshot | diff "$D/0" -
}
stock
echo 'max_workers = 200' >"$T/etc/tidemark/conf.d/site.conf"
check "settings that would be said twice" pf_untouched \
	'would have mistakes with these lines'
stock
rm -f "$T/etc/tidemark/conf.d/site.conf"
echo 'smtpd_data_restrictions = reject_unauth_pipelining, permit' \
	>>"$T/etc/postfix/main.cf"
setup postfix --apply --program "$D/postconf" >/dev/null
check "a list of several words stands in main.cf" grep -x \
	'tidemark_data = reject_unauth_pipelining, permit, $tidemark_policy' \
	"$T/etc/postfix/main.cf"
check "and is named in master.cf" grep -x \
	'  -o smtpd_data_restrictions=$tidemark_data' "$T/etc/postfix/master.cf"
setup postfix --undo >/dev/null
stock
printf '%s\n' 'submissions inet n - n - - smtpd' \
	'  -o smtpd_sasl_auth_enable=yes' \
	'  -o smtpd_recipient_restrictions=permit_sasl_authenticated,reject' \
	>>"$T/etc/postfix/master.cf"
check "two services with different lists" pf_untouched \
	'cannot be written beside those of other services'
stock
sed -i 's/reject_unlisted_recipient,/check_client_access,inline:{{192.0.2.1=OK}},/' \
	"$T/etc/postfix/master.cf"
check "a list with braces" pf_untouched 'add .* by hand'
stock
check "what becomes of other filters' mail is not ours to say" lacks \
	milter_default_action "$(setup postfix >"$D/printed"; echo "$D/printed")"
echo 'milter_default_action = reject' >>"$T/etc/postfix/main.cf"
check "nor whether one who set it for all meant us" says \
	'{unix:/run/tidemark/external.sock,default_action=accept}' setup postfix

# Ours, by hand or by an older version, without an action of its own.
plain()
{
	stock
	sed -i '/^smtp /a \  -o smtpd_milters=unix:/run/tidemark/external.sock,unix:/run/b.sock' \
		"$T/etc/postfix/master.cf"
}
plain
check "a filter of ours without an action gets one, in its place" says \
	'^+  -o smtpd_milters={unix:/run/tidemark/external.sock,default_action=accept},unix:/run/b.sock$' \
	setup postfix
echo 'milter_default_action = accept' >>"$T/etc/postfix/main.cf"
setup postfix >"$D/printed"
check "unless it is set for all" lacks '^+.*external.sock' "$D/printed"
plain
sed -i 's|=unix:/run/tidemark/external.sock|={unix:/run/tidemark/gone.sock,default_action=accept}|' \
	"$T/etc/postfix/master.cf"
check "one that is gone is written again" says \
	'^+  -o smtpd_milters=unix:/run/b.sock,{unix:/run/tidemark/external.sock,' \
	setup postfix
stock

# As Debian's package leaves it: one group for mail servers, and a mount.
stock
echo "tidemark-mta:x:4205:tidemark,postfix" >>"$T/etc/group"
mkdir -p "$T/usr/lib/systemd/system" "$T/var/spool/postfix"
mount=var-spool-postfix-run-tidemark.mount
touch "$T/usr/lib/systemd/system/$mount"
setup postfix >"$D/printed"
check "with a group for mail servers none is given" lacks socket_group \
	"$D/printed"
check "and no drop-in" lacks SupplementaryGroups "$D/printed"
check "with the package's mount the chroot stays" lacks \
	'+smtp .* n  *-  *n ' "$D/printed"
check "and it has to be brought up" grep "systemctl start $mount" "$D/printed"
mkdir -p "$T/etc/systemd/system"
ln -s /dev/null "$T/etc/systemd/system/$mount"
check "unless it is masked" says '^+smtp .* n  *-  *n ' setup postfix
rm -r "${T:?}/usr" "${T:?}/var"
stock

# Sockets inside the queue directory: the chroot may stay.
sed -i 's|^\[profile external\]|&\nsocket = local:/var/spool/postfix/tidemark/external.sock|' \
	"$T/etc/tidemark/tidemark.conf"
check "a socket in the chroot is seen from there" says \
	'^+.*{unix:tidemark/external.sock,' setup postfix

# ---- elsewhere ----------------------------------------------------------------

rm -rf "$T/etc/mail" "$T/etc/postfix"
for mta in sendmail postfix; do
	check "no $mta: the lines in general" says external.sock setup $mta
	check "and it says so" says 'there is no' setup $mta
	check "nothing to apply" exits 2 setup $mta --apply
	check "nothing to check" exits 2 setup $mta --check
done
check "neither of them" exits 2 setup exim
check "one thing at a time" exits 2 setup sendmail --apply --undo

tap_end
