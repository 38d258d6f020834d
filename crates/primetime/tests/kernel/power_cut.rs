//! The power of the server's machine is cut while clients work: what was acknowledged is on its disk.
//!
//! The machine is a guest with an ext4 file system; to cut the power is to kill its kernel.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, io};

use client::{Client, Options, Url, Version};
use netlab::guest::{Guest, GuestOptions, Lab};
use tokio::task::JoinSet;

use crate::guests::TIME_LIMIT;
use crate::server::PORT;

const PRIMETIME: &str = env!("CARGO_BIN_EXE_primetime");
/// Acknowledged changes before the power is cut.
const PROGRESS: usize = 400;
const UNDER_WAY: usize = 16;

/// What a client asked for and was told is done.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Made {
    File { mode: u32 },
    Directory { mode: u32 },
    Symlink,
    Data(String),
    SecondName,
    NewName,
}

/// What the machine and the server are.
#[derive(Debug, Clone, Copy)]
struct Scene {
    version: Version,
    /// ext4 with one.
    journal: bool,
    serve_options: &'static str,
}

const SCENE: Scene = Scene { version: Version::V4_1, journal: true, serve_options: "" };

#[test]
fn nfsv3_stable_writes_survive_a_power_cut() {
    all_is_there(Scene { version: Version::V3, ..SCENE });
}

#[test]
fn nfsv4_stable_writes_survive_a_power_cut() {
    all_is_there(SCENE);
}

#[test]
fn nfsv3_stable_writes_survive_without_a_journal() {
    all_is_there(Scene { version: Version::V3, journal: false, ..SCENE });
}

#[test]
fn nfsv4_stable_writes_survive_without_a_journal() {
    all_is_there(Scene { journal: false, ..SCENE });
}

#[test]
fn an_asynchronous_export_is_seen_to_lose_what_it_acknowledged() {
    loses_something(Scene { serve_options: "--async", ..SCENE });
}

#[test]
fn async_export_without_a_journal_is_seen_to_lose_writes() {
    loses_something(Scene { journal: false, serve_options: "--async", ..SCENE });
}

fn loses_something(scene: Scene) {
    let Some(Outcome { acknowledged, disk, .. }) = cut_the_power(scene) else { return };
    let lost = acknowledged.keys().filter(|name| !disk.contains_key(*name)).count();
    assert!(lost > 0, "none of {} changes: this test sees nothing", acknowledged.len());
}

fn all_is_there(scene: Scene) {
    let Some(Outcome { acknowledged, disk, contents }) = cut_the_power(scene) else { return };
    for (name, made) in &acknowledged {
        let mode = *disk.get(name).unwrap_or_else(|| panic!("{name}, {made:?}, is lost"));
        match made {
            Made::File { mode: asked } => assert_eq!(mode, 0o100_000 | asked, "{name}"),
            Made::Directory { mode: asked } => assert_eq!(mode, 0o040_000 | asked, "{name}"),
            Made::Symlink => assert_eq!(mode & 0o170_000, 0o120_000, "{name}"),
            Made::Data(data) => assert_eq!(contents.get(name), Some(data), "{name}"),
            Made::SecondName | Made::NewName => assert_eq!(mode & 0o170_000, 0o100_000, "{name}"),
        }
    }
}

struct Outcome {
    acknowledged: BTreeMap<String, Made>,
    /// Names and modes of what is on the disk.
    disk: BTreeMap<String, u32>,
    /// Of files that were written.
    contents: BTreeMap<String, String>,
}

fn cut_the_power(scene: Scene) -> Option<Outcome> {
    let lab = Lab::for_test()?;
    let guest = boot(&lab, scene);
    let address = SocketAddr::new(guest.address(), PORT);
    let acknowledged = Arc::new(Mutex::new(BTreeMap::new()));
    let result = lab.inside(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = connect(address, scene.version).await;
            let mut work = begin_work(&client, &acknowledged);
            while acknowledged.lock().unwrap().len() < PROGRESS {
                tokio::select! {
                    ended = work.join_next() => panic!("a worker ended: {ended:?}"),
                    () = tokio::time::sleep(Duration::from_millis(1)) => {}
                }
            }
            // Nothing that is acknowledged after this can be told from what was before.
            let known = acknowledged.lock().unwrap().clone();
            let result = guest.cut_off().unwrap();
            work.abort_all();
            (result, known)
        })
    });
    let (result, acknowledged) = result.unwrap();
    let disk = Disk::repaired(result.disk());
    let written = acknowledged.iter().filter(|(_, made)| matches!(made, Made::Data(_)));
    let contents = written.map(|(name, _)| (name.clone(), disk.contents(name))).collect();
    Some(Outcome { disk: disk.modes(), contents, acknowledged })
}

