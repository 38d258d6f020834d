//! Locks over NFSv3: two guests find the server through its port mapper, wait for each other's locks, also
//! for those of NFSv4.1, and get theirs back when the server is killed.

use std::path::Path;
use std::time::Duration;

use netlab::guest::{Guest, Lab};

use crate::guests::{Member, boot, finish, wait_until};
use crate::server::Server;

/// Ports are found through the port mapper. The times of directories are not believed for a while, as they
/// are by default: the guests look at what the other one does in the same moment.
const V3: &str = "vers=3,acdirmin=0,acdirmax=0";
/// The same with NFS and MOUNT at a given port; Linux asks the port mapper for the lock manager all the same.
const V3_AT_PORT: &str = "vers=3,port=PORT,mountport=PORT,acdirmin=0,acdirmax=0";
const V4: &str = "vers=4.1";

/// Two guests, of whom each mounts as its options say.
fn boot_pair(
    lab: &Lab,
    script: &str,
    files: &[(&str, &str)],
    env: &[(&str, &str)],
    options: [&str; 2],
) -> [Guest; 2] {
    let [ann, bob] = options;
    [("ann", "bob", ann), ("bob", "ann", bob)].map(|(name, peer, options)| {
        let env: Vec<_> =
            [("PEER", peer), ("MOUNT_OPTIONS", options)].into_iter().chain(env.iter().copied()).collect();
        boot(lab, &Member { name, script, files, env: &env, ..Member::default() })
    })
}

/// What two guests do in `contention`. A lock that is waited for is granted by a call: Linux only asks again
/// after 30 s, and there is no time for that in any of the 40 turns.
fn take_turns(options: [&str; 2]) {
    let Some(lab) = Lab::for_test() else { return };
    let _server = Server::with_options(&lab, &["--async", "--portmap", "builtin"]);
    let files =
        [("contention.sh", include_str!("contention.sh")), ("contention.pl", include_str!("contention.pl"))];
    let env =
        [("INCREMENTS", "50"), ("NAMES", "300"), ("LINES", "30"), ("DELEGATED", "20"), ("QUEUED", "20")];
    // Linux makes the verifier of an exclusive create of its clock and the number of the process: guests that
    // have booted in the same moment and do the same would have the same, and take each other's files for
    // their own.
    let script = "[ $NAME = ann ] || for process in $(seq 500); do (:); done\n. $EXCHANGE/contention.sh";
    finish(boot_pair(&lab, script, &files, &env, options));
}

#[test]
fn two_linux_clients_of_nfsv3_take_turns_by_nlm_granted() {
    take_turns([V3, V3]);
}

#[test]
fn linux_takes_turns_over_nfsv3_and_nfsv4_1_with_the_same_locks() {
    take_turns([V3_AT_PORT, V4]);
}

/// The turns of each guest.
const TURNS: u32 = 30;

#[test]
fn unlock_overtakes_late_answers_of_linux_lock_managers() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::with_options(&lab, &["--async", "--portmap", "builtin"]);
    let files = [("locking.sh", FILES[0].1), ("contention.pl", include_str!("contention.pl"))];
    let turns = TURNS.to_string();
    finish(boot_pair(&lab, ". $EXCHANGE/locking.sh; cross", &files, &[("TURNS", &turns)], [V3, V3]));
    assert_eq!(server.ctl(&["status"])[0]["locks"], 0, "none is left");
}

const KILLS: u32 = 3;

const FILES: [(&str, &str); 3] = [
    ("locking.sh", include_str!("locking.sh")),
    ("locking.pl", include_str!("locking.pl")),
    ("failures.pl", include_str!("failures.pl")),
];

/// Ann holds a lock all the time, which bob wants; both add to a counter under another.
#[test]
fn linux_takes_back_its_locks_over_nfsv3_when_the_server_was_killed() {
    let Some(lab) = Lab::for_test() else { return };
    let mut server = Server::with_options(&lab, &["--lease", "10", "--portmap", "builtin"]);
    let guests = boot_pair(&lab, ". $EXCHANGE/locking.sh; count", &FILES, &[], [V3, V3]);
    let counter = server.directory().join("counter");
    let number = |path: &Path| -> u32 {
        std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    // The server knows, and tells of its restart, those who have had a lock since it started: both must get
    // on.
    let wait_for_both = || {
        let counts = || ["ann", "bob"].map(|name| number(&lab.shared().join(format!("counted.{name}"))));
        let before = counts();
        wait_until(&lab, "both count", || counts().iter().zip(before).all(|(now, before)| *now > before + 2));
    };
    for _ in 0..KILLS {
        wait_for_both();
        server.kill_and_restart(&lab, Duration::ZERO);
    }
    wait_for_both();
    std::fs::create_dir(lab.shared().join("stop")).unwrap();
    let results = finish(guests);
    let counted: u32 =
        results.iter().map(|result| result.read("counted").unwrap().trim().parse::<u32>().unwrap()).sum();
    assert_eq!(number(&counter), counted, "every addition is there once");
    for result in &results {
        assert_eq!(
            result.read("notified").unwrap().trim(),
            KILLS.to_string(),
            "told of each restart\n{}",
            result.output
        );
    }
}

/// No lease ends these locks; a restart of their host does.
#[test]
fn locks_of_a_killed_nfsv3_linux_client_end_when_it_returns() {
    let Some(lab) = Lab::for_test() else { return };
    let _server = Server::with_options(&lab, &["--async", "--lease", "5", "--portmap", "builtin"]);
    let boot_one = |name, work| {
        let script = format!(". $EXCHANGE/locking.sh; {work}");
        boot(
            &lab,
            &Member {
                name,
                script: &script,
                files: &FILES,
                env: &[("MOUNT_OPTIONS", V3)],
                ..Member::default()
            },
        )
    };
    let (ann, bob) = (boot_one("ann", "hold"), boot_one("bob", "inherit"));
    wait_until(&lab, "bob has been refused the lock", || lab.shared().join("refused").exists());
    drop(ann);
    std::fs::create_dir(lab.shared().join("dead")).unwrap();
    wait_until(&lab, "bob has been refused the lock of the dead", || {
        lab.shared().join("refused-by-the-dead").exists()
    });
    finish([boot_one("ann", "come_back"), bob]);
}
