# The benchmark, with this guest's kernel as its client.
set -e
"$SHARED/primetime" bench --client kernel --server "$URL" --versions "$VERSIONS" --rtt-ms 0 --runs 1 \
    --mount-options "$EXTRA_OPTIONS" --experiment "$EXCHANGE/locked-each-time.toml" \
    --experiment "$EXCHANGE/locked-once.toml" --out /tmp/out || exit 1
cp /tmp/out/results.json "$EXCHANGE/results.json"
! grep primetime-bench /proc/self/mountinfo
[ -z "$(ls -A /tmp | grep primetime-bench)" ]
