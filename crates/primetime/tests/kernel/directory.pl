# A large flat directory. usage: directory.pl WORK DIRECTORY ENTRIES
use strict; use warnings;
use Fcntl qw(:DEFAULT :mode);

my ($what, $directory, $entries) = @ARGV;
# Names of unequal lengths, so that the pages of a listing end at odd places.
sub name { return sprintf("%06d", $_[0]) . "x" x ($_[0] % 60); }
# Every fifth is the guest's; the others are files that the host has made.
sub is_mine { return $_[0] % 5 == 0; }
sub kind { my ($i) = @_; return $i % 1000 == 0 ? "directory" : is_mine($i) && $i % 100 ? "link" : "file"; }
chdir $directory or die "chdir: $!";

my %work = (
    create => sub {
        for my $i (grep { is_mine($_) } 1 .. $entries) {
            my ($name, $kind) = (name($i), kind($i));
            if ($kind eq "directory") { mkdir $name or die "mkdir: $!"; }
            elsif ($kind eq "link") { link("../origin", $name) or die "link $name: $!"; }
            else { sysopen(my $file, $name, O_CREAT | O_EXCL | O_WRONLY) or die "create: $!"; }
        }
    },
    list => sub {
        opendir(my $stream, ".") or die "opendir: $!";
        my %seen;
        while (defined(my $name = readdir $stream)) { $seen{$name}++ unless $name =~ /^\.\.?$/; }
        for my $i (1 .. $entries) {
            my $times = delete $seen{name($i)} // 0;
            $times == 1 or die name($i) . " is listed $times times";
        }
        die "names of nobody: " . join " ", keys %seen if %seen;
    },
    stat => sub {
        for (my $i = 1; $i <= $entries; $i += 97) {
            my @status = lstat name($i) or die "stat " . name($i) . ": $!";
            my $kind = S_ISDIR($status[2]) ? "directory" : $status[3] > 1 ? "link" : "file";
            $kind eq kind($i) or die name($i) . " is a $kind";
        }
        for my $i ($entries + 1 .. $entries + 100) { lstat name($i) and die "a name that was never made"; }
    },
    # While the directory is being listed, a part of it goes away; no other name may be missed or seen twice.
    thin => sub {
        opendir(my $stream, ".") or die "opendir: $!";
        my (%seen, $removed);
        while (defined(my $name = readdir $stream)) {
            next if $name =~ /^\.\.?$/;
            die "$name twice" if $seen{$name}++;
            next unless substr($name, 0, 6) % 20 == 1;
            unlink $name or die "unlink $name: $!";
            $removed++;
        }
        keys %seen == $entries or die "seen " . keys(%seen) . " of $entries";
        print "$removed\n";
    },
    remove => sub {
        for my $i (grep { is_mine($_) } 1 .. $entries) {
            my $name = name($i);
            (kind($i) eq "directory" ? rmdir $name : unlink $name) or die "remove $name: $!";
        }
    },
);
$work{$what}->();
