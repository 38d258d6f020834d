# Two guests, ann and bob, run this against each other. Ann makes what both use.
work() { perl "$EXCHANGE/contention.pl" "$@" || fail "$*"; }
is_ann() { [ "$NAME" = ann ]; }

if is_ann; then
    mkdir race; : >log; echo 0 >by-fcntl; echo 0 >by-flock; echo 0 >by-queue
    head -c 8192 /dev/zero >mapped; printf kept >held
    for round in $(seq $DELEGATED); do echo "old $round" >"d$round"; done
fi

for kind in fcntl flock; do
    meet "count-$kind"
    echo "refused $kind $(work count "$kind" "by-$kind" "$INCREMENTS")"
    meet "counted-$kind"
    expect "counter under $kind" "$(cat "by-$kind")" $((2 * INCREMENTS))
done

meet queue
work queue by-queue "$QUEUED"
meet queued
expect "counter under a lock that is waited for" "$(cat by-queue)" $((2 * QUEUED))

meet create
won=$(work create race "$NAMES")
echo "$won" >"$SHARED/won.$NAME"; sync
meet created
expect "every name created once" "$((won + $(cat "$SHARED/won.$PEER")))" "$NAMES"
expect "names" "$(ls race | wc -l)" "$NAMES"
expect "names that are mine" "$(grep -lx "$NAME" race/* | wc -l)" "$won"

meet append
work append log "$LINES"
meet appended
expect "lines" "$(sort -u log | wc -l) $(wc -l <log) $(grep -c "^$NAME " log)" "$((2 * LINES)) $((2 * LINES)) $LINES"

# In turn, one writes and the other sees it at once, size and contents, whatever the first one has delegated.
meet turns
for round in $(seq 20); do
    file=turn$round
    if [ $((round % 2)) = "$(is_ann; echo $?)" ]; then
        seq $((round * 50)) >$file || fail "$file"
        tell "wrote-$file"
    else
        await "wrote-$file"
        expect "size of $file" "$(stat -c %s $file)" "$(seq $((round * 50)) | wc -c)"
        seq $((round * 50)) | cmp - $file || fail "contents of $file"
        echo appended >>$file || fail "$file"
        tell "appended-$file"
        continue
    fi
    await "appended-$file"
    expect "end of $file" "$(tail -n 1 $file)" appended
done

meet map
is_ann && work map mapped "from ann"
meet mapped-by-ann
expect "what ann wrote to memory" "$(tr -d '\0' <mapped) $(stat -c %s mapped)" "from ann 8192"
meet map-back
is_ann || work map mapped "and bob!"
meet mapped-by-bob
expect "what bob wrote to memory" "$(tail -c +4094 mapped | head -c 8)" "and bob!"

if is_ann; then
    work hold held
    expect "nothing is left of what was held" "$(ls -A | grep -c -e '^\.nfs' -e '^held$')" 0
else
    await holding
    [ ! -e held ] || fail "the name is seen after its removal"
    tell looked
fi

meet delegate
# Bob changes what ann has delegations for.
if is_ann; then
    for pass in $(seq 20); do
        for round in $(seq $DELEGATED); do read -r text <"d$round"; [ "$text" = "old $round" ] || fail "d$round: $text"; done
    done
    cp /proc/self/mountstats "$EXCHANGE/mountstats-delegated"
fi
meet delegated
is_ann || for round in $(seq $DELEGATED); do echo "new $round" >"d$round" || fail "d$round"; done
meet recalled
if is_ann; then
    cp /proc/self/mountstats "$EXCHANGE/mountstats-recalled"
    for round in $(seq $DELEGATED); do read -r text <"d$round"; [ "$text" = "new $round" ] || fail "d$round: $text"; done
fi
meet done
