# The kernel's server in a guest, until $SHARED/done appears; it is restarted when $SHARED/restart does.
say() { mkdir "$SHARED/$1"; }
modprobe lockd
modprobe nfsd
# The grace period of locks is a multiple of the timeout, and five of them by default.
echo 5 >/proc/sys/fs/nfs/nlm_timeout
echo 5 >/proc/sys/fs/nfs/nlm_grace_period
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /mnt/export
if [ -n "$DISK" ]; then
    mkfs.ext4 -q "$DISK" || exit 1
    mount "$DISK" /mnt/export || exit 1
    rmdir /mnt/export/lost+found
else
    mount -t tmpfs -o nr_inodes=0 tmpfs /mnt/export
fi
# Its delegations are leases.
echo "$LEASES_ENABLE" >/proc/sys/fs/leases-enable
rpcbind
rpc.statd --no-notify
echo "$LEASE_SECONDS" >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
# One path for all versions. It is the root of what NFSv4 sees: the guest's own is on a file system that cannot be exported.
printf '[exports]\nrootdir=/mnt/export\n' >/run/nfs.conf
mount --bind /run/nfs.conf /etc/nfs.conf
exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 '*:/'
# A file system with extended attributes, and with positions in directories that use all bits.
modprobe loop
truncate -s 512M /run/disk
mkfs.ext4 -q /run/disk || exit 1
mkdir /mnt/export/disk
mount -o loop /run/disk /mnt/export/disk
exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=1 '*:/disk'
rpc.mountd --port 20048
# As on a machine with more memory.
echo 1048576 >/proc/fs/nfsd/max_block_size
rpc.nfsd 8 || exit 1
# Nobody has anything to reclaim yet.
echo Y >/proc/fs/nfsd/v4_end_grace
echo Y >/proc/fs/lockd/nlm_end_grace
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
