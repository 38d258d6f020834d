# Mounts of a Linux client with tickets: of two users, with every service and version.

modprobe rpcsec_gss_krb5 || fail modprobe
mkdir -p /run/rpc_pipefs
mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs || fail rpc_pipefs
cp /etc/hosts /tmp/hosts
echo "$HOST files.primetime.test" >>/tmp/hosts
mount --bind /tmp/hosts /etc/hosts || fail hosts
export KRB5_CONFIG=$EXCHANGE/krb5.conf
for user in 0 1 2; do
    cp $EXCHANGE/$user.cache /tmp/krb5cc_$user || fail "tickets of $user"
    chown $user /tmp/krb5cc_$user
    chmod 600 /tmp/krb5cc_$user
done
# With -n the superuser has tickets of its own, and no keytab of the machine.
rpc.gssd -f -n -p /run/rpc_pipefs >/tmp/gssd.log 2>&1 &
gssd=$!
# The kernel refuses to wait for a daemon that has not opened its pipe.
until ls -l /proc/$gssd/fd 2>/dev/null | grep -q rpc_pipefs/gssd/clnt; do
    [ -d /proc/$gssd ] || { cat /tmp/gssd.log; fail gssd; }
    busybox usleep 10000
done
mkdir -p /mnt/n

mount_with() { # OPTIONS FLAVOR
    mount -t nfs -o "$1,sec=$2,proto=tcp,port=$PORT" files.primetime.test:/ /mnt/n && return 0
    cat /tmp/gssd.log
    fail "mount $1 sec=$2"
}

for version in 4.2 4.1 3; do
    options="vers=$version"
    [ $version != 3 ] || options="$options,nolock,mountproto=tcp,mountport=$PORT"
    for flavor in krb5 krb5i krb5p; do
        mount_with "$options" $flavor
        for user in 1 2; do
            name=/mnt/n/$version.$flavor.$user
            as $user sh -c "umask 077; echo of $user >$name" || fail "write $name"
            expect "$name" "$(as $user cat $name)" "of $user"
            expect "owner of $name" "$(stat -c %u $name)" $user
        done
        as 2 cat /mnt/n/$version.$flavor.1 2>/dev/null && fail "user 2 reads the file of user 1"
        as 1 sh -c "head -c 3000000 /dev/zero >/mnt/n/large" || fail "write a large file"
        # What the client has kept is not read again.
        sync
        echo 3 >/proc/sys/vm/drop_caches
        as 1 cmp -n 3000000 /dev/zero /mnt/n/large || fail "read a large file"
        as 1 rm /mnt/n/large
        cat /proc/self/mountstats >$EXCHANGE/mountstats.$version.$flavor
        umount /mnt/n || fail umount
    done
done

# The server that comes back has no context any more, and the KDC is away from the first time on.
for version in 4.1 3; do
    options="vers=$version"
    [ $version != 3 ] || options="$options,nolock,mountproto=tcp,mountport=$PORT"
    mount_with "$options" krb5p
    as 1 sh -c "echo before >/mnt/n/restart.$version" || fail "write before the restart"
    tell "mounted.$version"
    await "restarted.$version"
    as 1 sh -c "echo after >>/mnt/n/restart.$version" || fail "write after the restart"
    expect "file over a restart" "$(as 1 cat /mnt/n/restart.$version | tr '\n' ' ')" "before after "
    umount /mnt/n || fail umount
done
