# What NFSv4.2 brings to Linux, by the guest's own system calls (x86-64): holes, copies in the server, clones, extended
# attributes. Dies at the first thing that is not as it should be.
# usage: minor_version_2.pl DIRECTORY
use strict;
use warnings;
use Errno qw(ENXIO ENODATA EOPNOTSUPP EEXIST);
use Fcntl qw(:DEFAULT :seek);

my ($FALLOCATE, $COPY_FILE_RANGE, $SETXATTR, $GETXATTR, $LISTXATTR, $REMOVEXATTR) =
    (285, 326, 188, 191, 194, 197);
my ($LSEEK, $IOCTL, $FICLONE) = (8, 16, 0x40049409);
my ($SEEK_DATA, $SEEK_HOLE, $KEEP_SIZE, $PUNCH_HOLE) = (3, 4, 1, 2);
my $PIECE = 1 << 20;

chdir $ARGV[0] or die "chdir: $!";

sub check { my ($what, $is, $expected) = @_;
    die "$what: got '$is', expected '$expected'" unless $is eq $expected;
    print "ok 4.2 $what\n"; }
sub open_file { my ($name, $mode) = @_;
    sysopen(my $file, $name, $mode, 0644) or die "open $name: $!";
    binmode $file;
    return $file; }
sub content { my ($name) = @_;
    open(my $file, "<:raw", $name) or die "read $name: $!";
    local $/;
    return scalar <$file>; }
sub forget { system("echo 3 > /proc/sys/vm/drop_caches"); }
sub seek_to { my ($file, $offset, $whence) = @_;
    my $found = syscall($LSEEK, fileno($file), $offset, $whence);
    return $found >= 0 ? $found : $! == ENXIO ? "ENXIO" : die "lseek: $!"; }

# Holes: reserve, write, punch, find.
my $file = open_file("holes", O_RDWR | O_CREAT);
syscall($FALLOCATE, fileno($file), 0, 0, 8 * $PIECE) == 0 or die "fallocate: $!";
check("reserved", -s "holes", 8 * $PIECE);
check("space", (stat "holes")[12] * 512 >= 8 * $PIECE ? "taken" : "not taken", "taken");
my $data = join "", map { chr(($_ * 7) % 255 + 1) } 0 .. 65_535;
for my $piece (0 .. 7) {
    sysseek($file, $piece * $PIECE, SEEK_SET) or die;
    for (1 .. $PIECE / length $data) { syswrite($file, $data) == length $data or die "write: $!"; }
}
$file->sync if $file->can("sync");
syscall($FALLOCATE, fileno($file), $PUNCH_HOLE | $KEEP_SIZE, 2 * $PIECE, 3 * $PIECE) == 0 or die "punch: $!";
check("size", -s "holes", 8 * $PIECE);
check("data", seek_to($file, 0, $SEEK_DATA), 0);
check("hole", seek_to($file, 0, $SEEK_HOLE), 2 * $PIECE);
check("data after the hole", seek_to($file, 2 * $PIECE, $SEEK_DATA), 5 * $PIECE);
check("hole at the end", seek_to($file, 5 * $PIECE, $SEEK_HOLE), 8 * $PIECE);
check("beyond the end", seek_to($file, 8 * $PIECE, $SEEK_DATA), "ENXIO");
close $file;
forget();
my $whole = $data x ($PIECE / length $data);
check("content", content("holes") eq $whole x 2 . "\0" x (3 * $PIECE) . $whole x 3 ? "same" : "other", "same");

# A copy that the server makes, of more than it copies at a time.
my $source = open_file("large", O_RDWR | O_CREAT);
for my $piece (0 .. 39) { syswrite($source, pack("N", $piece) . substr($whole, 4)) == $PIECE or die "write: $!"; }
my $target = open_file("copied", O_RDWR | O_CREAT);
sysseek($source, 0, SEEK_SET) or die;
my $left = 40 * $PIECE;
while ($left > 0) {
    my $copied = syscall($COPY_FILE_RANGE, fileno($source), 0, fileno($target), 0, $left, 0);
    die "copy_file_range: $!" if $copied <= 0;
    $left -= $copied;
}
close $target;
forget();
check("copied", content("copied") eq content("large") ? "same" : "other", "same");
check("cp --reflink=auto", system("cp --reflink=auto large cloned") . (-s "cloned"), "0" . 40 * $PIECE);
check("cloned", content("cloned") eq content("large") ? "same" : "other", "same");
my $clone = open_file("clone", O_RDWR | O_CREAT);
my $done = ioctl($clone, $FICLONE, 0 + fileno($source));
check("clone", defined $done ? "done" : $! == EOPNOTSUPP ? "not here" : "$!", $ENV{CLONES} ? "done" : "not here");

# Extended attributes.
sub set_xattr { my ($name, $value, $flags) = @_;
    my $path = "holes";
    return syscall($SETXATTR, $path, $name, $value, length $value, $flags); }
# The literals of Perl cannot be given to a system call.
sub get_xattr { my ($name, $buffer) = (@_, "\0" x 4096);
    my $path = "holes";
    my $got = syscall($GETXATTR, $path, $name, $buffer, length $buffer);
    return $got >= 0 ? substr($buffer, 0, $got) : $! == ENODATA ? "ENODATA" : die "getxattr: $!"; }
set_xattr("user.one", "value one", 0) == 0 or die "setxattr: $!";
set_xattr("user.two", "x" x 3000, 1) == 0 or die "setxattr: $!";
check("created twice", set_xattr("user.one", "other", 1) < 0 && $! == EEXIST ? "refused" : "taken", "refused");
check("replaced in vain", set_xattr("user.none", "other", 2) < 0 && $! == ENODATA ? "refused" : "taken", "refused");
forget();
check("value", get_xattr("user.one"), "value one");
check("long value", get_xattr("user.two"), "x" x 3000);
my ($path, $removed, $buffer) = ("holes", "user.one", "\0" x 4096);
my $got = syscall($LISTXATTR, $path, $buffer, length $buffer);
check("names", join(" ", sort grep { /^user\./ } split /\0/, substr($buffer, 0, $got)), "user.one user.two");
syscall($REMOVEXATTR, $path, $removed) == 0 or die "removexattr: $!";
check("removed", get_xattr("user.one"), "ENODATA");

unlink("holes", "large", "copied", "cloned", "clone") == 5 or die "unlink: $!";
