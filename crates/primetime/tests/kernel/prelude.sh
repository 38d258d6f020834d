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
# What a client of NFSv3 needs to lock: a port mapper and a status monitor of its own.
start_lock_services() {
    rpcbind || fail rpcbind
    # It says in its log what it is told.
    rpc.statd --no-notify --foreground --no-syslog >/tmp/statd.log 2>&1 &
    until rpcinfo -T udp 127.0.0.1 status >/dev/null 2>&1; do busybox usleep 10000; done
}
mount_export() {
    mkdir -p /mnt/n
    case "$MOUNT_OPTIONS" in
        *nolock*) where=",port=$PORT";;
        *vers=3*) start_lock_services; where="";;
        *) where=",port=$PORT";;
    esac
    # Options may name the port of the server.
    options=$(echo "${MOUNT_OPTIONS:-vers=4.1},proto=tcp$where" | sed "s/=PORT\>/=$PORT/g")
    mount -t nfs -o "$options" "$HOST:/" /mnt/n || fail mount
    cd /mnt/n
}
