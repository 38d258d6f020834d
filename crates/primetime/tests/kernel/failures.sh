# Work that goes on until the host says stop: ann has a lock, writes, and reads what
# bob changes; bob wants the lock, and writes too.
work() { perl "$EXCHANGE/failures.pl" "$@" || fail "$*"; }
start() { work "$@" & started="$started $!"; }

if [ "$NAME" = ann ]; then
    for file in $(seq "$CONSTANT"); do echo "constant $file" >"constant$file"; done
    start hold
    await locked
    start follow "$NEWS"
    start read "$CONSTANT"
else
    await locked
    start contend
    start publish "$NEWS"
fi
for writer in 1 2; do start write "$NAME-$writer" "/tmp/acknowledged$writer"; done
start model
[ -z "$ONCE" ] || start once
for process in $started; do wait "$process" || fail "a process"; done
cat /tmp/acknowledged* >"$EXCHANGE/acknowledged"
echo 3 >/proc/sys/vm/drop_caches
while read -r name lines; do
    if [ "$lines" = 0 ]; then
        [ ! -e "$name" ] || fail "$name is back"
    else
        [ "$(tail -n 1 "$name")" = "$name $lines" ] || fail "$name is lost"
    fi
done <"$EXCHANGE/acknowledged"
meet verified
if [ "$NAME" = bob ]; then
    for file in $(seq "$CONSTANT"); do echo "changed $file" >"constant$file" || fail "change"; done
fi
meet changed
for file in $(seq "$CONSTANT"); do expect "constant$file" "$(cat "constant$file")" "changed $file"; done
