#!/bin/sh
# t_package - the life of the packages that `make deb' has built, on a machine
# of their own under a systemd of its own: installed, started, mail, upgraded
# with what it knew and with its page, removed, purged.
# shellcheck disable=SC2016 # perl and the inner shell, by intent
set -u
. tests/lib/tap.sh
. tests/deb/box.sh

B=${B:-build}
FEED=${FEED:-$B/tests/load/feed}
deb=$(find "$B/deb" -name 'tidemark_*.deb' 2>/dev/null)
web=$(find "$B/deb" -name 'tidemark-web_*.deb' 2>/dev/null)

if [ -z "$deb" ] || [ -z "$web" ]; then
	tap_skip "the packages" "none are built (make deb)"
fi
box_can || tap_skip "the life of the packages" "$box_why"

work=$(mktemp -d) || exit 2
trap 'box_close; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# ---- what goes into the box --------------------------------------------------

# repack PACKAGE VERSION - the same as a later version, into $work; with
# another default in the configuration file, so that dpkg has to choose.
repack()
{
	rm -rf "$work/tree"
	dpkg-deb -R "$1" "$work/tree" || return
	name=$(sed -n 's/^Package: //p' "$work/tree/DEBIAN/control")
	sed -i -e "s/^Version: .*/Version: $2/" \
		-e "s/tidemark (= [^)]*)/tidemark (= $2)/" \
		"$work/tree/DEBIAN/control" || return
	shipped=$work/tree/etc/tidemark/tidemark.conf
	! [ -e "$shipped" ] || echo "# shipped with $2" >>"$shipped"
	dpkg-deb --root-owner-group -b "$work/tree" "$work/${name}_$2.deb"
}

later_versions()
{
	for version in 9 9.1; do
		repack "$deb" "$version" && repack "$web" "$version" || return
	done
}

# Six drops that hardly leak, then banned.
site_conf()
{
	cat <<-END
		ban_hook = /usr/share/tidemark/hook/ban-spool
		[profile external]
		oksender_mode = enforce
		oksender_limit = 6/1h
		oksender_leak = 1h
		oksender_ban = 1h
		[profile internal]
	END
}

# letter FROM - a mailbox with one message.
letter()
{
	printf 'From %s Mon Mar  3 07:52:10 2025\nReturn-Path: <%s>\nFrom: %s\n' \
		"$1" "$1" "$1"
	printf 'To: ann@example.org\nSubject: x\n\nx\n\n'
}

# ---- words -------------------------------------------------------------------

is()
{
	same "$(box systemctl "$1" "$3" 2>&1)" "$2"
}

property()
{
	box systemctl show -P "$1" "${2:-tidemark}"
}

# looks PATH MODE OWNER GROUP
looks()
{
	same "$(box stat -c '%a %U %G' "$1")" "$2 $3 $4"
}

# as USER COMMAND... - with all its groups, as servers change to a user.
as()
{
	as_user=$1
	shift
	box setpriv --reuid="$as_user" --regid="$(box id -g "$as_user")" \
		--init-groups "$@"
}

# mail USER COUNT FROM - how many passed is in $passed.
mail()
{
	letter "$3" >"$work/letter"
	box sh -c 'cat >/tmp/letter && chmod 644 /tmp/letter' <"$work/letter"
	as "$1" /srv/box/feed -s local:/run/tidemark/external.sock -n "$2" \
		--client 192.0.2.1 --quiet /tmp/letter >"$work/out" 2>&1
	cat "$work/out"
	passed=$(sed -n 's/.*\backed=\([0-9]*\).*/\1/p' "$work/out")
}

# sends PASSED USER COUNT FROM
sends()
{
	want=$1
	shift
	mail "$@"
	same "$passed" "$want"
}

tidemark()
{
	box tidemark "$@"
}

# json EXPRESSION COMMAND... - true if it holds for some record, $r.
json()
{
	want=$1
	shift
	tidemark "$@" --json >"$work/json" 2>&1
	cat "$work/json"
	WANT=$want perl -MJSON::PP -ne '
		$r = decode_json($_);
		$ok = 1 if eval $ENV{WANT};
		die $@ if $@;
		END { exit($ok ? 0 : 1) }' "$work/json"
}

answers()
{
	tidemark status
}

install_deb()
{
	box env DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i "$@" &&
		is is-active active tidemark && within 30 answers
}

# What has been written in the box, but for what dpkg and systemd keep of it,
# and for the files of users and groups, which stay.
census()
{
	box_written |
		grep -vE '^/(var/(lib/dpkg|log|cache|tmp)|srv/box)/' |
		grep -vE '^/etc/(\.pwd\.lock|(passwd|group|g?shadow)-?)$' | sort
}

