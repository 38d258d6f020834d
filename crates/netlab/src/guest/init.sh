#!/bin/sh
# The first process of a guest. It prepares the guest, runs script.sh from the guest's folder, leaves the exit code
# there, and switches the guest off. The folder on the host is the one that this file lies in; it holds:
#   settings     NAME, ADDRESS (with prefix length), HOST, DELAY_MS (or empty), SHARED_FOLDER, and the caller's variables
#   script.sh    the caller's script; exchange/ is the caller's, named by $EXCHANGE
#   exit_code    written at the end
# tty1 is the pipe for output, tty0 the kernel's console. The root is the host's own file system, read-only: whatever
# must be writable lies on a tmpfs.

set -e
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
folder="${0%/*}"

# Whatever fails before the script ends the guest without an exit code: its host tells that apart from a failed script.
trap 'busybox poweroff -f' EXIT

mount -t proc proc /proc
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev
stty -F /dev/tty1 -opost
exec </dev/null >/dev/tty1 2>&1

set -a
. "$folder/settings"
set +a

mount -t sysfs sysfs /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd

for place in /tmp /run /mnt /var/tmp /var/log /var/lib/nfs; do
    [ ! -d "$place" ] || mount -t tmpfs tmpfs "$place"
done
chmod 1777 /tmp /var/tmp
mkdir -p /run/guest /run/rpcbind
mount -t hostfs -o "$folder" hostfs /run/guest
mkdir /run/shared
mount -t hostfs -o "$SHARED_FOLDER" hostfs /run/shared
export EXCHANGE=/run/guest/exchange SHARED=/run/shared

# What the tools of a kernel NFS server expect to find.
if [ -d /var/lib/nfs ]; then
    mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
    touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/state
fi

# The package keeps the modules where modprobe does not look, and /lib/modules need not exist on the host. So modprobe is
# told where, both for the script (by its environment) and for the kernel (by a program of its own).
version="$(uname -r)"
if [ ! -d "/lib/modules/$version" ]; then
    mkdir -p /run/modules/lib/modules
    ln -s "/usr/lib/uml/modules/$version" "/run/modules/lib/modules/$version"
    export MODPROBE_OPTIONS="--dirname=/run/modules"
    printf '#!/bin/sh\nexec /sbin/modprobe --dirname=/run/modules "$@"\n' >/run/modules/modprobe
    chmod +x /run/modules/modprobe
    echo /run/modules/modprobe >/proc/sys/kernel/modprobe
fi

# An NFSv4 client names itself to its servers by this name.
echo "$NAME" >/proc/sys/kernel/hostname
ip link set lo up
ip link set vec0 mtu 9000 up
ip address add "$ADDRESS" dev vec0
if [ -n "$DELAY_MS" ]; then
    # The default limit of 1,000 packets would drop some of a full window.
    tc qdisc add dev vec0 root netem delay "${DELAY_MS}ms" limit 100000
fi
for module in nfs nfsv3 nfsv4; do
    modprobe "$module"
done

set +e
cd /
sh /run/guest/script.sh
code=$?
echo "$code" >/run/guest/exit_code
sync
