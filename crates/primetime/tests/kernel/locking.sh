# What guests do that lock over NFSv3 while the server, or one of them, is killed and started again.
work() { perl "$EXCHANGE/$1.pl" "$2" || fail "$*"; }
start() { work "$@" & started="$started $!"; }

# Both count under a lock; ann holds another one that bob wants.
count() {
    if [ "$NAME" = ann ]; then
        echo 0 >counter
        start failures hold
        await locked
    else
        await locked
        start failures contend
    fi
    start locking count
    for process in $started; do wait "$process" || fail "a process"; done
    # The status monitor logs when the kernel has been told of a restart.
    grep -c "Callback to $NAME .* succeeded" /tmp/statd.log >"$EXCHANGE/notified"
    cp /tmp/counted "$EXCHANGE/counted"
}

# Ann holds a lock until she is killed, and leaves what her status monitor has on its disk.
hold() {
    : >held
    work locking hold &
    await holding
    mkdir "$SHARED/nfs"
    cp -r /var/lib/nfs/sm /var/lib/nfs/state "$SHARED/nfs/"
    echo "$ADDRESS" >"$SHARED/address"
    sync
    tell saved
    wait
}

# Bob is refused the lock, also when ann is dead, and has it when she is back.
inherit() {
    await saved
    work locking refused
    tell refused
    await dead
    work locking refused
    tell refused-by-the-dead
    work locking wait
    tell inherited
}

# What this guest's lock manager sends, calls apart, comes 100 ms late: its answers to GRANTED.
delay_lock_manager() {
    tc qdisc add dev vec0 root handle 1: prio priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 || fail prio
    tc qdisc add dev vec0 parent 1:1 handle 10: netem delay 100ms || fail netem
    for port in $(rpcinfo -p | awk '$1 == 100021 {print $4}' | sort -u); do
        tc filter add dev vec0 parent 1: protocol ip u32 match ip sport "$port" 0xffff flowid 1:1 ||
            fail filter
    done
}

# Both wait for one lock again and again. A turn is shorter than the delay: UNLOCK overtakes the answer
# to GRANTED.
cross() {
    delay_lock_manager
    [ "$NAME" != ann ] || echo 0 >counter
    meet cross
    perl "$EXCHANGE/contention.pl" queue counter "$TURNS" || fail queue
    meet crossed
    expect "counter" "$(cat counter)" $((2 * TURNS))
    late=$(tc -s qdisc show dev vec0 | grep -A1 netem | awk '$1 == "Sent" {print $4}')
    [ "$late" -ge "$TURNS" ] || fail "only $late answers were late"
    echo "ok $NAME $late answers were late"
}

# Ann is back at her address, and tells that she has restarted.
come_back() {
    address=$(cat "$SHARED/address")
    ip address flush dev vec0 && ip address add "$address" dev vec0 || fail "address"
    cp -r "$SHARED/nfs/." /var/lib/nfs/
    # It wants its own name resolved.
    echo "${address%/*} $NAME" >/tmp/hosts
    mount --bind /tmp/hosts /etc/hosts || fail hosts
    # It stays in the foreground until it has told everybody.
    sm-notify -d -f -m 1 >/tmp/sm-notify.log 2>&1 || { cat /tmp/sm-notify.log; fail sm-notify; }
    await inherited
}
