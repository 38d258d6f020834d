//! One guest, both versions: everything that a client does in a working day.

use netlab::guest::{GuestOptions, GuestResult, Lab, mountstats};

use crate::guests::{TIME_LIMIT, entries};
use crate::server::{PORT, Server};

/// Headers of the kernel's interface: every machine with a C compiler has them.
const SOURCE_TREE: &str = "/usr/include/linux";

fn run(lab: &Lab, version: &str, options: &str) -> GuestResult {
    let script = format!(
        "mkdir /mnt/n\n\
         mount -t nfs -o {options} $HOST:/ /mnt/n || exit 2\n\
         sh $EXCHANGE/one_guest.sh /mnt/n {version} {SOURCE_TREE} || exit 3\n\
         cat /proc/self/mountstats > $EXCHANGE/mountstats\n\
         umount /mnt/n || exit 4\n"
    );
    let options = GuestOptions {
        name: format!("witness-{}", version.replace('.', "-")),
        script,
        files: vec![("one_guest.sh".into(), include_bytes!("one_guest.sh").to_vec())],
        time_limit: TIME_LIMIT,
        memory_mb: 512,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    result
}

#[test]
fn linux_works_over_nfsv3() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let options = format!("vers=3,nolock,proto=tcp,mountproto=tcp,port={PORT},mountport={PORT}");
    let result = run(&lab, "3", &options);
    let mounts = mountstats::parse(&result.read("mountstats").unwrap()).unwrap();
    assert!(mounts[0].requests("CREATE") >= 2000);
    assert!(mounts[0].requests("READDIRPLUS") > 0);
    assert_eq!(entries(server.directory()), 0, "nothing is left behind");
}

#[test]
fn linux_works_over_nfsv4_1_and_is_given_delegations() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let result = run(&lab, "4.1", &format!("vers=4.1,proto=tcp,port={PORT}"));
    let mounts = mountstats::parse(&result.read("mountstats").unwrap()).unwrap();
    assert_eq!(mounts[0].requests("CREATE_SESSION"), 1);
    assert!(mounts[0].requests("OPEN") >= 2000);
    // Delegations that were granted come back when their files are removed.
    assert!(mounts[0].requests("DELEGRETURN") > 0, "delegations were granted");
    assert_eq!(entries(server.directory()), 0, "nothing is left behind");
}
