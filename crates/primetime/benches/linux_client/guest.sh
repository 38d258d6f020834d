# Each workload on a mount of its own, whose caches are cold.
mkdir -p /mnt/n
for arm in $ARMS; do # NAME:PORT:MOUNT-OPTIONS
    name=${arm%%:*}; rest=${arm#*:}; port=${rest%%:*}; options=${rest#*:}
    for workload in $WORKLOADS; do
        case "$name-$workload" in v3-locked*) continue;; esac # It would be asked of a port mapper for them.
        mount -t nfs -o "$options,proto=tcp,port=$port" "$HOST:/" /mnt/n || exit 1
        (cd /mnt/n && mkdir -p "linux-$name" && perl "$EXCHANGE/work.pl" "$workload" "$FILES" "linux-$name") || exit 1
        umount /mnt/n || exit 1
    done
done
