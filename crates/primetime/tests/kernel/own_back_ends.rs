//! A kernel client mounts the back ends of the server's examples.

use netlab::guest::{GuestOptions, Lab};
use server_shell::Server;

use crate::guests::TIME_LIMIT;
use crate::server::PORT;

#[allow(dead_code, unreachable_pub, reason = "it is a program of its own")]
#[path = "../../../server-shell/examples/keep_names.rs"]
mod keep_names;
#[allow(dead_code, unreachable_pub, reason = "it is a program of its own")]
#[path = "../../../server-shell/examples/own_back_end.rs"]
mod own_back_end;

/// What a client finds in both, whatever the version.
const SCRIPT: &str = "\
    for options in vers=3,nolock,mountport=$PORT vers=4.1 vers=4.2; do\n\
    mkdir -p /mnt/hello /mnt/kept\n\
    mount -t nfs -o proto=tcp,port=$PORT,$options $HOST:/hello /mnt/hello || exit 2\n\
    mount -t nfs -o proto=tcp,port=$PORT,$options $HOST:/kept /mnt/kept || exit 3\n\
    [ \"$(ls /mnt/hello)\" = hello ] || exit 4\n\
    [ \"$(cat /mnt/hello/hello)\" = 'Hello from a back end of our own.' ] || exit 5\n\
    touch /mnt/hello/new 2>/dev/null && exit 6\n\
    dd if=/dev/urandom of=/tmp/data bs=64k count=40 2>/dev/null\n\
    cp /tmp/data /mnt/kept/$options || exit 7\n\
    rm -f /mnt/kept/$options 2>/dev/null\n\
    echo 3 >/proc/sys/vm/drop_caches\n\
    cmp /tmp/data /mnt/kept/$options || exit 8\n\
    umount /mnt/hello && umount /mnt/kept || exit 9\n\
    done\n";

#[test]
fn linux_mounts_back_ends_of_examples_in_every_version() {
    let Some(lab) = Lab::for_test() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = (lab.host_address(), PORT).into();
    let builder = Server::builder()
        .export("/hello", own_back_end::Hello)
        .export("/kept", keep_names::KeepNames::new().unwrap())
        .listen(address);
    // The socket belongs to the namespace of the thread that makes it.
    let server = lab.inside(|| runtime.block_on(builder.serve())).unwrap().unwrap();
    let options = GuestOptions {
        name: "examples".into(),
        script: SCRIPT.into(),
        env: vec![("PORT".into(), PORT.to_string())],
        time_limit: TIME_LIMIT,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    runtime.block_on(server.stop()).unwrap();
}
