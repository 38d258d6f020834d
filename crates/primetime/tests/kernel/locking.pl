# Locks that are waited for, and locks that are held until the guest dies. usage: locking.pl WORK
use strict; use warnings;
use Fcntl qw(:DEFAULT :seek);
use IO::Handle;

# struct flock of x86-64: l_type, l_whence, l_start, l_len, l_pid.
sub range { my ($type) = @_; return pack("s s x4 q q l x4", $type, SEEK_SET, 0, 0, 0); }
# Whoever reads sees one number or the next.
sub publish { my ($path, $number) = @_;
    open(my $out, ">", "$path.new") or die "$path: $!";
    print $out "$number\n";
    close($out) or die "$path: $!";
    rename("$path.new", $path) or die "$path: $!";
}
sub opened { my ($path) = @_; sysopen(my $file, $path, O_RDWR) or die "open $path: $!"; return $file; }

my %work = (
    # Adds to a counter until the host says stop.
    count => sub {
        my ($file, $counted) = (opened("counter"), 0);
        until (-d "$ENV{SHARED}/stop") {
            fcntl($file, F_SETLKW, range(F_WRLCK)) or die "lock: $!";
            sysseek($file, 0, SEEK_SET);
            sysread($file, my $number, 20) // die "read: $!";
            select(undef, undef, undef, 0.01);
            sysseek($file, 0, SEEK_SET);
            syswrite($file, sprintf("%d\n", $number + 1)) or die "write: $!";
            $file->sync or die "fsync: $!";
            fcntl($file, F_SETLK, range(F_UNLCK)) or die "unlock: $!";
            $counted++;
            publish("$ENV{SHARED}/counted.$ENV{NAME}", $counted);
            select(undef, undef, undef, 0.02);
        }
        close($file) or die "close: $!";
        open(my $out, ">", "/tmp/counted") or die "counted: $!";
        print $out "$counted\n";
        close($out) or die "counted: $!";
        print "ok $ENV{NAME} counted $counted times\n";
    },
    # Holds a lock for as long as it lives.
    hold => sub {
        my $file = opened("held");
        fcntl($file, F_SETLK, range(F_WRLCK)) or die "lock: $!";
        mkdir "$ENV{SHARED}/holding" or die "tell: $!";
        sleep 1 while 1;
    },
    refused => sub {
        my $file = opened("held");
        fcntl($file, F_SETLK, range(F_WRLCK)) and die "the lock was given to two";
        $!{EAGAIN} || $!{EACCES} or die "lock: $!";
    },
    wait => sub {
        my $file = opened("held");
        # So that this guest does not wait for ever when the other one has failed.
        $SIG{ALRM} = sub { die "the lock was not free in time" };
        alarm 60;
        fcntl($file, F_SETLKW, range(F_WRLCK)) or die "lock: $!";
    },
);
$work{$ARGV[0]}->();
