#!/bin/sh
# make.sh - made v0.1.tar.xz and v0.2.tar.xz, and what those versions said of
# them: an installation of Tidemark as that version left it, for t_upgrade.sh to
# go on with.
#
# They were made by the programs of versions 0.1 (commit e23d273) and 0.2
# (2ab5ccb), on Debian 12, x86-64, and are not made again: later programs would
# make others.  For the fixture of a later version: name it below, as root and
# with that version built,
#
#   B=build tests/upgrade/make.sh tests/upgrade && tests/upgrade/t_upgrade.sh
#
# (different recipients and clients are estimates, which go by the hash key that
# is drawn: the test has to pass, or make it again).
#
# It runs in namespaces of its own, with folders of its own over /etc, /run,
# /var/lib and /var/log, so that the paths in the files are those of an
# installation; and on clocks of its own (then.c): the first day, the machine
# off for 12 hours, the second day.  In between bulk counts turn and another
# generation of reported spam begins.
#
#   conf/        tidemark.conf and overrides
#   killed/      run and state, all processes killed on the second day: with a
#                window open, and newer than the checkpoint
#   stopped/     the same, started again and stopped in good order
#   backup/      by tidemark backup, at the moment of that checkpoint
#   files/       what we exported, what a neighbour did, a list of addresses
#   then         when that was, by both clocks, and the boot id
#
#   v0.2.checkpoint, v0.2.end, v0.2.stopped
#                what 0.2 said at that checkpoint, at the end, and offline
set -eu

version=0.2
out=$(realpath "${1:?where to}")
if [ "${2:-}" != inside ]; then
	exec unshare -mu -- "$0" "$out" inside
fi
hostname mail.example.org
for folder in /run /var/lib /var/log; do
	mount -t tmpfs none $folder
done
mkdir /run/etc /run/work
mount -t overlay none -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work /etc
TMPDIR=/run
export TMPDIR

. tests/lib/tap.sh
. tests/lib/daemon.sh
. tests/upgrade/words.sh
set +e

must()
{
	"$@" >"$D/must" 2>&1 || {
		echo "make.sh: $* (status $?)"
		cat "$D/must"
		tail -n 20 "$D"/log*
		exit 1
	} >&2
}

# ---- the machine -------------------------------------------------------------

# No drop leaks and no token comes back while we are at it.
group()
{
	printf '%s_mode = enforce\n%s_limit = %s/1h\n' "$1" "$1" "$2"
	printf '%s_leak = 1w\n%s_ban = 52w\n' "$1" "$1"
}

settings()
{
	cat <<-END
	max_workers = 8
	max_buckets = 256
	max_bans = 64
	max_accounts = 64
	max_decisions = 64
	ban_most = 520w
	checkpoint_every = 1d
	window_span = 4w
	window_senders = 200
	window_recipients = 200
	memory_size = 16K
	retain_for = 5200w
	retain_size = 8M
	archive_map = 16M
	addresses_capacity = 100
	addresses_form = counting
	spam_reports = 100
	spam_generations = 3
	spam_generation = 10h
	bulk_keys = 1k
	bulk_span = 52w
	END
}

profiles()
{
	echo '[profile external]'
	for g in oksender unsender cbsender rbsender sbsender; do
		group $g 12
	done
	for g in okip unip cbip; do
		group $g 100
	done
	cat <<-END
	protected_to = boss@example.org
	protected_from = @friends.example
	content_blocked_header = X-Spam-Flag:YES
	addresses_mode = enforce
	spam_mode = enforce
	bulk_mode = enforce
	bulk_threshold = 30
	[profile internal]
	tokens_mode = enforce
	tokens_burst = 10
	tokens_rate = 10/365d
	tokens_also = 6:6/365d
	tokens_overrides = /etc/tidemark/overrides
	[profile lists]
	distinct_mode = enforce
	distinct_limit = 10
	clients_mode = enforce
	clients_limit = 4
	[profile submission]
	charged_by = policy
	tokens_mode = enforce
	tokens_burst = 10
	tokens_rate = 10/365d
	[policy out]
	profile = submission
	END
}

