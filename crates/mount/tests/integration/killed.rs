//! Processes that are killed while they wait for a server which does not answer.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use client::{AttributeTimeouts, LookupCache, Options, Version};
use rustix::fs::{FlockOperation, flock};

use crate::compared::pattern;
use crate::fixture::in_both_versions;
use crate::ground::Ground;
use crate::waiting::{await_end, await_wait};

in_both_versions! {
    whatever_a_process_waits_for_it_can_be_killed
    data_of_a_killed_process_reach_the_server
    write_of_a_killed_process_arrives_whole
    a_lock_that_comes_when_its_process_is_killed_is_given_back
    a_file_that_is_opened_when_its_process_is_killed_is_closed
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Nothing is believed, so that everything is asked for.
fn doubting(options: &mut Options) {
    options.attribute_timeouts = AttributeTimeouts::fixed(Duration::ZERO);
    options.lookup_cache = LookupCache::None;
    options.delegations = false;
    options.data_cache = false;
}

impl Ground {
    fn new(version: Version) -> Self {
        Self::with(version, |_| {})
    }

    fn with(version: Version, change: impl FnOnce(&mut Options)) -> Self {
        Self::mounted(version, |options| {
            doubting(options);
            change(options);
        })
    }

    /// Starts a program in the root of the mount.
    fn start(&self, words: &[&str]) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "cd \"$0\" && exec \"$@\""]).arg(self.mounted.root()).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Kills a process, which must end.
    fn kill(&self, child: &mut Child, what: &str) {
        child.kill().unwrap();
        if !await_end(child, PATIENCE) {
            // Otherwise the test would wait for it, too.
            self.mounted.abort();
            panic!("{what}: it does not end");
        }
    }

    /// Until something is so on the server.
    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE, "in vain until {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// All requests still come through, and nothing is left of what was done meanwhile.
    fn end(self) {
        fs::write(self.mounted.path("at the end"), "the end").unwrap();
        assert_eq!(fs::read(self.fixture.export().join("at the end")).unwrap(), b"the end");
        self.mounted.unmount().unwrap();
        let names = fs::read_dir(self.fixture.export()).unwrap();
        let hidden = |name: &str| name.starts_with(".nfs");
        assert!(!names.into_iter().any(|name| hidden(name.unwrap().file_name().to_str().unwrap())));
    }
}

/// A shell with one of its own lines to do at a time.
struct Shell {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Shell {
    fn start(ground: &Ground) -> Self {
        let mut child = ground.start(&["sh"]);
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    fn begin(&mut self, line: &str) {
        writeln!(self.orders, "{line}").unwrap();
    }

    fn run(&mut self, line: &str) {
        self.begin(&format!("{line}; echo done"));
        assert_eq!(self.answer(), "done\n", "{line}");
    }

    fn answer(&mut self) -> String {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer
    }
}

fn whatever_a_process_waits_for_it_can_be_killed(version: Version) {
    let ground = Ground::new(version);
    for name in ["file", "removed", "over", "renamed", "long"] {
        fs::write(ground.mounted.path(name), "before").unwrap();
    }
    ground.silence();
    for words in [
        &["cat", "file"][..],
        &["stat", "file"],
        &["ls", "-l"],
        &["df", "."],
        &["touch", "new"],
        &["mkdir", "made"],
        &["ln", "-s", "there", "link"],
        &["chmod", "600", "file"],
        &["truncate", "-s", "3", "long"],
        &["rm", "-f", "removed"],
        &["mv", "-f", "renamed", "over"],
        &["dd", "if=/dev/zero", "of=file", "conv=notrunc", "count=1"],
        &["flock", "-n", "file", "true"],
    ] {
        let mut child = ground.start(words);
        await_wait(&mut child, PATIENCE);
        ground.kill(&mut child, &format!("{words:?}"));
    }
    ground.relay.unblock();
    // Whether what they began to do comes to pass is open. Each does at most what it was told.
    assert_eq!(fs::read(ground.mounted.path("file")).unwrap(), b"before");
    let over = fs::metadata(ground.mounted.path("over")).unwrap().len();
    assert_eq!(over, 6);
    ground.end();
}

fn data_of_a_killed_process_reach_the_server(version: Version) {
    let ground = Ground::new(version);
    fs::write(ground.mounted.path("file"), "").unwrap();
    let mut shell = Shell::start(&ground);
    shell.run("exec 3<>file 4>&1");
    ground.silence();
    // A shell would close a copy of the file behind its own `echo`, and wait.
    shell.begin("exec tee /dev/fd/4 >&3");
    let comm = format!("/proc/{}/comm", shell.child.id());
    ground.until("it has become another program", || fs::read_to_string(&comm).unwrap() == "tee\n");
    shell.begin("what was written");
    assert_eq!(shell.answer(), "what was written\n");
    // It waits in its last close, on its way out.
    ground.kill(&mut shell.child, "closing");
    ground.relay.unblock();
    ground.until("what was written is on the server", || {
        fs::read(ground.fixture.export().join("file")).unwrap() == b"what was written\n"
    });
    ground.end();
}

/// It waits because the client takes no more; then it is closed.
fn write_of_a_killed_process_arrives_whole(version: Version) {
    let ground = Ground::with(version, |options| options.dirty_bytes_max = 64 << 10);
    let data = pattern(1 << 20);
    fs::write(ground.mounted.path("file"), "").unwrap();
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), &data).unwrap();
    let mut shell = Shell::start(&ground);
    shell.run("exec 3<>file");
    ground.silence();
    shell.begin(&format!("exec dd if={} bs=1M count=1 >&3", source.path().display()));
    await_wait(&mut shell.child, PATIENCE);
    ground.kill(&mut shell.child, "writing");
    ground.relay.unblock();
    let there = || fs::read(ground.fixture.export().join("file")).unwrap();
    ground.until("all of it is on the server", || there() == data);
    ground.end();
}

fn a_lock_that_comes_when_its_process_is_killed_is_given_back(version: Version) {
    let ground = Ground::new(version);
    fs::write(ground.mounted.path("file"), "x").unwrap();
    let mut shell = Shell::start(&ground);
    shell.run("exec 3<>file");
    ground.silence();
    shell.begin("exec flock -n 3");
    await_wait(&mut shell.child, PATIENCE);
    ground.kill(&mut shell.child, "locking");
    ground.relay.unblock();
    let other = ground.fixture.mount(version);
    let file = OpenOptions::new().read(true).write(true).open(other.path("file")).unwrap();
    // The request that was under way is before ours, as soon as the client has come back.
    assert_eq!(fs::read(ground.mounted.path("file")).unwrap(), b"x");
    ground.until("the lock is free", || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
    flock(&file, FlockOperation::Unlock).unwrap();
    ground.end();
}

fn a_file_that_is_opened_when_its_process_is_killed_is_closed(version: Version) {
    let ground = Ground::new(version);
    fs::write(ground.mounted.path("file"), "x").unwrap();
    let mut shell = Shell::start(&ground);
    shell.run("exec 3<file");
    ground.silence();
    // It needs no name: the open itself is waited for.
    shell.begin("exec 4</dev/fd/3");
    await_wait(&mut shell.child, PATIENCE);
    ground.kill(&mut shell.child, "opening");
    ground.relay.unblock();
    // As long as the mount takes it for open, it is renamed when it is removed.
    ground.until("the file is closed", || {
        let path = ground.mounted.path("file");
        fs::write(&path, "x").unwrap();
        fs::remove_file(path).unwrap();
        fs::read_dir(ground.fixture.export()).unwrap().count() == 0
    });
    ground.end();
}