fn boot(lab: &Lab, scene: Scene) -> Guest {
    let serve_options = format!("--no-root-squash {}", scene.serve_options);
    let journal = if scene.journal { "yes" } else { "no" };
    let options = GuestOptions {
        name: "server".into(),
        script: include_str!("power_cut.sh").into(),
        memory_mb: 512,
        disk_mb: Some(256),
        env: vec![("SERVE_OPTIONS".into(), serve_options), ("JOURNAL".into(), journal.into())],
        time_limit: TIME_LIMIT,
        ..GuestOptions::default()
    };
    let guest = lab.boot(&options).unwrap();
    // Where it lies may be hidden in a guest.
    let (part, whole) = (guest.exchange().join("part"), guest.exchange().join("primetime"));
    fs::copy(PRIMETIME, &part).and_then(|_| fs::rename(part, whole)).unwrap();
    guest
}

async fn connect(address: SocketAddr, version: Version) -> Client {
    let url: Url = format!("nfs://{address}/").parse().unwrap();
    let begun = Instant::now();
    loop {
        let options = Options { versions: vec![version], ..Options::default() };
        match Client::connect(&url, options).await {
            Ok(client) => return client,
            Err(error) => assert!(begun.elapsed() < TIME_LIMIT, "the guest does not serve: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Tasks that make one thing after the other and note what they were told is done.
fn begin_work(client: &Client, acknowledged: &Arc<Mutex<BTreeMap<String, Made>>>) -> JoinSet<client::Error> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut work = JoinSet::new();
    for _ in 0..UNDER_WAY {
        let (client, acknowledged, next) = (client.clone(), Arc::clone(acknowledged), Arc::clone(&next));
        work.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                match make(&client, number).await {
                    Ok((name, made)) => acknowledged.lock().unwrap().insert(name, made),
                    Err(error) => return error,
                };
            }
        });
    }
    work
}

async fn make(client: &Client, number: usize) -> client::Result<(String, Made)> {
    let name = format!("made{number}");
    let made = match number % 7 {
        0 => {
            client.create_file(&name, 0o640).await?;
            Made::File { mode: 0o640 }
        }
        // Of a bit that is set by a call of its own, after the name.
        1 => {
            client.create_file(&name, 0o4750).await?;
            Made::File { mode: 0o4750 }
        }
        2 => {
            client.create_dir(&name, 0o750).await?;
            Made::Directory { mode: 0o750 }
        }
        3 => {
            client.symlink("somewhere", &name).await?;
            Made::Symlink
        }
        4 => {
            let data = format!("{number}\n").repeat(500);
            client.write(&name, data.clone()).await?;
            Made::Data(data)
        }
        5 => {
            client.create_file(format!("first{number}"), 0o600).await?;
            client.hard_link(format!("first{number}"), &name).await?;
            Made::SecondName
        }
        _ => {
            client.create_file(format!("old{number}"), 0o600).await?;
            client.rename(format!("old{number}"), &name).await?;
            Made::NewName
        }
    };
    Ok((name, made))
}

/// The image of a disk whose machine is gone.
struct Disk(PathBuf);

impl Disk {
    /// After what a file system does with its journal when it is mounted again.
    fn repaired(image: PathBuf) -> Self {
        let done = Command::new("e2fsck").arg("-fy").arg(&image).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        // 1: what was wrong is mended.
        assert!(matches!(done.status.code(), Some(0 | 1)), "{text}");
        Self(image)
    }

    fn modes(&self) -> BTreeMap<String, u32> {
        let list = self.debug("ls -p /export").unwrap();
        let entry = |line: &str| {
            let mut parts = line.split('/').skip(2);
            let mode = u32::from_str_radix(parts.next()?, 8).ok()?;
            Some((parts.nth(2)?.to_owned(), mode))
        };
        list.lines().filter_map(entry).collect()
    }

    fn contents(&self, name: &str) -> String {
        self.debug(&format!("cat /export/{name}")).unwrap()
    }

    fn debug(&self, request: &str) -> io::Result<String> {
        let output = Command::new("debugfs").args(["-R", request]).arg(&self.0).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