# ---- installed ---------------------------------------------------------------

listens_for_mta()
{
	looks /run/tidemark/external.sock 660 tidemark tidemark-mta &&
		looks /run/tidemark/internal.sock 660 tidemark tidemark-mta &&
		looks /run/tidemark/control.sock 660 tidemark tidemark
}

folders()
{
	looks /run/tidemark 755 tidemark tidemark &&
		looks /var/lib/tidemark 750 tidemark tidemark &&
		looks /etc/tidemark/conf.d 755 root root
}

# No capability, no way to more, system calls filtered.
confined()
{
	box cat "/proc/$(property MainPID)/status" >"$work/status"
	grep -E 'Cap|NoNew|Seccomp:' "$work/status"
	grep -q '^CapEff:.*0000000000000000' "$work/status" &&
		grep -q '^NoNewPrivs:.*1' "$work/status" &&
		grep -q '^Seccomp:.*2' "$work/status"
}

others_are_off()
{
	is is-enabled disabled tidemark-egress &&
		is is-active inactive tidemark-egress
}

# ---- the watchdog ------------------------------------------------------------

another_pid()
{
	[ "$(property MainPID)" -ne "$1" ] && is is-active active tidemark
}

# A supervisor that hangs.  Three seconds for the test, thirty in the unit.
watchdog_bites()
{
	box sh -c 'mkdir -p /run/systemd/system/tidemark.service.d &&
	    printf "[Service]\nWatchdogSec=3s\n" \
	    >/run/systemd/system/tidemark.service.d/box.conf &&
	    systemctl daemon-reload && systemctl restart tidemark' || return
	hung=$(property MainPID)
	box kill -STOP "$hung" && within 60 another_pid "$hung" &&
		within 30 answers
	rc=$?
	box sh -c 'rm -r /run/systemd/system/tidemark.service.d &&
	    systemctl daemon-reload && systemctl restart tidemark'
	return $rc
}

# ---- reload ------------------------------------------------------------------

reload_refused()
{
	box sh -c 'echo "nonsense = 1" >/etc/tidemark/conf.d/zz.conf
	    systemctl reload tidemark; rc=$?
	    rm /etc/tidemark/conf.d/zz.conf
	    journalctl -u tidemark | grep "zz.conf:1" && [ $rc -ne 0 ] &&
	    systemctl reload tidemark && systemctl is-active tidemark'
}

# ---- nobody notices ----------------------------------------------------------

# under_load COMMAND... - while mail flows and one session is idle; nobody dials
# twice, so a connection refused is a message failed.  The mail is internal, by
# its daemon's name as well, and so without a limit: every message has to pass.
under_load()
{
	box sh -c 'cat >/tmp/idle.pl' <<-'END'
		use Socket; $| = 1;
		socket(S, AF_UNIX, SOCK_STREAM, 0) or die;
		connect(S, pack_sockaddr_un("/run/tidemark/external.sock")) or die;
		syswrite S, pack("NaNNN", 13, "O", 6, 0x1ff, 0x1fffff);
		sysread S, $b, 512 or die;
		print "idle\n";
		1 while sysread S, $b, 512;
		print "cut\n";
	END
	letter load@x.example >"$work/letter"
	box sh -c 'cat >/tmp/letter' <"$work/letter"
	box sh -c 'perl /tmp/idle.pl >/tmp/idle.out 2>&1 &
	    /srv/box/feed -s local:/run/tidemark/internal.sock \
	    --daemon MTA-int -c 3 -m 2 -n 0 -r 40 --quiet /tmp/letter \
	    >/tmp/load.out 2>&1 & feed=$!
	    sleep 1; "$@"; rc=$?; sleep 1; kill $feed; wait $feed
	    cat /tmp/idle.out /tmp/load.out
	    grep -q idle /tmp/idle.out && ! grep -q cut /tmp/idle.out &&
	    grep -q "acked=[1-9].* rejected=0 failed=0 .*lost=0" /tmp/load.out &&
	    exit $rc
	    exit 1' - "$@"
}

stop_leaves_nobody()
{
	box systemctl stop tidemark && within 30 nobody_runs &&
		box grep -q cut /tmp/idle.out && box systemctl start tidemark &&
		within 30 answers
}

# ---- what is to outlive an upgrade -------------------------------------------

