mkdir -p /mnt/below
mount -t nfs -o "$MOUNT_OPTIONS,proto=tcp,port=$PORT" "$HOST:/below" /mnt/below || fail "mount below"
touch /mnt/below/file || fail "use"
tell mounted
await seen
umount /mnt/below || fail "umount"
tell unmounted
await agreed
for version in 1 2; do
    # The service says which version there is, and mount(8) gives up at once.
    timeout 30 mount -t nfs -o "$MOUNT_OPTIONS,mountvers=$version,proto=tcp,port=$PORT" "$HOST:/below" /mnt/below &&
        fail "mounted with version $version of MOUNT"
    [ $? != 124 ] || fail "version $version of MOUNT is waited for"
done
cd /mnt/n
