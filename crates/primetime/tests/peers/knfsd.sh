# The kernel's server in a guest, until $SHARED/done appears; it is restarted when $SHARED/restart does.
say() { mkdir "$SHARED/$1"; }
modprobe lockd nlm_grace_period=5
modprobe nfsd
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /mnt/export
mount -t tmpfs tmpfs /mnt/export
rpcbind
rpc.statd --no-notify
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
# The root of what NFSv4 sees: the guest's own root is on a file system that cannot be exported.
exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 '*:/mnt/export'
rpc.mountd --port 20048
rpc.nfsd 8 || exit 1
say ready
until [ -d "$SHARED/done" ]; do
    if [ -d "$SHARED/restart" ]; then
        rpc.nfsd 0
        rpc.nfsd 8 || exit 1
        rmdir "$SHARED/restart"
    fi
    busybox usleep 20000
done
rpc.nfsd 0
