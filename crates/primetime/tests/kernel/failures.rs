//! Two guests go on by themselves while the server is killed and connections are cut, and nothing that was
//! acknowledged is lost.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use netlab::guest::{Guest, GuestResult, Lab};
use netlab::{LinkOptions, Relay};

use crate::guests::{Member, boot, counts, entries, finish, have_failed, wait_until};
use crate::server::{PORT, Server};

const KILLS: u32 = 10;
const LEASE: Duration = Duration::from_secs(10);
const CUTS: usize = 50;
/// Files that one guest changes and the other has delegated: more than there is time for.
const NEWS: usize = 1000;
/// How many files are made between two failures.
const PROGRESS: usize = 30;

fn boot_pair(lab: &Lab, port: u16, directory: &Path, once: &str) -> [Guest; 2] {
    for number in 1..=NEWS {
        fs::write(directory.join(format!("news{number}")), "old").unwrap();
    }
    [("ann", "bob"), ("bob", "ann")].map(|(name, peer)| {
        let member = Member {
            name,
            script: ". $EXCHANGE/failures.sh",
            files: &[
                ("failures.sh", include_str!("failures.sh")),
                ("failures.pl", include_str!("failures.pl")),
            ],
            env: &[("PEER", peer), ("CONSTANT", "10"), ("NEWS", &NEWS.to_string()), ("ONCE", once)],
            port,
            ..Member::default()
        };
        boot(lab, &member)
    })
}

/// Waits until the guests have got on by so many files.
fn wait_for_progress(lab: &Lab, directory: &Path, files: usize) {
    let before = entries(directory);
    wait_until(lab, "more files", || entries(directory) >= before + files);
}

/// Waits until the guest of that name has written so many files that enough are acknowledged: its two writers
/// are at one each.
fn wait_for_share(lab: &Lab, directory: &Path, name: &str) {
    let prefix = format!("{name}-");
    let is_its = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
    };
    wait_until(lab, "files of each guest", || {
        fs::read_dir(directory).unwrap().map(is_its).filter(|its| *its).count() >= PROGRESS + 2
    });
}

/// Tells the guests to stop, and checks that all that they were told to be there is there.
fn finish_and_verify(lab: &Lab, guests: [Guest; 2], directory: &Path) -> [GuestResult; 2] {
    // They need not get on alike.
    for name in ["ann", "bob"] {
        wait_for_share(lab, directory, name);
    }
    fs::create_dir(lab.shared().join("stop")).unwrap();
    let results = finish(guests);
    verify(&results, directory);
    results
}

/// Checks that every file is there that its writer was told to be.
fn verify(results: &[GuestResult], directory: &Path) {
    for result in results {
        let acknowledged = result.read("acknowledged").unwrap();
        assert!(acknowledged.lines().count() >= PROGRESS, "{}", result.output);
        for line in acknowledged.lines() {
            let (name, lines) = line.split_once(' ').unwrap();
            let expected: String =
                (1..=lines.parse::<u32>().unwrap()).map(|number| format!("{name} {number}\n")).collect();
            let found = fs::read_to_string(directory.join(name)).unwrap_or_default();
            assert!(found == expected, "{name}: {} bytes instead of {}", found.len(), expected.len());
        }
    }
}

#[test]
fn linux_gets_over_a_server_that_is_killed_and_started_again() {
    let Some(lab) = Lab::for_test() else { return };
    kill_under_load(&lab, Server::with_lease(&lab, LEASE.as_secs() as u32), "");
}

/// What a request did whose answer was lost with the server is neither done again nor told to have failed.
#[test]
fn linux_does_everything_once_with_persistent_sessions_and_kills() {
    let Some(lab) = Lab::for_test() else { return };
    kill_under_load(&lab, Server::with_persistent_sessions(&lab, LEASE.as_secs() as u32), "once");
}

