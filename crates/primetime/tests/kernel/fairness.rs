//! A kernel client and our mount wait for the same lock, again and again.

use std::path::Path;
use std::process::Command;

use netlab::guest::Lab;

use crate::guests::{Member, boot, finish, have_failed, wait_until};
use crate::mounted::{Mounted, can_mount};
use crate::server::Server;

/// The turns of each.
const TURNS: usize = 60;

#[test]
fn mount_and_linux_get_a_lock_in_turn_over_nfsv4_1() {
    let Some(longest) = longest_runs("vers=4.1") else { return };
    // The lock is promised to who has waited, for half a second.
    assert!(longest.iter().all(|turns| *turns < TURNS / 4), "{longest:?}");
}

/// The mount is on a host of its own, where it is the port mapper: the server calls its lock manager.
#[test]
fn mount_and_linux_get_a_lock_in_turn_over_nfsv3() {
    let Some(longest) = longest_runs("vers=3") else { return };
    assert!(longest.iter().all(|turns| *turns < TURNS / 4), "{longest:?}");
}

/// Without a lock manager the mount asks every 0.1 s, and nothing is promised to it: it gets the lock in the
/// end.
#[test]
fn mount_that_polls_gets_a_lock_beside_linux_over_nfsv3() {
    longest_runs("vers=3,lock_callbacks=0");
}

/// The most turns in a row of the guest and of our mount while both want the lock.
fn longest_runs(options: &str) -> Option<[usize; 2]> {
    let lab = Lab::for_test().filter(|_| can_mount())?;
    let server = Server::with_options(&lab, &["--async", "--portmap", "builtin"]);
    std::fs::write(server.directory().join("turns"), "").unwrap();
    let turns = TURNS.to_string();
    // The other options are those of our mount.
    let version = options.split(',').next().unwrap();
    let member = Member {
        script: "tell mounted\nawait start\nperl $EXCHANGE/contention.pl turns turns $TURNS || fail turns",
        files: &[("contention.pl", include_str!("contention.pl"))],
        env: &[("MOUNT_OPTIONS", version), ("TURNS", &turns)],
        ..Member::default()
    };
    let url = format!("nfs://{}/", Server::address(&lab));
    let host = lab.add_host().unwrap();
    let mounted = host.inside(|| Mounted::start(&url, options)).unwrap();
    let guest = boot(&lab, &member);
    wait_until(&lab, "the guest has mounted", || lab.shared().join("mounted").exists());
    std::fs::create_dir(lab.shared().join("start")).unwrap();
    let ours = take_turns(&mounted.root().join("turns"), &turns);
    assert!(ours || have_failed(&lab));
    finish([guest]);
    let order = std::fs::read_to_string(server.directory().join("turns")).unwrap();
    assert_eq!(order.len(), 2 * TURNS, "each turn is there once: {order}");
    let longest = ["a", "m"].map(|who| longest_run(while_both_wait(&order), who));
    eprintln!(
        "{options}: at most {} turns of Linux in a row, and {} of the mount: {order}",
        longest[0], longest[1]
    );
    Some(longest)
}

/// The work of the guest, in our mount.
fn take_turns(path: &Path, turns: &str) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/contention.pl");
    let mut command = Command::new("perl");
    command.arg(script).arg("turns").arg(path).arg(turns).env("NAME", "mount");
    command.status().unwrap().success()
}

/// The turns from the second one's first to the first one's last.
fn while_both_wait(order: &str) -> &str {
    let ends = ["a", "m"].map(|who| (order.find(who).unwrap(), order.rfind(who).unwrap()));
    &order[ends[0].0.max(ends[1].0)..=ends[0].1.min(ends[1].1)]
}

fn longest_run(order: &str, who: &str) -> usize {
    let others = |letter: char| !who.contains(letter);
    order.split(others).map(str::len).max().unwrap_or_default()
}
