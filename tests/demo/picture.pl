#!/usr/bin/perl
# picture.pl <SCREEN >SVG - a terminal's screen, as `tmux capture-pane -e -p'
# gives it, as a picture.  Block characters become rectangles, so that bars
# join up whatever the reader's font.
use strict;
use warnings;
use open qw(:std :encoding(UTF-8));

my ($W, $H, $PAD) = (8.4, 18, 14);
my ($INK, $PAPER) = ('#d8dee4', '#11161c');
my @COLOR = ('#4b5563', '#f47067', '#57ab5a', '#c69026', '#539bf5', '#b083f0',
	'#39c5cf', '#adbac7');

# ---- attributes --------------------------------------------------------------

my %plain = (bold => 0, dim => 0, reverse => 0, fg => undef, bg => undef);
my %now = %plain;

sub attribute
{
	my @codes = @_;

	while (defined(my $c = shift @codes)) {
		if ($c == 0) { %now = %plain }
		elsif ($c == 1) { $now{bold} = 1 }
		elsif ($c == 2) { $now{dim} = 1 }
		elsif ($c == 7) { $now{reverse} = 1 }
		elsif ($c == 22) { @now{qw(bold dim)} = (0, 0) }
		elsif ($c == 27) { $now{reverse} = 0 }
		elsif ($c >= 30 && $c <= 37) { $now{fg} = $COLOR[$c - 30] }
		elsif ($c == 39) { $now{fg} = undef }
		elsif ($c >= 40 && $c <= 47) { $now{bg} = $COLOR[$c - 40] }
		elsif ($c == 49) { $now{bg} = undef }
		elsif ($c >= 90 && $c <= 97) { $now{fg} = $COLOR[$c - 90] }
	}
}

sub look
{
	my ($fg, $bg) = ($now{fg} // $INK, $now{bg});

	($fg, $bg) = ($bg // $PAPER, $fg) if $now{reverse};
	return { fg => $fg, bg => $bg, bold => $now{bold}, dim => $now{dim} };
}

# ---- cells -------------------------------------------------------------------

# One line: a list of [character, look].
sub cells
{
	my ($line) = @_;
	my @cells;

	while ($line =~ /\G(?:\e\[([0-9;]*)m|(.))/g) {
		if (defined $2) { push @cells, [$2, look()] }
		else { attribute(map { $_ || 0 } split(/;/, $1 || '0')) }
	}
	return @cells;
}

sub same_look
{
	my ($a, $b) = @_;

	return join('|', map { $_ // '' } @$a{qw(fg bg bold dim)}) eq
	    join('|', map { $_ // '' } @$b{qw(fg bg bold dim)});
}

# ---- drawing -----------------------------------------------------------------

sub rect
{
	my ($x, $y, $w, $h, $fill, $dim) = @_;

	printf qq(<rect x="%.1f" y="%.1f" width="%.2f" height="%.2f" fill="%s"%s/>\n),
	    $x, $y, $w, $h, $fill, $dim ? ' opacity=".6"' : '';
}

# Eighths of a cell, from below or from the left; true if it was one of them.
sub block
{
	my ($char, $look, $x, $y) = @_;
	my $code = ord $char;

	if ($code >= 0x2581 && $code <= 0x2588) {
		my $high = $H * ($code - 0x2580) / 8;
		rect($x, $y + $H - $high, $W + 0.2, $high, $look->{fg}, $look->{dim});
	} elsif ($code >= 0x2589 && $code <= 0x258f) {
		rect($x, $y, $W * (0x2590 - $code) / 8, $H, $look->{fg},
		    $look->{dim});
	} else {
		return 0;
	}
	return 1;
}

sub words
{
	my ($text, $look, $x, $y) = @_;

	return if $text !~ /\S/;
	my $length = length($text) * $W;
	$text =~ s/&/&amp;/g;
	$text =~ s/</&lt;/g;
	$text =~ s/ /\x{a0}/g;
	printf qq(<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s%s>%s</text>\n),
	    $x, $y + $H * 0.74, $length, $look->{fg},
	    $look->{bold} ? ' font-weight="bold"' : '',
	    $look->{dim} ? ' opacity=".6"' : '', $text;
}

sub draw_line
{
	my ($row, @cells) = @_;
	my $y = $PAD + $row * $H;

	for (my $i = 0; $i < @cells;) {
		my ($look, $text, $from) = ($cells[$i][1], '', $i);

		for (; $i < @cells && same_look($cells[$i][1], $look); $i++) {
			$text .= $cells[$i][0];
		}
		rect($PAD + $from * $W, $y, length($text) * $W, $H, $look->{bg})
		    if defined $look->{bg};
		my $at = $PAD + $from * $W;
		while ($text =~ /\G([\x{2581}-\x{258f}])|\G([^\x{2581}-\x{258f}]+)/g) {
			if (defined $1) { block($1, $look, $at, $y) }
			else { words($2, $look, $at, $y) }
			$at += $W * length($1 // $2);
		}
	}
}

my @lines = map { chomp; [cells($_)] } <STDIN>;
my $columns = 0;
for (@lines) {
	$columns = @$_ if @$_ > $columns;
}
my ($width, $height) = ($columns * $W + 2 * $PAD, @lines * $H + 2 * $PAD);
printf qq(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" ) .
    qq(font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" ) .
    qq(font-size="13.6" shape-rendering="crispEdges">\n), $width, $height;
printf qq(<rect width="%.0f" height="%.0f" rx="8" fill="%s"/>\n), $width,
    $height, $PAPER;
draw_line($_, @{$lines[$_]}) for 0 .. $#lines;
print "</svg>\n";
