#!/usr/bin/perl
# includes.pl - does every file include what it uses?
#
# Takes every name that a header in include/tidemark gives (structs, enums and
# their values, macros, functions, types) and every mention of it, and prints
# "FILE uses NAME without HEADER" for each header that a file has only by way of
# another one.  A header that passes a struct on by its address may declare it
# instead.  Mentions in comments and strings do not count.
use strict;
use warnings;
use File::Find;

my (%giver, @files);

find({ no_chdir => 1, wanted => sub { push @files, $_ if /\.[ch]$/ } },
	qw(include daemon milter tools tests));

sub code
{
	my ($file) = @_;
	local $/;
	open my $in, '<:raw', $file or die "$file: $!\n";
	my $text = <$in>;
	$text =~ s{/\*.*?\*/}{ }gs;
	$text =~ s{"(?:\\.|[^"\\\n])*"}{""}g;
	return $text;
}

sub included
{
	my ($file) = @_;
	my %have;
	open my $in, '<:raw', $file or die "$file: $!\n";
	while (<$in>) {
		$have{$1} = 1 if /^\s*#\s*include\s+"([^"]+)"/;
	}
	return \%have;
}

# What a header gives to those who include it.
sub gives
{
	my ($text) = @_;
	my %names;
	$names{$_} = 1 for $text =~ /^#define\s+(TIDE_\w+)/mg;
	$names{"struct $_"} = 1 for $text =~ /\bstruct\s+(tide_\w+)\s*\{/g;
	$names{"enum $_"} = 1 for $text =~ /\benum\s+(tide_\w+)\s*\{/g;
	for my $body ($text =~ /\benum\s+\w*\s*\{([^}]*)\}/g) {
		$body =~ s/=[^,]*//g;
		$names{$_} = 1 for $body =~ /\b(TIDE_\w+)/g;
	}
	# a counter, by the table that its enum is made from
	$names{"TIDE_COUNT_$_"} = 1 for $text =~ /^X\((\w+),/mg;
	$names{$_} = 1 for $text =~ /^extern[^;]*?\b(tide_\w+)\s*[\[;]/mg;
	$names{$_} = 1 for $text =~ /^typedef[^;{]*?\b(tide_\w+)\s*[(;]/mg;
	# a function is declared where nothing but its type stands before it
	$names{$_} = 1 for $text =~ /^[\w\s*]*?\b(tide_\w+)\(/mg;
	delete $names{$_} for $text =~ /\breturn\s+(tide_\w+)\(/g;
	return keys %names;
}

for my $file (grep { m{^include/} } @files) {
	(my $header = $file) =~ s{^include/}{};
	my $text = code($file);
	push @{ $giver{$_} }, $header for gives($text);
}
# A name that two headers give is nobody's.
delete $giver{$_} for grep { @{ $giver{$_} } > 1 } keys %giver;
die "only " . keys(%giver) . " names were found\n" if keys %giver < 500;

my $wrong = 0;
for my $file (sort @files) {
	my $text = code($file);
	my $have = included($file);
	my (%used, %own);
	$own{"$1 $2"} = 1 while $text =~ /\b(struct|enum)\s+(tide_\w+)\s*\{/g;
	while ($text =~ /\b(struct|enum)\s+(tide_\w+)\b/g) {
		my ($kind, $name) = ($1, $2);
		next if $own{"$kind $name"};
		next if $file =~ /\.h$/ && $kind eq 'struct' && $text !~
			/\bstruct\s+$name\s+(?!\*)\w+\s*[;,\[=)(]|
			 \bsizeof\s*\(\s*struct\s+$name\s*\)/x;
		$used{"$kind $name"} = 1;
	}
	$text =~ s/\b(?:struct|enum)\s+tide_\w+//g;
	$used{$_} = 1 for $text =~ /\b(?:tide|TIDE)_\w+/g;
	my %said;
	for my $name (sort keys %used) {
		my $header = $giver{$name} ? $giver{$name}[0] : next;
		next if $have->{$header} || $file eq "include/$header";
		next if $said{$header}++;
		print "$file uses $name without $header\n";
		$wrong++;
	}
}
exit($wrong > 0);
