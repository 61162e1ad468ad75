# Browser - a real browser, driven by its WebDriver over HTTP, with nothing but
# perl's own modules.
package Browser;
use strict;
use warnings;
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP ();
use MIME::Base64 qw(decode_base64);
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(sleep time);

my $json = JSON::PP->new->utf8->allow_nonref;

# new Browser(folder) - chromium, headless, with a profile of its own.
sub new {
	my ($class, $folder) = @_;
	my $self = bless { folder => $folder }, $class;

	$self->{port} = free_port();
	$self->{pid} = start($self->{port}, $folder);
	$self->{base} = "http://127.0.0.1:$self->{port}";
	$self->{http} = HTTP::Tiny->new(timeout => 120, keep_alive => 0);
	$self->wait_until(sub { $self->is_ready }, 60) or
	    die "chromedriver does not start\n";
	$self->open_session;
	return $self;
}

sub free_port {
	my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1',
	    LocalPort => 0) or die "no port: $!\n";
	my $port = $s->sockport;
	close $s;
	return $port;
}

sub start {
	my ($port, $folder) = @_;
	my $pid = fork;

	die "fork: $!\n" unless defined $pid;
	return $pid if $pid;
	open STDIN, '<', '/dev/null';
	open STDOUT, '>', "$folder/driver.log";
	open STDERR, '>&', \*STDOUT;
	# what chromium keeps beside its profile
	$ENV{HOME} = $ENV{XDG_CONFIG_HOME} = $ENV{XDG_CACHE_HOME} = $folder;
	exec 'chromedriver', "--port=$port", '--allowed-ips=127.0.0.1';
	die "chromedriver: $!\n";
}

# The driver's answer, or nothing: what came instead is in {error}.
sub call {
	my ($self, $method, $path, $body) = @_;
	my %options;

	if ($method eq 'POST') {
		$options{content} = $json->encode($body || {});
		$options{headers} = { 'Content-Type' => 'application/json' };
	}
	my $r = $self->{http}->request($method, $self->{base} . $path,
	    \%options);
	my $value = eval { $json->decode($r->{content})->{value} };

	$self->{error} = $r->{success} ? '' :
	    ref $value ? $value->{message} : $r->{content};
	return $r->{success} ? $value : undef;
}

sub is_ready {
	my $self = shift;
	my $status = $self->call('GET', '/status');
	return $status && $status->{ready};
}

sub open_session {
	my $self = shift;
	my @args = ('--headless=new', '--disable-gpu', '--hide-scrollbars',
	    '--disable-dev-shm-usage', '--no-first-run', '--disable-sync',
	    '--disable-background-networking', '--disable-component-update',
	    '--disable-default-apps', '--window-size=1280,900',
	    '--force-device-scale-factor=1', '--lang=en-GB',
	    "--user-data-dir=$self->{folder}/profile");

	# its sandbox wants another user than root
	push @args, '--no-sandbox' if $> == 0;
	my $s = $self->call('POST', '/session', { capabilities => {
	    alwaysMatch => { browserName => 'chrome',
	    'goog:loggingPrefs' => { browser => 'ALL' },
	    'goog:chromeOptions' => { args => \@args } } } });
	die "no session: $self->{error}\n" unless $s;
	$self->{session} = "/session/$s->{sessionId}";
}

sub command {
	my ($self, $path, $body) = @_;
	return $self->call('POST', $self->{session} . $path, $body);
}

sub go {
	my ($self, $url) = @_;
	$self->command('/url', { url => $url });
}

# script(text, arguments...) - its `return', in the page.
sub script {
	my ($self, $text, @args) = @_;
	return $self->command('/execute/sync', { script => $text,
	    args => \@args });
}

sub text {
	my ($self, $selector) = @_;
	return $self->script('const e = document.querySelector(arguments[0]);
	    return e ? e.innerText : null', $selector);
}

# Chromium's own protocol, for what WebDriver has no words for.
sub devtools {
	my ($self, $name, %params) = @_;
	return $self->command('/goog/cdp/execute', { cmd => $name,
	    params => \%params });
}

sub resize {
	my ($self, $width, $height) = @_;
	$self->devtools('Emulation.setDeviceMetricsOverride',
	    width => $width, height => $height, deviceScaleFactor => 1,
	    mobile => $width < 600 ? JSON::PP::true : JSON::PP::false);
}

# What the system would prefer: theme and motion.
sub prefer {
	my ($self, %wish) = @_;
	$self->devtools('Emulation.setEmulatedMedia', features => [ map {
	    { name => "prefers-$_", value => $wish{$_} } } keys %wish ]);
}

# The whole page as a picture.
sub picture {
	my ($self, $path) = @_;
	my $size = $self->devtools('Page.getLayoutMetrics')->{cssContentSize};
	my $shot = $self->devtools('Page.captureScreenshot', format => 'png',
	    captureBeyondViewport => JSON::PP::true,
	    clip => { x => 0, y => 0, width => $size->{width},
	    height => $size->{height}, scale => 1 });

	open my $f, '>', $path or die "$path: $!\n";
	print $f decode_base64($shot->{data});
	close $f or die "$path: $!\n";
	return -s $path;
}

# type(keys) - to whatever has the focus, as a keyboard would.
sub type {
	my ($self, $keys) = @_;
	my @actions;

	for my $key (split //, $keys) {
		push @actions, { type => 'keyDown', value => $key },
		    { type => 'keyUp', value => $key };
	}
	$self->command('/actions', { actions => [ { type => 'key',
	    id => 'keyboard', actions => \@actions } ] });
}

# What the browser complained of since it was last asked.
sub complaints {
	my $self = shift;
	return map { "$_->{level}: $_->{message}" }
	    @{ $self->command('/se/log', { type => 'browser' }) || [] };
}

sub wait_until {
	my ($self, $condition, $seconds) = @_;
	my $end = time + ($seconds || 60);

	while (time < $end) {
		return 1 if $condition->();
		sleep 0.1;
	}
	return scalar $condition->();
}

sub quit {
	my $self = shift;

	$self->call('DELETE', delete $self->{session}) if $self->{session};
	return unless $self->{pid};
	kill 'TERM', $self->{pid};
	for (1 .. 100) {
		last if waitpid($self->{pid}, WNOHANG) != 0;
		sleep 0.1;
	}
	delete $self->{pid};
}

sub DESTROY {
	my $self = shift;
	local $@;
	eval { $self->quit };
}

1;
