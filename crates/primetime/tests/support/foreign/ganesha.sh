# NFS-Ganesha in mount and process namespaces of its own. usage: ganesha.sh FOLDER
# It is killed and started again when FOLDER/restart appears.
folder=$1
mount -t tmpfs tmpfs /run
mkdir -p /run/rpcbind /run/ganesha
mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak
rpcbind -f &
until rpcinfo -T tcp 127.0.0.1 portmapper >/dev/null 2>&1; do sleep 0.05; done
rpc.statd --no-notify --foreground --no-syslog 2>/dev/null &
while :; do
    ganesha.nfsd -F -L "$folder/log" -f "$folder/ganesha.conf" -N NIV_EVENT -p /run/ganesha.pid &
    ganesha=$!
    until [ -e "$folder/restart" ]; do
        kill -0 $ganesha || exit 1
        sleep 0.05
    done
    kill -KILL $ganesha
    wait $ganesha
    # What is logged from here on is the next one's.
    : >"$folder/log"
    rm "$folder/restart"
done
