# A lock that is kept, and lost. usage: partition.pl hold|refused|take
use strict; use warnings;
use Fcntl qw(:DEFAULT :seek);
use IO::Handle;

sub await { select(undef, undef, undef, 0.01) until -d "$ENV{SHARED}/$_[0]"; }
sub tell_all { mkdir "$ENV{SHARED}/$_[0]" or die "tell: $!"; }
# struct flock of x86-64: l_type, l_whence, l_start, l_len, l_pid.
sub range { my ($type) = @_; return pack("s s x4 q q l x4", $type, SEEK_SET, 0, 0, 0); }
sysopen(my $file, "locked", O_RDWR) or die "open: $!";
sub lock_it { return fcntl($file, F_SETLK, range(F_WRLCK)); }
sub put { my ($text) = @_;
    sysseek($file, 0, SEEK_SET) or die "seek: $!";
    return syswrite($file, $text) && $file->sync;
}
my %work = (
    hold => sub {
        lock_it() or die "lock: $!";
        put("first") or die "write: $!";
        tell_all("locked");
        await("back");
        put("again") or die "write after having been cut off: $!";
        tell_all("written");
        await("back-again");
        put("ann's") and die "a write under a lock that is lost";
        $!{EIO} or die "write: $!";
        print "ok the write under the lost lock: $!\n";
        # The error was told; what the next one finds on closing is the same.
        close($file);
    },
    refused => sub {
        lock_it() and die "the lock is given to two";
        $!{EAGAIN} || $!{EACCES} or die "lock: $!";
    },
    take => sub {
        select(undef, undef, undef, 0.02) until lock_it();
        put("bob's") or die "write: $!";
        tell_all("taken");
        close($file) or die "close: $!";
    },
);
$work{$ARGV[0]}->();
