# Ann is cut off twice, with a lock and delegations in her hands. The second time, bob wants them.
work() { perl "$EXCHANGE/partition.pl" "$@" || fail "$*"; }
cut_off() { ip link set vec0 down || fail "cut off"; }
connect() { ip link set vec0 up || fail "connect"; }
# Linux learns from the flags of its next SEQUENCE that delegations are gone, and then asks for each of them, one after
# the other, while programs go on reading what it has: that it stops doing so is what the server can bring about.
await_content() { # FILE CONTENT
    echo "waiting for $NAME to see '$2' in $1"
    { sleep 60; tell_client; fail "$1: still '$(cat "$1")'"; } &
    watch=$!
    until [ "$(cat "$1")" = "$2" ]; do
        [ ! -d "$SHARED/failed" ] || exit 1
        busybox usleep 10000
    done
    kill $watch
}
# What the kernel's client waits for, and what it has asked so far.
tell_client() {
    for task in /proc/[0-9]*; do
        case "$(cat "$task/comm")" in
            *manager*|nfs*|rpc*|cat) echo "$(cat "$task/comm"): $(tr '\n' ' ' <"$task/stack")";;
        esac
    done
    cat /proc/self/mountstats
}

if [ "$NAME" = ann ]; then
    printf start >locked
    for file in $(seq "$DELEGATED"); do echo "ann's $file" >"delegated$file"; done
    cat delegated* >/dev/null
    work hold &
    holder=$!
    await locked
    cut_off; sleep "$TOO_LONG"; connect
    tell back; await written
    cat delegated* >/dev/null
    tell kept; await refused
    cut_off; tell away; await taken
    # So the recall that was sent meanwhile, and is sent again, comes before what she has to say gets there: Linux then returns a
    # delegation that she has lost already.
    tc qdisc add dev vec0 root netem delay 200ms limit 100000 || fail "delay"
    connect
    tell back-again
    wait $holder || fail "the holder"
    expect "what ann sees" "$(cat locked)" "bob's"
    tc qdisc del dev vec0 root || fail "no delay"
    for file in $(seq "$DELEGATED"); do await_content "delegated$file" "bob's $file"; done
else
    await kept
    work refused
    tell refused; await away
    for file in $(seq "$DELEGATED"); do echo "bob's $file" >"delegated$file" || fail "change"; done
    work take
fi
