# Two users of one guest. Nothing that the client does under the delegation of one lets the other do what it may not.
as() { who=$1; shift; setpriv --reuid="$who" --regid="$who" --clear-groups "$@"; }
ann=1000
bob=1001
# Prints what becomes of an open by these flags.
try() { # USER FLAGS FILE
    as "$1" perl -MFcntl -e 'print sysopen(my $file, $ARGV[0], '"$2"') ? "opened" : $!{EACCES} ? "denied" : "failed: $!"' "$3"
}

check() { # FILE: of ann, and for bob to read
    before=$(as $ann cat $1)
    as $ann sh -c "echo again >>$1" || fail "append"
    expect "bob empties $1" "$(try $bob 'O_RDONLY|O_TRUNC' $1)" denied
    expect "bob truncates $1" "$(as $bob perl -e 'print truncate($ARGV[0], 0) ? "cut" : $!{EACCES} ? "denied" : $!' $1)" denied
    expect "bob writes $1" "$(try $bob O_WRONLY $1)" denied
    expect "what is in $1" "$(as $ann cat $1)" "$before
again"
}

# While the client has one user, the file is delegated to it for writing.
as $ann sh -c 'umask 022; echo one >own; echo two >>own' || fail "write"
check own
# Bob has looked at this one before, so that the client need not ask for him again.
as $ann sh -c 'umask 022; echo before >seen' || fail "create"
expect "bob reads" "$(as $bob cat seen)" before
check seen

as $ann sh -c 'umask 0; echo all >all; chmod 4777 all; echo more >>all' || fail "write for all"
expect "the owner's write clears the set-user-id bit" "$(stat -c %a all)" 777
as $ann chmod 4777 all || fail "chmod"
as $bob sh -c 'echo others >>all' || fail "bob appends"
expect "another user's write clears the set-user-id bit" "$(stat -c %a all)" 777
expect "what is in all" "$(cat all | tr '\n' ' ')" "all more others "

# A file that bob may run and not read.
as $ann cp /bin/true program || fail "copy"
as $ann chmod 711 program || fail "chmod"
as $bob ./program || fail "bob runs the program"
expect "bob reads the program" "$(try $bob O_RDONLY program)" denied
