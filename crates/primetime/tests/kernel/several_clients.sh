# The benchmark, with clients of this guest's kernel in network namespaces: each has a card, and an address, of its own.
set -e
modprobe macvlan
for number in 1 2 3; do
    client="client$number"
    ip netns add "$client"
    ip link add link vec0 name "$client" type macvlan mode bridge
    ip link set "$client" netns "$client"
    ip -n "$client" link set lo up
    ip -n "$client" address add "${ADDRESS%.*}.$((200 + number))/24" dev "$client"
    ip -n "$client" link set "$client" up
done
"$SHARED/primetime" bench --client kernel --client-namespaces client1,client2,client3 --server "$URL" --versions 4.1 \
    --rtt-ms 0 $SIZE --runs "$RUNS" --experiment delegation-recall --out /tmp/out || exit 1
cp /tmp/out/results.json "$EXCHANGE/results.json"
! grep primetime-bench /proc/self/mountinfo