conf=/etc/tidemark/tidemark.conf
mkdir /etc/tidemark
ln -s /run/tidemark "$D/run"
ln -s /var/lib/tidemark "$D/state"
ln -s /var/log/tidemark.log "$D/log"
{
	echo 'log = /var/log/tidemark.log'
	settings
	profiles
} >"$conf"
echo 'auth:vip 4 4/365d' >/etc/tidemark/overrides

# Guessed recipients, as a mail server shows them; feed has none.
# guess COUNT FROM CLIENT
guess()
{
	perl -MIO::Socket::UNIX -e '
		my ($path, $n, $from, $client) = @ARGV;
		my $s = IO::Socket::UNIX->new(Peer => $path) or die $!;
		sub put { print $s pack("N/a*", join "", @_) }
		sub get { read $s, my $l, 4; read $s, my $d, unpack "N", $l; $d }
		$s->autoflush;
		put("O", pack "NNN", 6, 0x1ff, 0x800);
		get() =~ /^O/ or die;
		put("DC", "{daemon_name}\0X\0");
		put("C", "client\0", "4", pack("n", 4711), "$client\0");
		get() =~ /^c/ or die;
		put("DM", "i\0guess\0");
		put("M", "<$from>\0");
		get() =~ /^c/ or die;
		for (1 .. $n) {
			put("DR", "{rcpt_mailer}\0error\0{rcpt_host}\0005.1.1\0",
			    "{rcpt_addr}\0550 5.1.1 User unknown\0");
			put("R", "<guess$_\@example.org>\0");
			get() =~ /^[cry]/ or die;
		}
		put("A");
		put("Q")' "$D/run/external.sock" "$@"
}

# ---- the first day -----------------------------------------------------------

turn=1792627200 # 57 times 52 weeks
must then_programs
then_is $(((turn - 6 * 3600) * 1000)) $((30 * 3600 * 1000)) \
    11111111-2222-4333-8444-555555555555
must daemon_start
first=$(($(clocks | cut -d' ' -f1) / 1000 + 1))
sleep 1

letter_with_file anna@alpha.example bob@example.org "$alpha" >"$D/box"
must post 1 external 192.0.2.1
must sends 1 external 192.0.2.2 '' ann@example.org 'It could not be delivered.'
must sends 3 external 192.0.2.3 news@lists.example ann@example.org "$bulk"
must tidemark seal	# window 1
must sends 2 external 192.0.2.4 'bücher@bücher.example' \
    пользователь@example.org "$beta"
must sends 5 external 2001:db8:5:6::7 пользователь@example.org \
    'leser@bücher.example' "$beta"
must sends 1 external 192.0.2.4 kunde@xn--bcher-kva.example ann@example.org \
    "$beta"
must tidemark seal	# window 2

sends 13 external 192.0.2.5 many@x.example ann@example.org x >/dev/null
must within 10 tidemark banned many@x.example
# of different recipients: one has used up what it may, one the half of it
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
	sends 1 lists 192.0.2.6 list@example.org r$n@example.net x --auth over
done >/dev/null
must same "$passed" 0
for n in 1 2 3 4 5; do
	must sends 1 lists 192.0.2.6 list@example.org r$n@example.net x \
	    --auth half
done
# and of different clients, on both days
for n in 1 2; do
	must sends 1 lists 192.0.2.1$n list@example.org r1@example.net x \
	    --auth places
done
must sends 3 internal 192.0.2.7 ann@example.org r@example.net x --auth ann
must sends 3 internal 192.0.2.7 vip@example.org r@example.net x --auth vip

cat >"$D/list" <<-END
	bad@spam.example
	@worse.example
	später@spam.example
	gone@spam.example
END
must tidemark addresses load "$D/list"
must tidemark addresses del gone@spam.example
must tidemark except add пользователь@example.org 'bücher@bücher.example' \
    --reason 'они хорошие, und die auch'
