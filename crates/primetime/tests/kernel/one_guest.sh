# Runs in a guest with a real Linux NFS client, on a mounted export. Prints one line per check; ends with
# status 1 at the first one that fails.
# usage: workload.sh MOUNT_POINT VERSION SOURCE_TREE
mount_point=$1
version=$2
source_tree=$3
work=$mount_point/work-$version

fail() { echo "FAILED $version: $*"; exit 1; }
expect() { # NAME ACTUAL EXPECTED
    [ "$2" = "$3" ] || fail "$1: got '$2', expected '$3'"
    echo "ok $version $1"
}

mkdir "$work" || fail "mkdir"
cd "$work" || fail "cd"

# Two thousand files in twenty directories, each with its own contents.
perl -e '
    for my $d (0 .. 19) {
        mkdir "d$d" or die "mkdir d$d: $!";
        for my $f (0 .. 99) {
            open(my $out, ">", "d$d/f$f") or die "create d$d/f$f: $!";
            print $out "file $d $f\n" x ($f + 1) or die "write: $!";
            close($out) or die "close d$d/f$f: $!";
        }
    }' || fail "create"
expect create "$(find . -type f | wc -l)" 2000
expect readdir "$(ls d7 | sort | tr '\n' ' ' | cksum)" "$(for f in $(seq 0 99); do echo f$f; done | sort | tr '\n' ' ' | cksum)"
expect read "$(cat d19/f99 | wc -l) $(tail -n 1 d19/f99)" "100 file 19 99"

# Append, in one process and from another.
perl -e '
    for my $f (0 .. 99) {
        open(my $out, ">>", "d0/f$f") or die "append: $!";
        print $out "appended $f\n";
        close($out) or die "close: $!";
    }' || fail "append"
expect append "$(tail -qn 1 d0/f* | sort -u | wc -l) $(wc -l < d0/f9)" "100 11"

# A large file written in odd pieces, overwritten in the middle, truncated, extended.
perl -e '
    my $data = join "", map { chr(($_ * 7) % 256) } 0 .. 99_999;
    open(my $f, "+>", "large") or die "large: $!";
    binmode $f;
    for my $i (0 .. 49) { print $f $data or die "write: $!"; }
    seek($f, 1_234_567, 0); print $f "MIDDLE";
    close($f) or die "close: $!";
    truncate("large", 4_000_001) or die "truncate: $!";
    open($f, "<", "large"); binmode $f;
    seek($f, 1_234_567, 0); read($f, my $got, 6);
    die "middle is $got" unless $got eq "MIDDLE";
    seek($f, 4_000_000, 0); read($f, $got, 10);
    die "tail" unless length($got) == 1 && ord($got) == (0 * 7) % 256;
    close($f);' || fail "large file"
expect size "$(stat -c %s large)" 4000001
truncate -s 5000000 large
expect hole "$(tail -c 999999 large | tr -d '\0' | wc -c)" 0

# Names: rename over, across directories, hard links, symbolic links, remove.
echo target > target; echo other > other
mv -f other target
expect rename-over "$(cat target)" other
mv d1/f1 d2/moved
expect rename-across "$(head -n 1 d2/moved) $(ls d1 | wc -l)" "file 1 1 99"
mv d3 d4/d3
expect rename-directory "$(ls d4/d3 | wc -l)" 100
ln target linked
expect link "$(stat -c %h target) $(stat -c %i target)" "2 $(stat -c %i linked)"
ln -s ../elsewhere/file symbolic
expect symlink "$(readlink symbolic)" ../elsewhere/file
rm target
expect unlink "$(cat linked) $(stat -c %h linked)" "other 1"
rm -r d5 d6
expect remove-tree "$(ls -d d5 d6 2>/dev/null | wc -l)" 0
rmdir d7 2>/dev/null && fail "rmdir of a full directory"
mkfifo pipe || fail "mkfifo"
expect fifo "$(stat -c %F pipe)" fifo
long=$(printf 'n%.0s' $(seq 255))
touch "$long" || fail "255 byte name"
touch "${long}n" 2>/dev/null && fail "256 byte name"
expect long-name "$(ls | grep -c "^n*$")" 1

# Attributes.
chmod 0640 linked; touch -d '2001-02-03 04:05:06 UTC' linked
expect attributes "$(stat -c '%a %Y' linked)" "640 981173106"
chown 12:34 linked
expect owner "$(stat -c '%u:%g' linked)" 12:34
[ "$(df --output=size "$mount_point" | tail -n 1)" -gt 0 ] || fail "statfs"

# An open file keeps its data when its name goes.
perl -e '
    open(my $f, "+>", "unlinked") or die;
    print $f "still here"; $f->flush if $f->can("flush");
    unlink "unlinked" or die "unlink: $!";
    seek($f, 0, 0); my $line = <$f>;
    die "lost: $line" unless $line eq "still here";' || fail "open and unlinked"
echo "ok $version open-unlinked"

# Exclusive creation.
perl -MFcntl -e '
    sysopen(my $a, "exclusive", O_CREAT | O_EXCL | O_WRONLY) or die "first: $!";
    die "second succeeded" if sysopen(my $b, "exclusive", O_CREAT | O_EXCL | O_WRONLY);
    die "$!" unless $!{EEXIST};' || fail "exclusive create"
echo "ok $version exclusive"

# Byte-range locks between two processes; over v3 with nolock they are the guest's own.
cat > locks.pl <<'PERL'
use Fcntl;
sub lock_range { my ($fh, $type, $start, $length) = @_;
    my $request = pack("s s x4 q q l x4", $type, 0, $start, $length, 0);
    return fcntl($fh, F_SETLK, $request); }
open(my $file, "+>", "locked") or die "open: $!";
print $file "x" x 100; close $file;
pipe(my $up_read, my $up_write); pipe(my $down_read, my $down_write);
my $child = fork();
if (!$child) {
    open(my $mine, "+<", "locked") or die;
    lock_range($mine, F_WRLCK, 0, 10) or die "child lock: $!";
    syswrite($up_write, "1"); sysread($down_read, my $go, 1);
    exit 0;
}
sysread($up_read, my $ready, 1);
open(my $mine, "+<", "locked") or die;
die "conflicting lock granted" if lock_range($mine, F_WRLCK, 5, 10);
lock_range($mine, F_WRLCK, 10, 10) or die "free range refused: $!";
lock_range($mine, F_RDLCK, 50, 10) or die "read lock refused: $!";
lock_range($mine, F_UNLCK, 10, 10) or die "unlock: $!";
syswrite($down_write, "1"); waitpid($child, 0); die "child" if $?;
lock_range($mine, F_WRLCK, 0, 100) or die "lock after the holder is gone: $!";
PERL
perl locks.pl || fail "locks"
echo "ok $version locks"

# A source tree, copied and read back with cold caches.
cp -r "$source_tree" tree || fail "copy of a tree"
echo 3 > /proc/sys/vm/drop_caches
expect tree "$(cd tree && find . -type f | sort | xargs -d '\n' cksum | cksum)" \
    "$(cd "$source_tree" && find . -type f | sort | xargs -d '\n' cksum | cksum)"

# The same file read again and again: with delegations no request is needed.
for round in 1 2 3 4 5; do cat d8/f* > /dev/null || fail "re-read"; done
echo "ok $version re-read"

cd / && rm -r "$work" || fail "clean up"
expect removed "$(ls "$mount_point" | wc -l)" 0
