# What two clients do to the same files. usage: contention.pl WORK ARGUMENT...
use strict; use warnings;
use Fcntl qw(:DEFAULT :flock :seek);

# struct flock of x86-64: l_type, l_whence, l_start, l_len, l_pid.
sub range { my ($type) = @_; return pack("s s x4 q q l x4", $type, SEEK_SET, 0, 0, 0); }
my %lock = (
    fcntl => sub { fcntl($_[0], F_SETLK, range(F_WRLCK)) },
    flock => sub { flock($_[0], LOCK_EX | LOCK_NB) },
);
my %unlock = (
    fcntl => sub { fcntl($_[0], F_SETLK, range(F_UNLCK)) },
    flock => sub { flock($_[0], LOCK_UN) },
);

# A blocking lock would wait a second and longer between two tries; contention needs many.
sub acquire { my ($kind, $file) = @_;
    my $refused = 0;
    until ($lock{$kind}->($file)) {
        die "$kind: $!" unless $!{EAGAIN} || $!{EACCES};
        $refused++;
        select(undef, undef, undef, 0.001);
    }
    return $refused;
}

my %work = (
    # Adds to a counter, each time under an exclusive lock.
    count => sub { my ($kind, $path, $times) = @_;
        sysopen(my $file, $path, O_RDWR) or die "open $path: $!";
        my $refused = 0;
        for (1 .. $times) {
            $refused += acquire($kind, $file);
            sysseek($file, 0, SEEK_SET);
            sysread($file, my $number, 20) // die "read: $!";
            sysseek($file, 0, SEEK_SET);
            syswrite($file, $number + 1) or die "write: $!";
            $unlock{$kind}->($file) or die "unlock: $!";
            # A file's own lock is free for the other one at once only if we do not take it at once again.
            select(undef, undef, undef, 0.002);
        }
        close($file) or die "close: $!";
        print "$refused\n";
    },
    # The same with a lock that is waited for, and held for a while.
    queue => sub { my ($path, $times) = @_;
        sysopen(my $file, $path, O_RDWR) or die "open $path: $!";
        for (1 .. $times) {
            fcntl($file, F_SETLKW, range(F_WRLCK)) or die "lock: $!";
            sysseek($file, 0, SEEK_SET);
            sysread($file, my $number, 20) // die "read: $!";
            select(undef, undef, undef, 0.02);
            sysseek($file, 0, SEEK_SET);
            syswrite($file, $number + 1) or die "write: $!";
            fcntl($file, F_SETLK, range(F_UNLCK)) or die "unlock: $!";
        }
        close($file) or die "close: $!";
    },
    # Notes its turns: the first letter of who has the lock.
    turns => sub { my ($path, $times) = @_;
        sysopen(my $file, $path, O_RDWR) or die "open $path: $!";
        for (1 .. $times) {
            fcntl($file, F_SETLKW, range(F_WRLCK)) or die "lock: $!";
            sysseek($file, 0, SEEK_END);
            syswrite($file, substr($ENV{NAME}, 0, 1)) or die "write: $!";
            select(undef, undef, undef, 0.01);
            fcntl($file, F_SETLK, range(F_UNLCK)) or die "unlock: $!";
        }
        close($file) or die "close: $!";
    },
    # Tries to be the one that creates each name; prints how often it was.
    create => sub { my ($directory, $names) = @_;
        my $won = 0;
        for my $name (1 .. $names) {
            if (sysopen(my $file, "$directory/$name", O_CREAT | O_EXCL | O_WRONLY)) {
                syswrite($file, $ENV{NAME}) or die "write: $!";
                close($file) or die "close: $!";
                $won++;
            } else {
                $!{EEXIST} or die "create $name: $!";
            }
        }
        print "$won\n";
    },
    # Appends lines of its own, each one locked, opened anew, or Linux would append where it believes the end to be.
    append => sub { my ($path, $lines) = @_;
        for my $line (1 .. $lines) {
            sysopen(my $file, $path, O_WRONLY | O_APPEND) or die "open $path: $!";
            acquire("fcntl", $file);
            syswrite($file, "$ENV{NAME} $line\n") or die "write: $!";
            close($file) or die "close: $!";
        }
    },
    # Maps a file, changes it in memory from a pipe, and syncs: mmap is 9, msync 26, munmap 11, read 0 on x86-64.
    map => sub { my ($path, $text) = @_;
        sysopen(my $file, $path, O_RDWR) or die "open $path: $!";
        my $address = syscall(9, 0, 8192, 3, 1, fileno($file), 0);
        $address > 0 or die "mmap: $!";
        pipe(my $from, my $to); syswrite($to, $text);
        # Across the border of two pages.
        my $begin = $address + 4096 - 3;
        syscall(0, fileno($from), $begin, length $text) == length $text or die "store: $!";
        syscall(26, $address, 8192, 4) == 0 or die "msync: $!";
        syscall(11, $address, 8192) == 0 or die "munmap: $!";
        close($file) or die "close: $!";
    },
    # Reads a file whose name goes while it is open: before, and after the other guest has seen it go.
    hold => sub { my ($path) = @_;
        open(my $file, "<", $path) or die "open $path: $!";
        unlink $path or die "unlink: $!";
        -e $path and die "the name is still there";
        system("echo 3 >/proc/sys/vm/drop_caches");
        my $text = do { local $/; <$file> };
        $text eq "kept" or die "read '$text'";
        opendir(my $directory, "."); my @silly = grep { /^\.nfs/ } readdir $directory;
        @silly == 1 or die "silly names: @silly";
        mkdir "$ENV{SHARED}/holding"; select(undef, undef, undef, 0.01) until -d "$ENV{SHARED}/looked";
        seek($file, 0, 0); system("echo 3 >/proc/sys/vm/drop_caches");
        $text = do { local $/; <$file> };
        $text eq "kept" or die "read '$text' afterwards";
        close($file) or die "close: $!";
    },
);
my $what = shift @ARGV;
$work{$what}->(@ARGV);
