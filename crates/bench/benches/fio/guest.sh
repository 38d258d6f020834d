# The kernel's server and its clients in one guest, and this benchmark on what they have mounted.
set -e
modprobe lockd nlm_grace_period=1
modprobe nfsd
mount -t nfsd nfsd /proc/fs/nfsd
mkdir /mnt/export /mnt/nfs-3 /mnt/nfs-4.1
mount -t tmpfs tmpfs /mnt/export
rpcbind
exportfs -i -o rw,fsid=0,no_root_squash,insecure,no_subtree_check '*:/mnt/export'
echo 10 >/proc/fs/nfsd/nfsv4gracetime
rpc.nfsd 4
rpc.mountd --port 20048
echo Y >/proc/fs/nfsd/v4_end_grace
mount -t nfs -o vers=3,proto=tcp,nolock 127.0.0.1:/mnt/export /mnt/nfs-3
mount -t nfs -o vers=4.1,proto=tcp 127.0.0.1:/ /mnt/nfs-4.1
"$SHARED/fio-beside" --pairs "$PAIRS" --seconds "$SECONDS_EACH" --mib "$MIB" --fio "$FIO" /mnt/nfs-3 /mnt/nfs-4.1
