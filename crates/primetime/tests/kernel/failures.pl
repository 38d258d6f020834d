# What goes on while the server or the network fails. Ends with an error at the first call that fails, as no call may.
# usage: failures.pl WORK ARGUMENT...
use strict; use warnings;
use Fcntl qw(:DEFAULT :seek);
use IO::Handle;

sub stopped { return -d "$ENV{SHARED}/stop"; }
sub pause { select(undef, undef, undef, $_[0]); }
# struct flock of x86-64: l_type, l_whence, l_start, l_len, l_pid.
sub range { my ($type) = @_; return pack("s s x4 q q l x4", $type, SEEK_SET, 0, 0, 0); }
sub told { return "$ENV{SHARED}/news$_[0]"; }
sub text { my ($name, $lines) = @_; return join "", map { "$name $_\n" } 1 .. $lines; }

my %work = (
    # Writes files, and takes some away again. What was acknowledged is listed, under names of this guest's own.
    write => sub { my ($writer, $acknowledged) = @_;
        open(my $list, ">", $acknowledged) or die "list: $!";
        for (my $number = 0; !stopped(); $number++) {
            my ($name, $lines) = ("$writer-$number", 1 + $number * 37 % 2000);
            open(my $file, ">", $name) or die "create $name: $!";
            print $file text($name, $lines) or die "write $name: $!";
            $file->flush or die "write $name: $!";
            $file->sync or die "fsync $name: $!";
            close($file) or die "close $name: $!";
            if ($number % 5 == 4) {
                # A server that was started anew does not know that it has done this before.
                unlink $name or $!{ENOENT} or die "unlink $name: $!";
                $lines = 0;
            }
            print $list "$name $lines\n" or die "list: $!";
        }
        close($list) or die "list: $!";
    },
    # Holds a lock from the beginning to the end, and works on the locked file.
    hold => sub {
        sysopen(my $file, "held", O_RDWR | O_CREAT) or die "open: $!";
        fcntl($file, F_SETLK, range(F_WRLCK)) or die "lock: $!";
        mkdir "$ENV{SHARED}/locked" or die "tell: $!";
        my $number = 0;
        until (stopped()) {
            sysseek($file, 0, SEEK_SET); syswrite($file, sprintf("%08d", ++$number)) or die "write: $!";
            $file->sync or die "fsync: $!";
            pause(0.02);
        }
        # The other one has stopped trying.
        pause(0.01) until -d "$ENV{SHARED}/tried";
        fcntl($file, F_SETLK, range(F_UNLCK)) or die "unlock: $!";
        close($file) or die "close: $!";
        mkdir "$ENV{SHARED}/unlocked" or die "tell: $!";
        print "ok $ENV{NAME} wrote $number times under the lock\n";
    },
    # Wants the lock that the other guest holds.
    contend => sub {
        sysopen(my $file, "held", O_RDWR) or die "open: $!";
        my $refused = 0;
        until (stopped()) {
            fcntl($file, F_SETLK, range(F_WRLCK)) and die "the lock was given to two, after $refused refusals";
            $!{EAGAIN} || $!{EACCES} or die "lock: $!";
            $refused++;
            pause(0.02);
        }
        mkdir "$ENV{SHARED}/tried" or die "tell: $!";
        pause(0.01) until -d "$ENV{SHARED}/unlocked";
        fcntl($file, F_SETLK, range(F_WRLCK)) or die "the lock is not free: $!";
        print "ok $ENV{NAME} was refused the lock $refused times\n";
    },
    # Reads files that nobody changes, again and again: with delegations, which must be kept or given anew.
    read => sub { my ($files) = @_;
        my $passes = 0;
        for (; !stopped(); $passes++) {
            for my $number (1 .. $files) {
                open(my $file, "<", "constant$number") or die "open: $!";
                (<$file> // "nothing") eq "constant $number\n" or die "read something else";
                close($file) or die "close: $!";
            }
            pause(0.02);
        }
        print "ok $ENV{NAME} read $passes times\n";
    },
    # Changes one file after the other while the other guest reads it, and so has it delegated; says which are changed.
    publish => sub { my ($files) = @_;
        my $number = 0;
        until (stopped() || $number == $files) {
            $number++;
            sysopen(my $file, "news$number", O_WRONLY) or die "open: $!";
            syswrite($file, "new") == 3 or die "write: $!";
            close($file) or die "close: $!";
            mkdir told($number) or die "tell: $!";
            pause(0.03);
        }
        print "ok $ENV{NAME} published $number times\n";
    },
    # Reads what was changed last and what will be next. What was told before a file is opened must be in it.
    follow => sub { my ($files) = @_;
        my $sure = 0;
        until (stopped()) {
            $sure++ while -d told($sure + 1);
            for my $number ($sure - 2 .. $sure + 5) {
                next if $number < 1 || $number > $files;
                open(my $file, "<", "news$number") or die "open: $!";
                my $text = <$file> // "nothing";
                close($file) or die "close: $!";
                $text eq "new" or $text eq "old" && $number > $sure or die "news$number: $text, $sure were told";
            }
            pause(0.01);
        }
        print "ok $ENV{NAME} followed until $sure\n";
    },
    # Does to a file and to a string whatever comes, and compares them, from the cache and from the server.
    model => sub {
        my ($path, $model, $steps) = ("$ENV{NAME}-model", "", 0);
        srand($ENV{NAME} eq "ann" ? 1 : 2);
        sysopen(my $file, $path, O_RDWR | O_CREAT) or die "open: $!";
        for (; !stopped(); $steps++) {
            my ($what, $at, $length) = (int rand 6, int rand 200_000, 1 + int rand 20_000);
            if ($what < 3) {
                my $text = chr(65 + $steps % 26) x $length;
                sysseek($file, $at, SEEK_SET);
                syswrite($file, $text) == $length or die "write: $!";
                $model .= "\0" x ($at - length $model) if $at > length $model;
                substr($model, $at, $length) = $text;
            } elsif ($what == 3) {
                truncate($file, $at) or die "truncate: $!";
                $model = substr($model . "\0" x $at, 0, $at);
            } elsif ($what == 4) {
                close($file) or die "close: $!";
                system("echo 3 >/proc/sys/vm/drop_caches");
                sysopen($file, $path, O_RDWR) or die "open: $!";
            }
            -s $file == length $model or die "step $steps: size " . (-s $file) . " instead of " . length $model;
            sysseek($file, $at, SEEK_SET);
            my $read = sysread($file, my $got, $length) // die "read: $!";
            my $expected = $at < length $model ? substr($model, $at, $length) : "";
            $got eq $expected or die "step $steps: $read bytes at $at differ from " . length $expected;
        }
        close($file) or die "close: $!";
        print "ok $ENV{NAME} compared $steps times\n";
    },
    # Creates, links, renames and removes directories and files: no call may be done twice or be told so.
    once => sub {
        my $number = 0;
        for (; !stopped(); $number++) {
            my $place = "$ENV{NAME}-once-$number";
            mkdir $place or die "mkdir: $!";
            sysopen(my $file, "$place/a", O_CREAT | O_EXCL | O_WRONLY) or die "create: $!";
            close($file) or die "close: $!";
            link "$place/a", "$place/b" or die "link: $!";
            rename "$place/a", "$place/c" or die "rename: $!";
            unlink "$place/b" or die "unlink: $!";
            unlink "$place/c" or die "unlink: $!";
            rmdir $place or die "rmdir: $!";
        }
        print "ok $ENV{NAME} did everything once, $number times\n";
    },
);
my $what = shift @ARGV;
$work{$what}->(@ARGV);
