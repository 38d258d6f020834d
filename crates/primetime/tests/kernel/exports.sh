# Runs in a guest. Mounts every export both ways and tries what each user may do there.
# usage: exports.sh HOST PORT DIRECTORY
host=$1
port=$2
srv=$3

fail() { echo "FAILED $*"; exit 1; }
expect() { # WHAT ACTUAL EXPECTED
    [ "$2" = "$3" ] || fail "$1: got '$2', expected '$3'"
    echo "ok $1"
}
as() { # UID:GID:GROUPS COMMAND...
    who=$1; shift
    uid=${who%%:*}; rest=${who#*:}; gid=${rest%%:*}; groups=${rest#*:}
    if [ -n "$groups" ]; then
        setpriv --reuid="$uid" --regid="$gid" --groups="$groups" "$@" 2>/dev/null
    else
        setpriv --reuid="$uid" --regid="$gid" --clear-groups "$@" 2>/dev/null
    fi
}

root=0:0:
user=1000:1000:
owner=1001:1001:
member=1002:1002:2000
# Which of the files somebody can read.
reads() { # WHO DIRECTORY
    for file in secret shared public; do
        if as "$1" cat "$2/$file" > /dev/null; then printf '%s ' "$file"; fi
    done
}
# What each may read in an export, and what becomes of a file that it makes.
check() { # WHAT DIRECTORY ROOT USER OWNER MEMBER
    expect "$1: root reads" "$(reads $root "$2")" "$3"
    expect "$1: a user reads" "$(reads $user "$2")" "$4"
    expect "$1: the owner reads" "$(reads $owner "$2")" "$5"
    expect "$1: a member of the group reads" "$(reads $member "$2")" "$6"
}
all="secret shared public "
some="shared public "
one="public "
check_all() { # VERSION, with a function `at` that names the directory of an export
    check "$1 root_squash" "$(at deep/root)" "$one" "$one" "$all" "$some"
    check "$1 no_root_squash" "$(at deep/none)" "$all" "$one" "$all" "$some"
    check "$1 all_squash" "$(at all)" "$one" "$one" "$one" "$one"
    check "$1 all_squash to the owner" "$(at owner)" "$all" "$all" "$all" "$all"
    check "$1 ro" "$(at read)" "$all" "$one" "$all" "$some"
    for export in deep/root deep/none all owner; do
        as $root touch "$(at $export)/root-$1" || fail "$1: root cannot make a file in $export"
        as $user touch "$(at $export)/user-$1" || fail "$1: a user cannot make a file in $export"
    done
    as $root touch "$(at read)/new" && fail "$1: a file was made where nothing may change"
    as $root rm "$(at read)/public" && fail "$1: a file was removed where nothing may change"
    as $owner sh -c "echo changed > $(at all)/secret" && fail "$1: squashed, the owner wrote"
    echo "ok $1 changes"
}

# NFSv4.1: one mount, and every export in its place.
mkdir -p /mnt/four
mount -t nfs -o "vers=4.1,proto=tcp,port=$port" "$host:/" /mnt/four || fail "mount of the root"
at() { echo "/mnt/four$srv/$1"; }
expect "the root leads to the exports only" "$(ls /mnt/four)" "$(echo "$srv" | cut -d / -f 2)"
expect "what may be used is there, and nothing else" "$(ls "/mnt/four$srv" | tr '\n' ' ')" "all deep owner read "
expect "below, too" "$(ls "/mnt/four$srv/deep" | tr '\n' ' ')" "none root "
[ -e "/mnt/four$srv/other" ] && fail "an export for others can be seen"
[ "$(stat -c %d "$(at all)/public")" != "$(stat -c %d "$(at owner)/public")" ] || fail "two exports are one device"
touch "/mnt/four$srv/new" 2>/dev/null && fail "a file was made on the way to the exports"
expect "and back" "$(cd "$(at deep/root)" && cd ../.. && ls -d all)" "all"
check_all 4.1
mount -t nfs -o "vers=4.1,proto=tcp,port=$port" "$host:$srv/deep/none" /mnt/four || fail "mount of one export"
expect "one export alone" "$(ls /mnt/four | grep -c secret)" 1
umount /mnt/four
umount -R /mnt/four 2>/dev/null || umount -l /mnt/four || fail "umount of the root"

# NFSv3: a mount for each.
mount3() { # EXPORT DIRECTORY
    mount -t nfs -o "vers=3,nolock,proto=tcp,mountproto=tcp,port=$port,mountport=$port" "$host:$srv/$1" "$2"
}
at() { echo "/mnt/three/$1"; }
for export in deep/root deep/none all owner read; do
    mkdir -p "/mnt/three/$export"
    mount3 $export "/mnt/three/$export" || fail "mount of $export"
done
mkdir -p /mnt/three/other
mount3 other /mnt/three/other 2>/dev/null && fail "an export for others was mounted"
check_all 3
for export in deep/root deep/none all owner read; do umount "/mnt/three/$export" || fail "umount $export"; done
exit 0
