# Ann holds locks and delegations until she is killed; bob wants them.
work() { perl "$EXCHANGE/death.pl" "$@" || fail "$*"; }
hold() {
    for file in $(seq "$DELEGATED"); do echo "ann's $file" >"delegated$file"; done
    : >by-fcntl; : >by-flock
    forget_and_read; forget_and_read
    work hold
}
# The first time the file is delegated, if it was not when it was written.
forget_and_read() { cat delegated* >/dev/null; echo 3 >/proc/sys/vm/drop_caches; }
inherit() {
    await holding
    work refused
    tell refused
    await dead
    work refused
    tell refused-by-the-dead
    for file in $(seq "$DELEGATED"); do echo "bob's $file" >"delegated$file" || fail "change"; done
    work acquire
    for file in $(seq "$DELEGATED"); do expect "delegated$file" "$(cat "delegated$file")" "bob's $file"; done
    tell inherited
}
