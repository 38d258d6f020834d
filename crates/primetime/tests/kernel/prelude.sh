# What the scripts of guests have in common. Guests and their host meet in $SHARED: a directory there is an event.

fail() { echo "FAILED $NAME: $*"; mkdir -p "$SHARED/failed"; sync; exit 1; }
expect() { # WHAT ACTUAL EXPECTED
    [ "$2" = "$3" ] || fail "$1: got '$2', expected '$3'"
    echo "ok $NAME $1"
}
tell() { mkdir "$SHARED/$1" || fail "tell $1"; }
await() {
    until [ -d "$SHARED/$1" ]; do
        [ ! -d "$SHARED/failed" ] || fail "the other guest failed while this one waited for $1"
        busybox usleep 10000
    done
}
# Both guests of a pair come here before one goes on.
meet() { tell "$1.$NAME"; await "$1.$PEER"; }
mount_export() {
    mkdir -p /mnt/n
    mount -t nfs -o "${MOUNT_OPTIONS:-vers=4.1},proto=tcp,port=$PORT" "$HOST:/" /mnt/n || fail mount
    cd /mnt/n
}
