# Bob opens for writing what ann has delegations for, and as many files that nobody has.
stats() { cp /proc/self/mountstats "$EXCHANGE/mountstats-$1"; }
open_for_writing() {
    for number in $(seq "$FILES"); do
        : >>"$1$number" || fail "$1$number"
    done
}

meet begin
if [ "$NAME" = ann ]; then
    for number in $(seq "$FILES"); do
        read -r text <"delegated$number"
        expect "text of delegated$number" "$text" text
    done
    stats delegated
fi
meet delegated
if [ "$NAME" = bob ]; then
    stats before
    open_for_writing free
    stats free
    open_for_writing delegated
    stats recalled
fi
meet recalled
if [ "$NAME" = ann ]; then stats recalled; fi
meet end
