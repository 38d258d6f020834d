# Runs in each guest of a benchmark: starts the services that Linux needs to lock over NFSv3, then the agent.
# $SHARED/lock-services.$NAME exists when they run. Without them the benchmark mounts version 3 with nolock.
start_lock_services() {
    command -v rpcbind && command -v rpc.statd && command -v rpcinfo || return 1
    rpcbind && rpc.statd --no-notify || return 1
    for _ in $(seq 100); do
        ! rpcinfo -T udp 127.0.0.1 status || return 0
        busybox usleep 100000
    done
    return 1
}
! start_lock_services >/dev/null 2>&1 || mkdir "$SHARED/lock-services.$NAME"
exec "$SHARED/primetime" bench agent --listen "0.0.0.0:$AGENT_PORT" --secret-file "$SHARED/secret"
