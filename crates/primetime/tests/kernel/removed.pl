# Opens files, waits until they have lost their names, and goes on. usage: removed.pl WRITTEN WRITTEN READ
use strict; use warnings;
use Fcntl qw(:DEFAULT :seek);
use IO::Handle;

# struct flock of x86-64: l_type, l_whence, l_start, l_len, l_pid.
sub range { my ($type) = @_; return pack("s s x4 q q l x4", $type, SEEK_SET, 0, 0, 0); }
sub forget { system("echo 3 >/proc/sys/vm/drop_caches") == 0 or die "drop caches"; }
sub content { my ($file) = @_;
    seek($file, 0, SEEK_SET) or die "seek: $!";
    my $text = do { local $/; <$file> };
    defined $text or die "read: $!";
    return $text;
}

my $expected = join("", map { "$_\n" } 1 .. 2000);
my ($first, $second, $reader) = @ARGV;
my @writers = map { sysopen(my $file, $_, O_RDWR) or die "open $_: $!"; $file } $first, $second;
sysopen(my $reading, $reader, O_RDONLY) or die "open $reader: $!";
for my $file (@writers, $reading) { content($file) eq $expected or die "read something else"; }

mkdir "$ENV{SHARED}/open" or die "tell: $!";
until (-d "$ENV{SHARED}/gone") {
    die "the other guest has failed" if -d "$ENV{SHARED}/failed";
    select(undef, undef, undef, 0.01);
}
forget();
for my $file (@writers, $reading) { content($file) eq $expected or die "lost what was read"; }
for my $file (@writers) {
    fcntl($file, F_SETLK, range(F_WRLCK)) or die "lock: $!";
    seek($file, 0, SEEK_END) or die "seek: $!";
    print {$file} "more\n" or die "write: $!";
    $file->flush or die "flush: $!";
    $file->sync or die "sync: $!";
    fcntl($file, F_SETLK, range(F_UNLCK)) or die "unlock: $!";
    forget();
    content($file) eq $expected . "more\n" or die "lost what was written";
    truncate($file, 5) or die "truncate: $!";
    forget();
    content($file) eq substr($expected, 0, 5) or die "not cut";
    # Not by fstat(2): newer C libraries look the descriptor up like a name, which Linux refuses for a file without links.
    my $size = sysseek($file, 0, SEEK_END);
    $size == 5 or die "its size is $size";
}
for my $file (@writers, $reading) { close($file) or die "close: $!"; }
