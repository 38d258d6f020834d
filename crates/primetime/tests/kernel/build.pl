# What make(1) and a compiler do, without the compiler: objects are made from the headers that they depend on, by four
# processes, if one of those is newer; then libraries from objects. Prints how many objects were made.
# usage: build.pl TREE OBJECTS
use strict; use warnings;

my ($tree, $objects) = @ARGV;
use constant { HEADERS => 6, WORKERS => 4, PER_LIBRARY => 20 };
open(my $list, "<", "$tree.list") or die "list: $!";
chomp(my @headers = <$list>);
-d "build" or mkdir "build" or die "mkdir: $!";

sub slurp { open(my $file, "<", $_[0]) or die "open $_[0]: $!"; local $/; return <$file> // ""; }
sub sum { return unpack("%32C*", $_[0]); }
# The way a linker leaves its result: complete, under its name at once.
sub put { my ($path, $text) = @_;
    open(my $file, ">", "$path.new$$") or die "create $path: $!";
    print $file $text or die "write $path: $!";
    close($file) or die "close $path: $!";
    rename "$path.new$$", $path or die "rename $path: $!";
}
sub mtime { my @status = stat $_[0]; return @status ? $status[9] : -1; }

sub object { my ($number) = @_;
    my @needs = map { "$tree/" . $headers[($number * 31 + $_ * 7) % @headers] } 1 .. HEADERS;
    my $made_at = mtime("build/$number.o");
    return 0 unless grep { mtime($_) > $made_at } @needs;
    put("build/$number.o", join "", map { "$_ " . sum(slurp($_)) . "\n" } @needs);
    return 1;
}

my @reports;
for my $worker (0 .. WORKERS - 1) {
    pipe(my $from, my $to) or die "pipe: $!";
    push @reports, $from;
    next if fork();
    my $made = 0;
    for my $number (grep { $_ % WORKERS == $worker } 0 .. $objects - 1) { $made += object($number); }
    syswrite($to, $made);
    exit 0;
}
my $made = 0;
for my $report (@reports) { $made += <$report> // die "a worker failed"; }
while (wait() > 0) { die "a worker failed" if $?; }
for (my $first = 0; $first < $objects; $first += PER_LIBRARY) {
    put("build/$first.a", join "", map { slurp("build/$_.o") } $first .. $first + PER_LIBRARY - 1);
}
print "$made\n";
