# browser.pl - what t_browser.sh tries.  Starts daemon, page, mail and browser,
# and ends them.  Speaks TAP.
use strict;
use warnings;
use Browser;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(sleep);

my ($bin, $dir, $conf, $out) = @ENV{qw(B D CONF OUT)};
my ($cases, $failures, %running) = (0, 0);
my $tab = "\x{E004}", my $enter = "\x{E007}";
my $phrase = 'Your account will be limited within 12 hours, ' .
    'unless you confirm your details.';

# ---- TAP, and processes ------------------------------------------------------

# Scalars, whatever is given: a match that fails would be no argument at all.
# CASE as in tests/lib/tap.sh: all is tried, what has the words is reported.
sub check ($$;@) {
	my ($sentence, $ok, @why) = @_;

	if (index($sentence, $ENV{CASE} // '') >= 0) {
		$cases++;
		$failures++ unless $ok;
		print $ok ? '' : 'not ', "ok - $sentence\n";
	} elsif (!$ok) {
		print "# left out: not ok - $sentence\n";
	}
	return $ok if $ok;
	print map { s/\n/\n# /gr } map { "# $_\n" } grep { defined } @why;
	return $ok;
}

sub start {
	my ($name, @command) = @_;
	unlink "$dir/$name.log"; # or an old line would be read
	my $pid = fork;

	die "fork: $!\n" unless defined $pid;
	if (!$pid) {
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', "$dir/$name.log";
		open STDERR, '>&', \*STDOUT;
		exec @command or die "$command[0]: $!\n";
	}
	return $running{$name} = $pid;
}

sub stop {
	my $name = shift;
	my $pid = delete $running{$name} or return;

	kill 'TERM', $pid;
	for (1 .. 600) {
		return if waitpid($pid, WNOHANG) != 0;
		sleep 0.1;
	}
	kill 'KILL', $pid;
	waitpid $pid, 0;
}

END {
	my $status = $?;
	stop($_) for grep { $_ ne 'daemon' } sort keys %running;
	stop('daemon');
	$? = $status;
}

sub tidemark {
	return system("'$bin/tidemark' -c '$conf' @_ >/dev/null 2>&1") == 0;
}

sub start_daemon {
	start('daemon', "$bin/tidemarkd", '-c', $conf);
	Browser->wait_until(sub { tidemark('status') }, 60);
}

my $address;
sub start_page {
	start('web', $ENV{WEB}, '-c', $conf, $> == 0 ? '--allow-root' : ());
	Browser->wait_until(sub {
		open my $f, '<', "$dir/web.log" or return 0;
		($address) = map { m{^tidemark-web: (http.*)/$} ? $1 : () } <$f>;
		return $address;
	}, 60);
}

# When it is started again, the browser looks for it where it was.
sub keep_port {
	my ($place) = $address =~ m{//(.*)};

	open my $f, '<', $conf or die "$conf: $!\n";
	my $text = join '', <$f>;
	$text =~ s/^web_listen = .*/web_listen = $place/m;
	open $f, '>', $conf or die "$conf: $!\n";
	print $f $text;
	close $f or die "$conf: $!\n";
}

sub start_mail {
	for (['external', 'MTA-ext'], ['internal', 'MTA-int']) {
		start("mail-$_->[0]", $ENV{FEED}, '-s',
		    "local:$dir/run/$_->[0].sock", '--daemon', $_->[1], '-c',
		    '2', '-m', '3', '-r', '20', '-n', '0', '--retry', '--quiet',
		    'tests/demo/sample.mbox');
	}
}

# ---- what is looked at -------------------------------------------------------

my $browser;

sub text { return $browser->text(@_) // '' }

sub is_shown {
	my ($selector, $pattern) = @_;
	return $browser->wait_until(sub { text($selector) =~ $pattern });
}

sub shows {
	my ($sentence, $selector, $pattern) = @_;
	check($sentence, is_shown($selector, $pattern),
	    "$selector: " . text($selector), $browser->{error});
}

sub picture {
	my $name = shift;
	check("a picture of it: $name.png",
	    ($browser->picture("$out/$name.png") || 0) > 10000);
}

# Texts whose colour is too near to what is behind them (WCAG 2, AA).
my $contrast = <<'END';
function parse(c) {
	const m = c.match(/[\d.]+/g).map(Number);
	return { r: m[0], g: m[1], b: m[2], a: m.length > 3 ? m[3] : 1 };
}
function over(top, below) {
	const mix = (t, b) => t * top.a + b * (1 - top.a);
	return { r: mix(top.r, below.r), g: mix(top.g, below.g),
	    b: mix(top.b, below.b), a: 1 };
}
function behind(e) {
	if (!e)
		return { r: 255, g: 255, b: 255, a: 1 };
	const own = parse(getComputedStyle(e).backgroundColor);
	return own.a === 1 ? own : over(own, behind(e.parentElement));
}
function opacity(e) {
	return e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1;
}
function light(c) {
	const part = v => { v /= 255; return v <= 0.03928 ? v / 12.92
	    : Math.pow((v + 0.055) / 1.055, 2.4); };
	return 0.2126 * part(c.r) + 0.7152 * part(c.g) + 0.0722 * part(c.b);
}
const walker = document.createTreeWalker(document.body,
    NodeFilter.SHOW_TEXT);
const bad = new Set();
let looked = 0;
while (walker.nextNode()) {
	const e = walker.currentNode.parentElement;
	const style = getComputedStyle(e), box = e.getBoundingClientRect();
	if (!walker.currentNode.data.trim() || box.width < 2 ||
	    e.closest("noscript, script, .skip") || e.closest("[hidden]"))
		continue;
	const back = behind(e), ink = parse(style.color);
	ink.a *= opacity(e);
	const a = light(over(ink, back)), b = light(back);
	const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	const size = parseFloat(style.fontSize);
	const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
	looked++;
	if (ratio < (large ? 3 : 4.5))
		bad.add(e.tagName + "." + e.className + " " +
		    ratio.toFixed(2) + ": " + walker.currentNode.data.trim());
}
return looked < 50 ? ["only " + looked + " texts"] : [...bad];
END

sub check_contrast {
	my $theme = shift;
	my $bad = $browser->script($contrast);

	check("every text can be read in $theme", ref $bad && !@$bad,
	    ref $bad ? @$bad : $browser->{error});
}

# What a screen reader needs, as far as a program can tell.
my $names = <<'END';
const bad = [];
document.querySelectorAll("input, textarea").forEach(e => {
	if (!e.labels || e.labels.length !== 1)
		bad.push("no label: " + e.id);
});
document.querySelectorAll("button, a").forEach(e => {
	if (!(e.getAttribute("aria-label") || e.textContent.trim()))
		bad.push("no name: " + e.outerHTML);
});
document.querySelectorAll("canvas, svg:not([aria-hidden])").forEach(e => {
	if (!e.getAttribute("aria-label") || e.getAttribute("role") !== "img")
		bad.push("a picture without words: " + e.outerHTML);
});
document.querySelectorAll("table").forEach(e => {
	if ([...e.tHead.rows[0].cells].some(c => c.scope !== "col"))
		bad.push("a heading without scope: " + e.id);
});
if (document.querySelectorAll("h1").length !== 1 ||
    document.documentElement.lang !== "en" ||
    document.querySelectorAll("main").length !== 1)
	bad.push("one h1, one main, a language");
return bad;
END

my $focus = 'const e = document.activeElement; return e.id || e.className ||
    e.getAttribute("href") || e.tagName';

# By Tab alone, as often as it takes.
sub tab_to {
	my $id = shift;

	for (1 .. 60) {
		return 1 if ($browser->script($focus) // '') eq $id;
		$browser->type($tab);
	}
	return 0;
}

sub from_the_top {
	$browser->script('document.activeElement.blur();
	    window.getSelection().removeAllRanges(); window.scrollTo(0, 0)');
}

# ask(field => text, ...) - with the keyboard; Enter on the button asks.
sub ask {
	my @fields = @_;

	$browser->script('document.getElementById("ask").reset();
	    document.getElementById("answer").replaceChildren()');
	from_the_top();
	while (my ($id, $words) = splice @fields, 0, 2) {
		tab_to($id) or return 0;
		$browser->type($words);
	}
	tab_to('q-go') or return 0;
	$browser->type($enter);
	return 1;
}

# ---- an empty night ----------------------------------------------------------

$| = 1;
check('the daemon', start_daemon()) or exit 1;
check('the page', start_page()) or exit 1;
keep_port();
mkdir "$dir/browser";
$browser = Browser->new("$dir/browser");
$browser->resize(1280, 900);
$browser->prefer('color-scheme' => 'light');
$browser->go("$address/");
shows('before any mail it is at work', '#state-words', qr/^at work$/);
shows('nobody is near a ban', '#no-nearest', qr/Nobody/);
shows('nobody is banned', '#no-bans', qr/Nobody is banned/);
picture('empty');

# ---- mail --------------------------------------------------------------------

start_mail();
shows('mail is seen', '#f-mail', qr/^[1-9]/);
shows('who sends it, masked', '#nearest', qr/s\*\*\*s\@example\.org\|192\.0\.\*\.\*/);
my $total = 'return Number([...document.querySelectorAll("#flow tbody tr")]
    .find(r => r.cells[0].textContent === "accepted").cells[4].textContent
    .replace(/\D/g, ""))';
my $before = $browser->script($total) // 0;
check('and more of it', $browser->wait_until(sub {
    ($browser->script($total) // 0) > $before }), $before);
check('the water stands in its gauges', $browser->wait_until(sub {
    $browser->script('return document.querySelectorAll(".gauge:not(.quiet)")
	.length') }));
my $drawn = 'return document.querySelector(".gauge canvas").toDataURL()';
my $first = $browser->script($drawn) // '';
check('and moves', $first ne '' && $browser->wait_until(sub {
    ($browser->script($drawn) // '') ne $first }));
shows('who is too fast is banned', '#bans', qr/s\*\*\*s\@example\.org/);
check('with time left', text('#bans') =~ /\d min/, text('#bans'));
check('the headline counts it', $browser->wait_until(sub {
    text('#f-bans') =~ /^[1-9]/ }));
tidemark('ban', 'mallory@evil.example', '--reason',
    q('tested <b>bold</b> by sales@example.org'));
shows('so is who was banned by hand', '#bans', qr/m\*\*\*y\@evil\.example/);
check('its reason is text, and masked', text('#bans') =~
    /tested <b>bold<\/b> by s\*\*\*s\@example\.org/ &&
    !$browser->script('return document.querySelector("#bans b")'),
    text('#bans'));
my $open = $browser->script('return document.documentElement.outerHTML');
check('no address is in the page, seen or not', ($open // '') ne '' &&
    $open !~ /sales\@|mallory\@|192\.0\.2/);

# Somebody marks a key to copy it; the page looks on meanwhile.
my $marked = 'return String(getSelection())';
$browser->script('const r = document.createRange();
    r.selectNodeContents(document.querySelector("#bans tbody .key"));
    getSelection().removeAllRanges(); getSelection().addRange(r)');
my $was = $browser->script($marked) // '';
for (1, 2) {
	my $clock = text('#clock');
	$browser->wait_until(sub { text('#clock') ne $clock });
}
check('what was marked stays marked', $was =~ /\@/ &&
    ($browser->script($marked) // '') eq $was, $was,
    $browser->script($marked));
check('memory is shown', text('#memory') =~ /senders.*recipients.*content/s,
    text('#memory'));
check('and how long the mail server waits', text('#waits') =~ /\d (µs|ms)/,
    text('#waits'));
check('pictures of the last hour have words', ($browser->script(
    'return document.querySelector(".spark").getAttribute("aria-label")')
    // '') =~ /last 60 seconds/);

# ---- questions, by the keyboard alone ----------------------------------------

from_the_top();
$browser->type($tab);
check('the first Tab finds the way past the head',
    ($browser->script($focus) // '') eq 'skip');
check('and it can be seen', ($browser->script('const r =
    document.activeElement.getBoundingClientRect(); return r.top >= 0 &&
    parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2')));
$browser->type($enter);
check('which leads there', ($browser->script('return location.hash'))
    eq '#main');
check('a phrase is asked for', ask('q-text' => $phrase));
shows('yes, probably', '#answer', qr/Yes, probably\..*window \d+/s);
picture('found');
check('a sender is asked for', ask('q-from' => 'nobody@nowhere.example'));
shows('certainly not', '#answer', qr/Certainly not\./);
check('a sender of long ago is asked for', ask('q-from' =>
    'nobody@nowhere.example', 'q-since' => '2020-01-01'));
shows('nobody was looking', '#answer', 
    qr/was not always looking.*nothing is known/s);
picture('not-covered');
check('a recipient and a sender', ask('q-from' => 'sales@example.org',
    'q-to' => '@nowhere.example'));
shows('certainly not together', '#answer', qr/Certainly not\./);
check('too short a phrase', ask('q-text' => 'too short'));
shows('is told so', '#answer', qr/\w/);
check('answers are read aloud', $browser->script('const a =
    document.getElementById("answer"); return a.getAttribute("aria-live") ===
    "polite"'));
check('what was asked is in no address', ($browser->script(
    'return performance.getEntriesByType("resource").map(e => e.name)
    .concat(location.href).join()')) !~ /nowhere|short|account/);
my $bad = $browser->script($names);
check('everything has a name', ref $bad && !@$bad, ref $bad ? @$bad : ());

# ---- light and dark ----------------------------------------------------------

my $theme = 'return document.documentElement.dataset.theme';
my $paper = 'return getComputedStyle(document.body).backgroundColor';
check('it is light, as the system has it',
    $browser->script($theme) eq 'light');
check_contrast('light');
picture('light');
my $light = $browser->script($paper);
from_the_top();
check('the switch is reached', tab_to('theme'));
$browser->type($enter);
check('it turns dark', $browser->script($theme) eq 'dark' &&
    $browser->script($paper) ne $light);
check('as its button says', $browser->script('return document
    .getElementById("theme").getAttribute("aria-pressed")') eq 'true');
$browser->command('/refresh');
shows('it is there again', '#nearest', qr/\w/);
check('and still dark', $browser->script($theme) eq 'dark');
is_shown('#flow', qr/accepted/);
check_contrast('dark');
picture('dark');

# ---- narrow ------------------------------------------------------------------

for my $width (360, 768) {
	$browser->resize($width, 800);
	$browser->wait_until(sub { $browser->script(
	    'return innerWidth') == $width });
	my $wide = $browser->script(
	    'return document.documentElement.scrollWidth');
	check("nothing sticks out at $width", defined $wide &&
	    $wide <= $width, $wide, $browser->script(
	    'return [...document.querySelectorAll("body *")].filter(e =>
	    e.getBoundingClientRect().right > innerWidth + 1 &&
	    !e.closest(".scroll")).map(e => e.tagName + "." + e.className)
	    .join()'));
	picture("narrow-$width");
}
$browser->resize(1280, 900);

# ---- motion ------------------------------------------------------------------

my $frames = 'window.frames_asked = 0; if (!window.real_raf) {
    window.real_raf = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = f => { window.frames_asked++;
    return window.real_raf(f); } }';
$browser->script($frames);
check('the water moves between looks', $browser->wait_until(sub {
    $browser->script('return window.frames_asked') > 20 }));
$browser->prefer('color-scheme' => 'light',
    'reduced-motion' => 'reduce');
$browser->wait_until(sub {
	$browser->script($frames);
	sleep 1.5; # a look, and what came of it
	return $browser->script('return window.frames_asked') == 0;
}, 30);
check('where motion is not wanted it stands still',
    $browser->script('return window.frames_asked') == 0,
    $browser->script('return window.frames_asked'));
$browser->prefer('color-scheme' => 'light', 'reduced-motion' =>
    'no-preference');

# ---- nothing from elsewhere --------------------------------------------------

my $strays = $browser->script('return performance.getEntriesByType("resource")
    .map(e => e.name).filter(n => !n.startsWith(location.origin + "/"))');
check('no request left the origin', ref $strays && !@$strays,
    ref $strays ? @$strays : ());
my @complaints = $browser->complaints;
# a question that was refused is one to the browser, and meant to be
my @unmeant = grep { !m{/ask .*status of 422} } @complaints;
check('the browser had nothing to complain of', !@unmeant, @unmeant);
my $blocked = $browser->command('/execute/async', { args => [], script =>
    'const done = arguments[0];
    fetch("http://127.0.0.1:9/").then(() => done("went out"),
	() => done("blocked"));' });
check('a script that would be sent elsewhere is held',
    ($blocked // '') eq 'blocked' && grep { /Content Security Policy/ }
    $browser->complaints);

# ---- a daemon that goes and comes --------------------------------------------

stop($_) for 'mail-external', 'mail-internal';
stop('daemon');
shows('a daemon that ends is missed, in words', '#alarm',
    qr/daemon is not at work.*systemctl start tidemark/s);
check('the title says so', $browser->script('return document.title') =~ /^!/);
is_shown('#state-words', qr/not at work/);
check_contrast('trouble');
picture('down');
check('it comes back', start_daemon());
shows('which is seen without a hand', '#state-words', qr/^at work$/);
check('the alarm is over', $browser->script(
    'return document.getElementById("alarm").hidden'));
stop('web');
shows('when the page has no server it says so', '#alarm', qr/does not answer/);
$browser->complaints; # of a server that was not there
check('the page is served again', start_page());
shows('which it finds by itself', '#state-words', qr/^at work$/);

# ---- hostile keys, unmasked --------------------------------------------------

my $evil = q(<img src=x onerror="document.title='owned'">);
stop('web');
open my $more, '+<', $conf or die "$conf: $!\n";
my $settings = join '', <$more>;
seek $more, 0, 0;
print $more "web_mask = no\n", $settings;
close $more or die "$conf: $!\n";
check('the daemon knows of it', tidemark('reload'));
check('a page without masks', start_page());
# nearer to the brim than all who leaked since
system($ENV{FEED}, '-s', "local:$dir/run/internal.sock", '--daemon', 'MTA-int',
    '-n', '38', '--auth', $evil, '--quiet', 'tests/demo/sample.mbox');
tidemark('ban', 'x@evil.example', '--reason', "'$evil'" =~ s/'owned'/1/r);
$browser->go("$address/");
shows('a key of markup is shown as it is', '#nearest', qr/<img src=x onerror/);
shows('a reason of markup, too', '#bans', qr/<img src=x onerror/);
check('and is no markup', !$browser->script(
    'return document.querySelector("img")') &&
    $browser->script('return document.title') eq 'Tidemark',
    $browser->script('return document.title'));
$browser->devtools('Emulation.setScriptExecutionDisabled',
    value => JSON::PP::true);
$browser->go("$address/");
my $unscripted = $browser->call('GET', "$browser->{session}/source") // '';
check('nor without scripts', $unscripted =~ /&lt;img src=x/ &&
    $unscripted !~ /<img/);
$browser->devtools('Emulation.setScriptExecutionDisabled',
    value => JSON::PP::false);
$browser->go("$address/");

# The numbers of the pictures are those of the command.
sub buckets {
	my $n = `'$bin/tidemark' -c '$conf' bucket list --json |
	    grep -c '"group":"OKSENDER"'`;
	return $n + 0;
}
my $caption = 'return [...document.querySelectorAll(".gauge")].find(g =>
    g.querySelector("strong").textContent === "OKSENDER")
    .querySelector(".count").textContent';
check('the picture counts what the command counts', $browser->wait_until(sub {
    my $n = buckets(); # they leak meanwhile
    $n > 1 && ($browser->script($caption) // '') =~ /^$n buckets/ }),
    buckets(), $browser->script($caption));
check('each profile says its mode', text('.gauge .modes') =~
    /external: enforce.*internal: dry-run/s, text('.gauge .modes'));

# ---- without scripts ---------------------------------------------------------

start_mail();
$browser->devtools('Emulation.setScriptExecutionDisabled',
    value => JSON::PP::true);
$browser->go("$address/");
my $source = $browser->call('GET', "$browser->{session}/source");
check('without scripts there is a summary', ($source // '') =~
    /Tidemark is at work.*Nearest to a ban.*Memory/s);
$browser->wait_until(sub {
	$browser->go("$address/");
	return ($browser->call('GET', "$browser->{session}/source") // '') =~
	    /OKSENDER/;
});
my $field = $browser->command('/element', { using => 'css selector',
    value => '#q-from' });
my ($id) = values %{ $field || {} };
check('a question can be asked', $id && defined $browser->command(
    "/element/$id/value", { text => "nobody\@nowhere.example$enter" }) ||
    $browser->{error} eq '', $browser->{error});
check('and is answered', $browser->wait_until(sub {
    ($browser->call('GET', "$browser->{session}/source") // '') =~
	/<pre>no: certainly not|<pre>not found/ }, 30),
    $browser->call('GET', "$browser->{session}/url"));
picture('no-scripts');

$browser->quit;
print "1..$cases\n";
exit($failures > 0 || $cases == 0 ? 1 : 0);
