# A directory of $ENTRIES entries, most of which the host has made, is completed, listed, thinned out, and rid of what the
# guest has made.
work() { perl "$EXCHANGE/directory.pl" "$1" large "$ENTRIES" || fail "$1"; }
forget() { echo 3 >/proc/sys/vm/drop_caches; }
count() { ls -f large | wc -l; }

echo origin >origin
expect "what the host has made" "$(count)" $((2 + ENTRIES * 4 / 5))
work create
expect links "$(stat -c %h origin)" $((1 + ENTRIES / 5 - ENTRIES / 100))
forget
work list
expect count "$(count)" $((2 + ENTRIES))
work stat
expect thinned "$(work thin)" $((ENTRIES / 20))
forget
expect left "$(count)" $((2 + ENTRIES - ENTRIES / 20))
work remove
expect origin "$(stat -c %h origin)" 1
expect "what is the host's" "$(count)" $((2 + ENTRIES * 4 / 5 - ENTRIES / 20))
