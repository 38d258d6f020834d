//! Files that are removed or renamed over while others open and close them: each stays whole for who has it
//! open, and nothing of it is left when all are done.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use client::Version;

use crate::fixture::{Fixture, Mounted, can_mount, in_both_versions};
use crate::ground::Ground;

in_both_versions! {
    a_file_that_is_removed_during_its_last_close_leaves_no_name
    a_file_that_is_renamed_over_during_its_last_close_leaves_no_name
    a_file_that_is_opened_during_its_removal_is_read_whole_or_not_there
    files_that_are_open_when_the_tree_is_unmounted_leave_no_name
}

const ROUNDS: usize = 300;
const TEXT: &str = "what was written";
/// How long the kernel may take to let go of a file that was closed.
const RELEASE_LIMIT: Duration = Duration::from_secs(60);

fn a_file_that_is_removed_during_its_last_close_leaves_no_name(version: Version) {
    against_a_close(version, |mounted, round| fs::remove_file(mounted.path(file(round))).unwrap());
}

fn a_file_that_is_renamed_over_during_its_last_close_leaves_no_name(version: Version) {
    against_a_close(version, |mounted, round| {
        fs::rename(mounted.path(other(round)), mounted.path(file(round))).unwrap();
        fs::remove_file(mounted.path(file(round))).unwrap();
    });
}

fn file(round: usize) -> String {
    format!("file {round}")
}

fn other(round: usize) -> String {
    format!("other {round}")
}

/// Does `work` with the name of a file while that is closed; at the end no name but those of the other files
/// is left.
fn against_a_close(version: Version, work: impl Fn(&Mounted, usize) + Sync) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let open: Vec<File> = (0..ROUNDS)
        .map(|round| {
            fs::write(mounted.path(other(round)), TEXT).unwrap();
            fs::write(mounted.path(file(round)), TEXT).unwrap();
            File::open(mounted.path(file(round))).unwrap()
        })
        .collect();
    let begun = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for file in open {
                begun.wait();
                drop(file);
            }
        });
        for round in 0..ROUNDS {
            begun.wait();
            work(&mounted, round);
        }
    });
    for round in 0..ROUNDS {
        let _ = fs::remove_file(mounted.path(other(round)));
    }
    await_emptiness(&fixture);
}

fn a_file_that_is_opened_during_its_removal_is_read_whole_or_not_there(version: Version) {
    let fixture = Fixture::new();
    // What is read is asked for.
    let mounted = fixture.mount_with(version, |options| options.data_cache = false, |_| {});
    let begun = Barrier::new(2);
    let faults = std::thread::scope(|scope| {
        // It goes on when it fails: the other one waits for it.
        let reader = scope.spawn(|| {
            let mut faults = Vec::new();
            for round in 0..3 * ROUNDS {
                fs::write(mounted.path(file(round)), TEXT).unwrap();
                begun.wait();
                faults.extend(read_until_it_is_gone(&mounted.path(file(round))));
            }
            faults
        });
        for round in 0..3 * ROUNDS {
            begun.wait();
            fs::remove_file(mounted.path(file(round))).unwrap();
        }
        reader.join().unwrap()
    });
    assert_eq!(faults, [""; 0]);
    await_emptiness(&fixture);
}

/// Opens and reads a file again and again. Tells what else happens than that it has its text or is not there.
fn read_until_it_is_gone(path: &Path) -> Option<String> {
    loop {
        let mut text = String::new();
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(format!("opening: {error}")),
            Ok(mut file) => match file.read_to_string(&mut text) {
                Ok(_) if text == TEXT => {}
                Ok(_) => return Some(format!("reading {text:?}")),
                Err(error) => return Some(format!("reading: {error}")),
            },
        }
    }
}

fn files_that_are_open_when_the_tree_is_unmounted_leave_no_name(version: Version) {
    let fixture = Fixture::new();
    for _ in 0..ROUNDS / 10 {
        let mounted = fixture.mount(version);
        let open: Vec<File> = (0..10)
            .map(|number| {
                let path = mounted.path(format!("file {number}"));
                let file = File::create(&path).unwrap();
                fs::remove_file(path).unwrap();
                file
            })
            .collect();
        drop(open);
        mounted.unmount().unwrap();
        assert_eq!(names(&fixture), [""; 0], "the mount has ended");
    }
}

#[test]
fn a_removal_whose_answer_is_lost_with_the_session_leaves_no_name() {
    // NFSv3 has no sessions.
    if !can_mount() {
        return;
    }
    let mut ground = Ground::mounted(Version::V4_1, |_| {});
    let open = File::create(ground.mounted.path("file")).unwrap();
    fs::remove_file(ground.mounted.path("file")).unwrap();
    assert!(names(&ground.fixture)[0].starts_with(".nfs"));
    ground.lose_session_during("REMOVE", || drop(open));
    await_emptiness(&ground.fixture);
}

impl Ground {
    /// Does what has the mount send such an operation, which gets nowhere before another server is there.
    fn lose_session_during(&mut self, operation: &str, work: impl FnOnce() + Send) {
        let sent = |mounted: &Mounted| mounted.client.tap().snapshot().operations.get(operation).copied();
        let before = sent(&self.mounted);
        self.silence();
        std::thread::scope(|scope| {
            let working = scope.spawn(work);
            let begun = Instant::now();
            while sent(&self.mounted) == before && begun.elapsed() < RELEASE_LIMIT {
                std::thread::sleep(Duration::from_millis(20));
            }
            let is_sent = sent(&self.mounted) != before;
            // Nobody knows what became of it, and the next server has never heard of its session.
            self.relay.cut();
            self.fixture.restart();
            self.relay.unblock();
            working.join().unwrap();
            assert!(is_sent, "no {operation} is sent");
        });
    }
}

fn names(fixture: &Fixture) -> Vec<String> {
    let entries = fs::read_dir(fixture.export()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Waits until the server has no names: the kernel does not wait for the last close.
fn await_emptiness(fixture: &Fixture) {
    let begun = Instant::now();
    while !names(fixture).is_empty() {
        assert!(begun.elapsed() < RELEASE_LIMIT, "{:?} are left", names(fixture));
        std::thread::sleep(Duration::from_millis(20));
    }
}
