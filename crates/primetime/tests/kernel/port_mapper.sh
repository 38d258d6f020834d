# A server, Debian's rpcbind, and who asks them, on the host side of a lab. usage: port_mapper.sh PRIMETIME EXPORT STATE ADDRESS
fail() { echo "FAILED: $*"; exit 1; }
mount -t tmpfs tmpfs /run && mkdir /run/rpcbind || fail mount
# Without the state, which a running server has in use.
serve() { "$primetime" serve "$export" --forget --listen "$address:$1" --portmap "$2"; }
primetime=$1 export=$2 state=$3 address=$4
# Starts a server, and returns when it serves.
start() {
    mkfifo /run/ready
    "$primetime" serve "$export" --state-dir "$state" --listen "$address:2049" --portmap "$1" >/run/ready &
    server=$!
    read -r ready </run/ready
    rm /run/ready
    [ "$ready" = "ready nfs://$address:2049/" ] || fail "not ready: $ready"
}
end() { kill -"$1" $server; wait $server; }
# What is registered but the port mapper itself, as `program version protocol port`.
programs() { rpcinfo -p "$address" | awk '$1 != "program" && $1 != 100000 { print $1, $2, $3, $4 }' | sort; }
expected="100003 3 tcp 2049
100003 4 tcp 2049
100005 3 tcp 2049
100005 3 udp 2049
100021 4 tcp 2049
100021 4 udp 2049
100024 1 tcp 2049
100024 1 udp 2049"
are_there() { [ "$(programs)" = "$expected" ] || fail "registered: $(programs)"; }
refused() { # PORT MODE WORDS
    said=$(serve "$1" "$2" 2>&1) && fail "it serves"
    case "$said" in *"$3"*) ;; *) fail "it says: $said";; esac
}
answers() {
    for program in "100005 3" "100021 4" "100024 1"; do
        rpcinfo -t "$address" $program >/dev/null || fail "$program by TCP"
        rpcinfo -u "$address" $program >/dev/null || fail "$program by UDP"
    done
    rpcinfo -u "$address" 100003 3 2>/dev/null && fail "NFS by UDP"
    showmount -e "$address" | grep -q '^/ ' || fail showmount
}

refused 2049 register "start it, or be the port mapper by --portmap builtin"
rpcbind -f & rpcbind=$!
until [ -S /run/rpcbind.sock ] && rpcinfo -p "$address" >/dev/null 2>&1; do sleep 0.1; done
start register; are_there; answers
refused 2050 builtin "stop the rpcbind that is there"
end KILL
are_there
refused 2050 register "rpcinfo -d"
start register; are_there
end TERM || fail "it ended with $?"
[ -z "$(programs)" ] || fail "left behind: $(programs)"
kill $rpcbind; wait $rpcbind
start builtin; are_there; answers
end TERM || fail "it ended with $?"