# Three of busy's in its bucket, many banned, early remembered.
knows()
{
	check "$1: a bucket is as full" \
		json '$r->{level} == 3 && $r->{key} =~ /^busy@/' bucket list
	check "$1: a ban stands" json '$r->{key} =~ /^many@/' banned
	check "$1: and is enforced" sends 0 postfix 1 many@x.example
	check "$1: what passed is remembered" \
		tidemark query --from early@x.example
}

bucket_is_there()
{
	tidemark bucket list | grep -q busy@
}

conffile_kept()
{
	box grep -q '^# ours$' /etc/tidemark/tidemark.conf &&
		box test -e /etc/tidemark/conf.d/site.conf &&
		box grep -q '^# shipped with' \
			/etc/tidemark/tidemark.conf.dpkg-dist
}

# As after an upgrade that changed the structures in the map: its head, which
# begins with "tidemark", says other sizes.  Only the checkpoint counts then,
# and a stop in good order has written one.
map_of_another()
{
	box systemctl stop tidemark &&
		box perl -0777 -e 'open F, "+<", "/run/tidemark/live.mdb" or die;
		    $at = index <F>, "tidemark"; die if $at < 0;
		    seek F, $at + 12, 0; print F "\1\2\3\4"; close F or die' &&
		install_deb /srv/box/tidemark_9.1.deb \
			/srv/box/tidemark-web_9.1.deb &&
		box journalctl -u tidemark | grep 'live map made anew'
}

# ---- the page ----------------------------------------------------------------

page_is_off()
{
	install_deb /srv/box/tidemark-web_9.deb &&
		is is-enabled disabled tidemark-web &&
		is is-active inactive tidemark-web
}

# page PATH WORDS
page()
{
	box curl -sS --max-time 10 "http://127.0.0.1:9190$1" >"$work/page"
	grep -m 1 "$2" "$work/page"
}

page_is_on()
{
	box sh -c 'sed -i "1i web_listen = 127.0.0.1:9190" \
	    /etc/tidemark/conf.d/site.conf &&
	    systemctl enable --now tidemark-web' || {
		box journalctl -u tidemark-web
		return 1
	}
	within 30 page / '<title>' &&
		within 30 page /metrics '^tidemark_collector_up 1' &&
		page /state.json '"at_work":true'
}

# A user that is nobody else's, none of root's powers.
page_is_confined()
{
	box cat "/proc/$(property MainPID tidemark-web)/status" >"$work/status"
	grep -E '^Uid|CapEff|NoNew|Seccomp:' "$work/status"
	grep -q '^CapEff:.*0000000000000000' "$work/status" &&
		! grep -qE '^Uid:.\b0\b' "$work/status" &&
		! grep -q "^Uid:.\b$(box id -u tidemark)\b" "$work/status"
}

page_is_gone()
{
	box dpkg -P tidemark-web && ! box pgrep -f sbin/tidemark-web &&
		! box ls -d /run/tidemark-web
}

# ---- the hook we ship ------------------------------------------------------------

# As its own comment says, but for a boot; a sendmail that keeps what it gets.
hook_is_set_up()
{
	box sh -c 'printf "#!/bin/sh\ncat >>/tmp/mailed\n" >/tmp/sendmail &&
	    chmod 755 /tmp/sendmail && cd /run/systemd/system &&
	    cp /usr/share/tidemark/hook/tidemark-hook.* . &&
	    echo Environment=SENDMAIL=/tmp/sendmail >>tidemark-hook.service &&
	    mkdir -p /var/lib/tidemark/hook &&
	    chown tidemark: /var/lib/tidemark/hook && systemctl daemon-reload &&
	    systemctl start tidemark-hook.path'
}

ban_is_mailed()
{
	box grep -F 'KEY=many@x.example|192.0.2.0/24' /tmp/mailed
}

# ---- a Postfix it is attached to ---------------------------------------------

# Its files only; nobody reads them.
attach_to_postfix()
{
	box sh -c 'mkdir -p /etc/postfix && cd /etc/postfix &&
	    echo "compatibility_level = 3.6" >main.cf &&
	    echo "smtp inet n - n - - smtpd" >master.cf && cp master.cf was.cf &&
	    printf "#!/bin/sh\n" >/srv/box/postconf &&
	    chmod 755 /srv/box/postconf' &&
		tidemark setup postfix --apply --program /srv/box/postconf &&
		is_attached
}

is_attached()
{
	box grep external.sock /etc/postfix/master.cf
}

is_detached()
{
	box diff /etc/postfix/was.cf /etc/postfix/master.cf &&
		box rm -r /etc/postfix
}

# ---- egress ------------------------------------------------------------------

