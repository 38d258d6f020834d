# Ann has files open, and works on with them when bob has taken their names.
if [ "$NAME" = ann ]; then
    for file in removed replaced reread; do seq 2000 >$file || fail "$file"; done
    perl "$EXCHANGE/removed.pl" removed replaced reread || fail "work on nameless files"
    expect "names for ann" "$(ls | wc -l)" 0
else
    await open
    echo other >other
    rm removed || fail "remove"
    mv other replaced || fail "replace"
    rm reread || fail "remove what is read"
    expect "what is called so now" "$(cat replaced)" other
    rm replaced || fail "remove the other"
    tell gone
fi
meet done