message x@spam.example ann@example.org "$spam1" >"$D/spam1"
message x@club.example ann@example.org "$revoked" >"$D/revoked"
must tidemark spam report "$D/spam1"
must tidemark spam report "$D/revoked"
must tidemark ban 'gauner@bücher.example' --for 5200w --reason 'früher schon'
must tidemark egress deny add 203.0.113.0/24 2001:db8:bad::/48 \
    --reason 'open relay' --origin tests
must tidemark egress permit add 10.0.0.0/8 198.51.100.7 --reason ours
sleep 2
first_end=$(($(clocks | cut -d' ' -f1) / 1000))
sleep 1
daemon_stop

# ---- the second day ----------------------------------------------------------

then_is $(((turn + 6 * 3600) * 1000)) $((2 * 3600 * 1000)) \
    66666666-7777-4888-9999-aaaaaaaaaaaa
must daemon_start

# a worker is killed in its connection
letter crash@x.example ann@example.org x >"$D/box.crash"
"$FEED" -s "local:$D/run/lists.sock" -m 100 -n 100 -r 10 --client 192.0.2.99 \
    --daemon X --quiet "$D/box.crash" >/dev/null 2>&1 &
feed_pid=$!
serves() { [ -n "$(workers)" ]; }
must within 10 serves
# shellcheck disable=SC2046 # pids
kill -9 $(workers)
wait "$feed_pid"
crashed() { tidemark dump --archive | grep -q 'lapse .*kind=crash'; }
must within 10 crashed
# what Postfix asks about has no text
{
	seq -f 'RCPT p.1 user=pia to=a%g@to.example' 4
	echo 'DATA p.1 user=pia to= count=4 qid=QP'
	echo 'END-OF-MESSAGE p.1 user=pia to= count=4 qid=QP'
} | "$POLICY" -s "local:$D/run/out-policy.sock" >"$D/pia"
must same "$(grep -c DUNNO "$D/pia")" 6
sleep 1
must tidemark seal	# window 5; 3 and 4 ended with the first day
second=$(($(clocks | cut -d' ' -f1) / 1000 + 1))
sleep 1

must sends 2 external 192.0.2.1 anna@alpha.example bob@example.org "$alpha"
must sends 8 external 198.51.100.1 busy@x.example ann@example.org "$beta"
must sends 4 external 192.0.2.3 news@lists.example ann@example.org "$bulk"
must tidemark seal	# window 6

must guess 4 guess@x.example 198.51.100.9
header='X-Spam-Flag: YES'
must sends 3 external 198.51.100.10 marked@x.example ann@example.org x
header=
sends 4 external 198.51.100.11 nosy@x.example boss@example.org x >/dev/null
sends 3 external 192.0.2.5 many@x.example ann@example.org x >/dev/null
reports()
{
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		tidemark report content-blocked --sender blocked@x.example \
		    --ip 198.51.100.12 || return 1
	done
}
twice() { tidemark banned blocked@x.example --json | grep -q '"times":2'; }
must reports
must within 10 tidemark banned blocked@x.example
must reports
must within 10 twice

must sends 1 internal 192.0.2.7 ann@example.org r@example.net x --auth ann
sends 8 internal 192.0.2.7 bob@example.org r@example.net x --auth bob >/dev/null
must same "$passed" 6
for n in 3 4; do
	must sends 1 lists 192.0.2.1$n list@example.org r1@example.net x \
	    --auth places
done
for n in 1 2 3 4 5 6 7 8; do
	sends 1 lists 192.0.2.2$n list@example.org r1@example.net x \
	    --auth spread >/dev/null
done
must same "$passed" 0
must tidemark addresses add added@spam.example
must tidemark except add @gut.example 'später@spam.example' \
    --reason 'a list of theirs'
must tidemark spam revoke "$D/revoked"
message y@spam.example ann@example.org "$spam2" >"$D/spam2"
must tidemark spam report "$D/spam2"
sends 1 external 198.51.100.13 x@spam.example ann@example.org "$spam1_near" \
    >/dev/null