in_kernel()
{
	box nft list table inet tidemark | grep 203.0.113.9
}

# ---- removed, purged ---------------------------------------------------------

nobody_runs()
{
	! box pgrep -u tidemark
}

removed()
{
	box dpkg -r tidemark && nobody_runs &&
		! box test -e /usr/sbin/tidemarkd &&
		box test -e /etc/tidemark/tidemark.conf &&
		box test -e /etc/tidemark/conf.d/site.conf &&
		box test -e /var/lib/tidemark/archive.mdb
}

nothing_left()
{
	census >"$work/after"
	diff "$work/before" "$work/after" >"$work/left"
	cat "$work/left"
	! [ -s "$work/left" ] && ! box ls -d /run/tidemark /var/log/tidemark
}

# ------------------------------------------------------------------------------

check "later versions of the packages" later_versions
site_conf >"$work/site.conf"
check "a machine boots" box_open "$deb" "$work"/tidemark*_9*.deb \
	"$work/site.conf" "$FEED" || { tap_end; exit; }
census >"$work/before"

check "it installs, and runs" install_deb "/srv/box/${deb##*/}"
check "and will after a boot" is is-enabled enabled tidemark
check "the others are off" others_are_off
check "its folders" folders
check "mail servers reach their sockets, not the control socket" \
	listens_for_mta
check "it is confined" confined

box useradd --system --shell /usr/sbin/nologin postfix
check "an outsider cannot send" sends 0 nobody 1 early@x.example
check "nor Postfix, as long as it is one" sends 0 postfix 1 early@x.example
check "a Postfix that comes later is let in" eval \
	'box dpkg-trigger --by-package=tidemark /usr/lib/postfix/sbin &&
	box dpkg --triggers-only -a && box id -nG postfix | grep -w tidemark-mta'
check "and sends" sends 1 postfix 1 early@x.example
check "what passed is remembered" tidemark query --from early@x.example
check "what did not is not" exits 1 tidemark query --from never@x.example
check "Postfix may not ask" fails as postfix tidemark status

check "a configuration of our own" box sh -c \
	'cp /srv/box/site.conf /etc/tidemark/conf.d/ &&
	echo "# ours" >>/etc/tidemark/tidemark.conf &&
	systemctl reload tidemark'
check "a broken one fails the reload" reload_refused
check "some mail" sends 3 postfix 3 busy@x.example
check "a hook for bans" hook_is_set_up
mail postfix 9 many@x.example >/dev/null
check "too much of it" within 30 tidemark banned many@x.example
check "the hook has it mailed" within 30 ban_is_mailed
check "the bucket is there" within 30 bucket_is_there
knows "before"
check "a supervisor that hangs is replaced" watchdog_bites
knows "after a watchdog"

check "a restart under load: nobody is refused" \
	under_load systemctl restart tidemark
check "a stop ends what is left of it" stop_leaves_nobody
pid=$(property MainPID)
check "an upgrade under load: nobody is refused" \
	under_load env DEBIAN_FRONTEND=noninteractive \
	dpkg --force-confold -i /srv/box/tidemark_9.deb
check "it is upgraded" install_deb /srv/box/tidemark_9.deb
check "and restarted" another_pid "$pid"
check "with our configuration" conffile_kept
knows "upgraded"
check "its page is a package of its own, and off" page_is_off
check "asked for, it is served" page_is_on
check "by somebody who may do nothing" page_is_confined
pid=$(property MainPID tidemark-web)
check "both are upgraded, and the map is of no use" map_of_another
knows "from the checkpoint"
page_restarted()
{
	[ "$(property MainPID tidemark-web)" -ne "$pid" ] &&
		is is-active active tidemark-web
}
check "the page, too, is restarted" page_restarted
check "and shows what is there now" within 30 page /state.json '"at_work":true'
check "it is purged, and gone" page_is_gone

check "it is attached to a Postfix" attach_to_postfix
check "another upgrade" install_deb /srv/box/tidemark_9.1.deb
check "leaves it attached" is_attached

check "egress: a list" tidemark egress deny add 203.0.113.9
check "its unit starts" box systemctl start tidemark-egress
check "and the list is in the kernel" within 30 in_kernel

check "it is removed; what is ours stays" removed
check "nothing is left in the kernel" fails in_kernel
check "nor in a mail server's files" is_detached
check "it comes back" install_deb /srv/box/tidemark_9.1.deb
check "and remembers" tidemark query --from early@x.example
check "it is purged" box dpkg -P tidemark
check "and nobody runs" nobody_runs
check "nothing is left of it" nothing_left
tap_end
