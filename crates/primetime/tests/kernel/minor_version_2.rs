//! NFSv4.2: what it adds, as Linux uses it, and that a mount which names no version gets it.

use std::path::Path;
use std::process::Command;

use netlab::guest::{GuestOptions, Lab, mountstats};

use crate::guests::{TIME_LIMIT, entries};
use crate::server::{PORT, Server};

/// True where the host's file system shares blocks between files.
fn clones(directory: &Path) -> bool {
    let [one, two] = ["one", "two"].map(|name| directory.join(name));
    std::fs::write(&one, [1; 8192]).unwrap();
    let copied = Command::new("cp").arg("--reflink=always").args([&one, &two]).output().unwrap();
    for name in [one, two].iter().filter(|name| name.exists()) {
        std::fs::remove_file(name).unwrap();
    }
    copied.status.success()
}

#[test]
fn linux_takes_minor_version_2_by_itself_and_uses_what_it_adds() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let script = format!(
        "mkdir /mnt/n\n\
         mount -t nfs -o proto=tcp,port={PORT} $HOST:/ /mnt/n || exit 2\n\
         grep ' /mnt/n nfs4 ' /proc/mounts | grep -q 'vers=4.2' || exit 3\n\
         perl $EXCHANGE/minor_version_2.pl /mnt/n || exit 4\n\
         sh $EXCHANGE/one_guest.sh /mnt/n 4.2 /usr/include/linux || exit 5\n\
         cat /proc/self/mountstats > $EXCHANGE/mountstats\n\
         umount /mnt/n || exit 6\n"
    );
    let files = vec![
        ("minor_version_2.pl".into(), include_bytes!("minor_version_2.pl").to_vec()),
        ("one_guest.sh".into(), include_bytes!("one_guest.sh").to_vec()),
    ];
    let options = GuestOptions {
        name: "witness-4-2".into(),
        script,
        files,
        env: vec![("CLONES".into(), if clones(server.directory()) { "1" } else { "0" }.into())],
        time_limit: TIME_LIMIT,
        memory_mb: 512,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    let mounts = mountstats::parse(&result.read("mountstats").unwrap()).unwrap();
    for (operation, at_least) in [
        ("ALLOCATE", 1),
        ("DEALLOCATE", 1),
        ("SEEK", 5),
        // In parts, for the server does not copy forty megabytes at once; cp as well where it cannot clone.
        ("COPY", 3),
        ("CLONE", 1),
        ("GETXATTR", 2),
        ("SETXATTR", 4),
        ("LISTXATTRS", 1),
        ("REMOVEXATTR", 1),
        ("DELEGRETURN", 1),
    ] {
        let requests = mounts[0].requests(operation);
        assert!(requests >= at_least, "{operation}: {requests}");
    }
    assert_eq!(entries(server.directory()), 0, "nothing is left behind");
}