must [ "$(counter spam_met_near)" -eq 1 ]
must tidemark ban @xn--gauner-gva.example --for 5200w
must tidemark ban 'бан@example.net' --for 5200w --reason 'без причины'
must tidemark ban 203.0.113.7 --for 5200w --reason 'a client'
must tidemark ban 2001:db8:7::/48 --for 520w --reason 'a network'
must tidemark egress deny add 192.0.2.200 --for 5200w --reason 'for now' \
    --origin checks
must tidemark egress permit add 10.1.2.3 198.51.100.9
must sends 1 external 192.0.2.8 carla@gamma.example bob@example.org "$alpha"

# ---- a neighbour -------------------------------------------------------------

here=$D here_conf=$conf here_pid=$daemon_pid
tidemark export --key >"$D/key"
mkdir "$D/neighbour" "$D/files"
D=$here/neighbour conf=$here/neighbour/tidemark.conf daemon_pid=
daemon_conf "$(settings)" '[profile external]' 'bulk_mode = enforce' \
    'bulk_threshold = 30'
(umask 077 && cp "$here/key" "$D/state/hash.key")
must daemon_start
must sends 4 external 198.51.100.20 n@sender.example n@rcpt.example "$bulk"
message z@spam.example n@rcpt.example "$spam3" >"$D/spam3"
must tidemark spam report "$D/spam3"
tidemark export >"$here/files/neighbour-1"
must sends 2 external 198.51.100.20 n@sender.example n@rcpt.example "$bulk"
tidemark export --delta last >"$here/files/neighbour-2"
daemon_stop
D=$here conf=$here_conf daemon_pid=$here_pid
must tidemark merge "$D/files/neighbour-1"
tidemark export >"$D/files/own"
tidemark addresses export >"$D/files/addresses"

# ---- written down ------------------------------------------------------------

# pack FOLDER - as it lies there; nobody is at work.
pack()
{
	mkdir "$D/pack/$1"
	cp -a --sparse=always /run/tidemark "$D/pack/$1/run"
	cp -a --sparse=always /var/lib/tidemark "$D/pack/$1/state"
	find "$D/pack/$1" -type s -exec rm {} +
}

# facts FILE - what is known now; counters last, as questions may count.
facts()
{
	for section in key profiles windows gaps off open answers bans \
	    buckets bulk addresses exceptions spam egress bypass counters; do
		fact_$section | sed "s/^/$section /"
	done >"$1"
	cat "$D/allowances" >>"$1"
}

sleep 2
mkdir "$D/pack"
second_end=$(($(clocks | cut -d' ' -f1) / 1000))
sleep 1
fact_allowances | sed 's/^/allowances /' >"$D/allowances"
must tidemark bypass on --for 520w
# shellcheck disable=SC2016 # perl, by intent
open=$(of_status '$r->{window}{number}')
must facts "$D/v$version.checkpoint"
must tidemark backup "$D/pack/backup"
sleep 1
must sends 3 external 198.51.100.30 late@x.example ann@example.org "$late"
must sends 1 external 192.0.2.3 news@lists.example ann@example.org "$bulk"
sleep 1
must facts "$D/v$version.end"

# All at once: who dies last must not have the time for a checkpoint.
kill -STOP "$daemon_pid"
for pid in $(children "$daemon_pid"); do
	kill -9 "$pid"
	must within 10 gone "$pid"
done
kill -9 "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
daemon_pid=
pack killed
killed=$(clocks)
sleep 1
must daemon_start
must grep -q 'live map resumed' "$D/log"
daemon_stop
pack stopped
for section in windows gaps open; do
	fact_$section | sed "s/^/$section /"
done >"$D/v$version.stopped"
{
	echo "killed='$killed' stopped='$(clocks)'"
	echo "boot=$THEN_BOOT_ID"
	echo "first=$first first_end=$first_end"
	echo "second=$second second_end=$second_end"
	echo "open=$open"
} >"$D/pack/then"
cp -a /etc/tidemark "$D/pack/conf"
mv "$D/files" "$D/pack"

# ---- packed ------------------------------------------------------------------

(cd "$D/pack" && tar --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$turn" --sparse --format=gnu -cf - .) |
    xz -9e >"$out/v$version.tar.xz"
cp "$D/v$version."* "$out"
ls -l "$out/v$version."*