fn kill_under_load(lab: &Lab, mut server: Server, once: &str) {
    let guests = boot_pair(lab, PORT, server.directory(), once);
    let directory = server.directory().to_owned();
    wait_until(lab, "the lock is held", || lab.shared().join("locked").exists());
    for kill in 0..KILLS {
        // One of five comes while the clients are reclaiming what they had.
        if kill % 5 != 4 {
            wait_for_progress(lab, &directory, PROGRESS);
        }
        // Once it is away for longer than the lease: leases begin anew with the server. What is kept of
        // sessions does not.
        let is_long = kill == KILLS / 2 && once.is_empty();
        let away = if is_long { LEASE + Duration::from_secs(2) } else { Duration::ZERO };
        server.kill_and_restart(lab, away);
    }
    wait_for_progress(lab, &directory, PROGRESS);
    for result in finish_and_verify(lab, guests, &directory) {
        // A server that is killed before its client is back is not seen.
        assert!(counts(&result).requests("CREATE_SESSION") > u64::from(KILLS) / 2, "{}", result.output);
    }
}

fn cut_under_load(lab: &Lab, relay: &Relay) {
    let mut cut = 0;
    while cut < CUTS && !have_failed(lab) {
        // Another number of bytes each time, so that a connection is cut at any place of a request and of a
        // reply.
        let enough = relay.stats().bytes_to_target + 50_000 + 3_001 * cut as u64;
        wait_until(lab, "more bytes", || relay.stats().bytes_to_target >= enough);
        cut += relay.cut();
    }
}

/// Without sessions: what a lost answer was about is not done again, and nobody hears that it was there, or
/// gone, already.
#[test]
fn linux_does_everything_once_over_nfsv3_connections_that_are_cut() {
    let Some(lab) = Lab::for_test() else { return };
    // Every change waits for the disk, so that many are cut while they run.
    let server = Server::with_lease(&lab, LEASE.as_secs() as u32);
    let listen = SocketAddr::new(lab.host_address(), PORT + 1);
    let link = LinkOptions::round_trip_ms(1.0);
    let relay = lab.inside(|| Relay::start_at(listen, Server::address(&lab), link)).unwrap().unwrap();
    let options = format!("vers=3,hard,nolock,mountproto=tcp,mountport={}", listen.port());
    let member = Member {
        script: ". $EXCHANGE/nfs3_cuts.sh",
        files: &[
            ("nfs3_cuts.sh", include_str!("nfs3_cuts.sh")),
            ("failures.pl", include_str!("failures.pl")),
        ],
        env: &[("MOUNT_OPTIONS", &options)],
        port: listen.port(),
        ..Member::default()
    };
    let guest = boot(&lab, &member);
    wait_for_progress(&lab, server.directory(), PROGRESS);
    cut_under_load(&lab, &relay);
    wait_for_progress(&lab, server.directory(), PROGRESS);
    fs::create_dir(lab.shared().join("stop")).unwrap();
    let [result] = finish([guest]);
    verify(std::slice::from_ref(&result), server.directory());
    let rounds: Vec<_> = result.output.lines().filter(|line| line.contains("did everything once")).collect();
    assert_eq!(rounds.len(), 4, "{}", result.output);
    assert!(counts(&result).requests("RENAME") > 0);
}

#[test]
fn linux_gets_over_connections_that_are_cut() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let listen = SocketAddr::new(lab.host_address(), PORT + 1);
    let relay = lab
        .inside(|| Relay::start_at(listen, Server::address(&lab), LinkOptions::default()))
        .unwrap()
        .unwrap();
    let guests = boot_pair(&lab, listen.port(), server.directory(), "once");
    wait_until(&lab, "the lock is held", || lab.shared().join("locked").exists());
    cut_under_load(&lab, &relay);
    wait_for_progress(&lab, server.directory(), PROGRESS);
    for result in finish_and_verify(&lab, guests, server.directory()) {
        // The session outlives its connections.
        let counts = counts(&result);
        assert_eq!(counts.requests("CREATE_SESSION"), 1, "{}", result.output);
        // How often a connection is bound depends on how far the client has got when it is cut again.
        assert!(counts.requests("BIND_CONN_TO_SESSION") > 0, "{}", result.output);
    }
}
