# Ann is cut off twice, with a lock and delegations in her hands. The second time, bob wants them.
work() { perl "$EXCHANGE/partition.pl" "$@" || fail "$*"; }
cut_off() { ip link set vec0 down || fail "cut off"; }
connect() { ip link set vec0 up || fail "connect"; }
# Linux learns from the flags of its next SEQUENCE that delegations are gone, and then asks for each of them, one after
# the other, while programs go on reading what it has: that it stops doing so is what the server can bring about.
await_content() { # FILE CONTENT
    echo "waiting for $NAME to see '$2' in $1"
    until [ "$(cat "$1")" = "$2" ]; do busybox usleep 10000; done
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
    cut_off; tell away; await taken; connect
    tell back-again
    wait $holder || fail "the holder"
    expect "what ann sees" "$(cat locked)" "bob's"
    for file in $(seq "$DELEGATED"); do await_content "delegated$file" "bob's $file"; done
else
    await kept
    work refused
    tell refused; await away
    for file in $(seq "$DELEGATED"); do echo "bob's $file" >"delegated$file" || fail "change"; done
    work take
fi
