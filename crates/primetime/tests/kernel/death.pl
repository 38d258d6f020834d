# Locks of a guest that is killed. usage: death.pl hold|refused|acquire
use strict; use warnings;
use Fcntl qw(:DEFAULT :flock :seek);

sub pause { select(undef, undef, undef, $_[0]); }
# struct flock of x86-64: l_type, l_whence, l_start, l_len, l_pid. Bytes 100 to 199.
my $range = pack("s s x4 q q l x4", F_WRLCK, SEEK_SET, 100, 100, 0);
sysopen(my $ranges, "by-fcntl", O_RDWR) or die "open: $!";
sysopen(my $whole, "by-flock", O_RDWR) or die "open: $!";
sub lock_range { return fcntl($ranges, F_SETLK, $range); }
sub lock_whole { return flock($whole, LOCK_EX | LOCK_NB); }
sub refused { $!{EAGAIN} || $!{EACCES} or die "lock: $!"; }

my %work = (
    hold => sub {
        lock_range() or die "range: $!";
        lock_whole() or die "whole: $!";
        mkdir "$ENV{SHARED}/holding" or die "tell: $!";
        pause(1) while 1;
    },
    refused => sub {
        lock_range() and die "the range is locked by two";
        refused();
        lock_whole() and die "the file is locked by two";
        refused();
    },
    acquire => sub {
        until (lock_range()) { refused(); pause(0.02); }
        until (lock_whole()) { refused(); pause(0.02); }
        syswrite($ranges, "mine") or die "write: $!";
        close($ranges) or die "close: $!";
    },
);
$work{$ARGV[0]}->();
