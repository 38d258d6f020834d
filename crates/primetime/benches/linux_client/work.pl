# What the Linux client is measured at. usage: work.pl WORKLOAD FILES PLACE, on the mount. What is made is
# made in PLACE. Prints WORKLOAD, PLACE, seconds and requests.
use strict; use warnings;
use Fcntl qw(:DEFAULT :seek);
use Time::HiRes qw(time);

my ($workload, $files, $place) = @ARGV;
my $block = "x" x 4096;

# Requests of all kinds on the mount that were sent up to now.
sub requests {
    open(my $stats, "<", "/proc/self/mountstats") or die "mountstats: $!";
    my ($mount, $total) = (0, 0);
    while (<$stats>) {
        $mount = m{mounted on /mnt/n } if /^device /;
        $total += $1 if $mount && /^\s+[A-Z_]+: (\d+) \d+ \d+ \d+ \d+ \d+ \d+ \d+/;
    }
    return $total;
}
sub range { my ($type) = @_; return pack("s s x4 q q l x4", $type, SEEK_SET, 0, 0, 0); }
sub lock_and_read {
    my ($file) = @_;
    fcntl($file, F_SETLKW, range(F_RDLCK)) or die "lock: $!";
    sysseek($file, 0, SEEK_SET);
    sysread($file, my $data, 4096) == 4096 or die "read: $!";
    fcntl($file, F_SETLK, range(F_UNLCK)) or die "unlock: $!";
}
sub read_all {
    for my $n (1 .. $files) {
        open(my $f, "<", "f$n") or die "open: $!";
        sysread($f, my $data, 4096) == 4096 or die "read: $!";
    }
}
sub run { system(@_) == 0 or die "@_: $?"; }

# What is done before the clock starts, and what is measured.
my $nothing = sub {};
my %work = (
    "locked-read" => [$nothing, sub {
        for (1 .. 10) { for my $n (1 .. $files) { sysopen(my $f, "f$n", O_RDONLY) or die "open: $!"; lock_and_read($f); } }
    }],
    "locked-read-once" => [$nothing, sub {
        for my $n (1 .. $files) { sysopen(my $f, "f$n", O_RDONLY) or die "open: $!"; lock_and_read($f) for 1 .. 10; }
    }],
    "small-file-read" => [\&read_all, sub { read_all() for 1 .. 10 }],
    "create" => [$nothing, sub {
        for my $n (1 .. $files) { sysopen(my $f, "$place/c$n", O_WRONLY | O_CREAT | O_EXCL) or die "create: $!"; }
    }],
    "create-4k" => [$nothing, sub {
        for my $n (1 .. $files) {
            sysopen(my $f, "$place/k$n", O_WRONLY | O_CREAT | O_EXCL) or die "create: $!";
            syswrite($f, $block) == 4096 or die "write: $!";
            close($f) or die "close: $!";
        }
    }],
    "tree-extract" => [$nothing, sub { run("tar", "-xf", "$ENV{EXCHANGE}/tree.tar", "-C", $place); run("sync", "-f", $place); }],
    "tree-copy" => [$nothing, sub { run("cp", "-r", "$place/tree", "$place/copy"); run("sync", "-f", $place); }],
    "tree-list" => [$nothing, sub { run("ls -lR $place/copy >/dev/null"); }],
    "tree-remove" => [$nothing, sub { run("rm", "-r", "$place/copy"); }],
);
$work{$workload}[0]->();
my ($requests, $begun) = (requests(), time);
$work{$workload}[1]->();
printf "%s %s %.6f %d\n", $workload, $place, time - $begun, requests() - $requests;
