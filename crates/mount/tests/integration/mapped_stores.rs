//! No store into mapped memory is lost, and no write beside it, while a file grows, shrinks and is opened.
//!
//! Each counter in the file has one writer: a mapping or a descriptor. A writer knows the value of each of
//! its counters, and reads them back through the same way. `PRIMETIME_MAPPED_STORES=1000000 cargo test -p
//! primetime-mount --test integration mapped_stores` makes that many stores for each writer. The writers
//! are threads of another process: one that maps a file holds its own address space locked while it waits
//! for the mount, whose threads need theirs.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::Version;
use memmap2::MmapMut;
use rustix::fs::FallocateFlags;

use crate::fixture::{Fixture, can_mount};
use crate::sys;

/// The part of the file that is mapped, in bytes: it ends within a page.
const MAPPED: usize = 4 * 4096 + 1000;
/// The length of a counter, in bytes.
const COUNTER: usize = 8;
/// The writers; counter `n` belongs to writer `n % WRITERS`.
const WRITERS: usize = 4;
/// The file that the other process writes, and the file to which it reports the last value of each counter.
const FILE: &str = "PRIMETIME_MAPPED_STORES_FILE";
const VALUES: &str = "PRIMETIME_MAPPED_STORES_VALUES";
/// How long the other process may take for a store of each writer, at most.
const STORE_MAX: Duration = Duration::from_millis(500);
/// How many stores each writer makes by default.
const STORES: u64 = 2000;
/// A writer reads a counter back so often, and opens or maps the file anew so often.
const CHECK_EVERY: u64 = 3;
const REOPEN_EVERY: u64 = 50;

#[test]
fn no_store_beside_writes_and_growth_is_lost_over_v3() {
    on_a_mount(Version::V3);
}

#[test]
fn no_store_beside_writes_and_growth_is_lost_over_v4_1() {
    on_a_mount(Version::V4_1);
}

#[test]
fn no_store_beside_writes_and_growth_is_lost_over_v4_2() {
    on_a_mount(Version::V4_2);
}

#[test]
fn local_file_system_loses_no_store_either() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    compare(&mut start(&path, directory.path()), directory.path(), &path);
}

fn on_a_mount(version: Version) {
    if !can_mount() {
        return;
    }
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let local = tempfile::tempdir().unwrap();
    let mut writers = start(&mounted.path("file"), local.path());
    compare(&mut writers, local.path(), &fixture.export().join("file"));
}

/// Starts the process with the writers.
fn start(path: &Path, local: &Path) -> Child {
    fs::write(path, vec![0; MAPPED]).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mapped_stores::makes_the_stores", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .env(VALUES, local.join("values"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The process with the writers. By itself it has nothing to do.
#[test]
fn makes_the_stores() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let values = stress(Path::new(&path));
    let values: Vec<u8> = values.into_iter().flat_map(u64::to_le_bytes).collect();
    fs::write(std::env::var_os(VALUES).unwrap(), values).unwrap();
}

fn stores() -> u64 {
    std::env::var("PRIMETIME_MAPPED_STORES").map_or(STORES, |text| text.parse().unwrap())
}

/// Waits for the writers and compares the counters at the server with the values that they have stored.
fn compare(writers: &mut Child, local: &Path, seen_at: &Path) {
    let end = Instant::now() + Duration::from_secs(60) + STORE_MAX * u32::try_from(stores()).unwrap();
    let status = loop {
        match writers.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => {
                writers.kill().unwrap();
                panic!("the writers stand still");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "a store or a write was lost");
    let (values, data) = (fs::read(local.join("values")).unwrap(), fs::read(seen_at).unwrap());
    for counter in 0..MAPPED / COUNTER {
        let place = counter * COUNTER..(counter + 1) * COUNTER;
        assert_eq!(data[place.clone()], values[place], "counter {counter}, of writer {}", counter % WRITERS);
    }
}

/// The way by which a writer reaches the file.
enum Access {
    Mapping(MmapMut),
    /// A descriptor that is only for writing: its data are read through another one.
    Descriptor {
        writer: File,
        reader: File,
    },
}

impl Access {
    fn open(path: &Path, writer: usize) -> Self {
        let both = || OpenOptions::new().read(true).write(true).open(path).unwrap();
        match writer {
            0 | 1 => Self::Mapping(sys::map_writable(&both(), MAPPED)),
            2 => Self::Descriptor { writer: both(), reader: both() },
            _ => Self::Descriptor {
                writer: OpenOptions::new().write(true).open(path).unwrap(),
                reader: File::open(path).unwrap(),
            },
        }
    }

    fn store(&mut self, place: usize, value: u64) {
        match self {
            Self::Mapping(memory) => {
                std::hint::black_box(memory)[place..place + COUNTER].copy_from_slice(&value.to_le_bytes());
            }
            Self::Descriptor { writer, .. } => {
                writer.write_all_at(&value.to_le_bytes(), place as u64).unwrap();
            }
        }
    }

    fn load(&self, place: usize) -> u64 {
        let mut bytes = [0; COUNTER];
        match self {
            Self::Mapping(memory) => {
                bytes.copy_from_slice(&std::hint::black_box(memory)[place..place + COUNTER]);
            }
            Self::Descriptor { reader, .. } => reader.read_exact_at(&mut bytes, place as u64).unwrap(),
        }
        u64::from_le_bytes(bytes)
    }
}

/// Returns the last value of each counter.
fn stress(path: &Path) -> Vec<u64> {
    let (stores, busy) = (stores(), AtomicUsize::new(WRITERS));
    let mut values = vec![0; MAPPED / COUNTER];
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let busy = &busy;
                scope.spawn(move || {
                    let _done = Done(busy);
                    write(path, writer, stores)
                })
            })
            .collect();
        scope.spawn(|| change_length(path, &busy));
        scope.spawn(|| open_and_close(path, &busy));
        for (counter, value) in writers.into_iter().flat_map(|writer| writer.join().unwrap()) {
            values[counter] = value;
        }
    });
    values
}

/// A writer that has ended, by a panic too.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the last value of each counter of `writer`.
fn write(path: &Path, writer: usize, stores: u64) -> Vec<(usize, u64)> {
    let mut values: Vec<(usize, u64)> =
        (writer..MAPPED / COUNTER).step_by(WRITERS).map(|counter| (counter, 0)).collect();
    let mut random = Random(writer as u64 + 1);
    let mut access = Access::open(path, writer);
    for store in 1..=stores {
        let (counter, value) = random.of(&mut values);
        *value = store;
        access.store(*counter * COUNTER, store);
        if store % CHECK_EVERY == 0 {
            let (counter, value) = random.of(&mut values);
            let found = access.load(*counter * COUNTER);
            assert_eq!(found, *value, "counter {counter} of writer {writer} after {store} stores");
        }
        if store % REOPEN_EVERY == 0 {
            access = Access::open(path, writer);
        }
    }
    values
}

/// Makes the file longer and shorter behind what is mapped.
fn change_length(path: &Path, busy: &AtomicUsize) {
    let mut random = Random(77);
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    while busy.load(Ordering::Relaxed) > 0 {
        let more = random.below(3 * 4096) + 1;
        match random.below(4) {
            0 => file.set_len(MAPPED as u64).unwrap(),
            1 => file.set_len(MAPPED as u64 + more).unwrap(),
            2 => file.write_all_at(&[1; 100], MAPPED as u64 + more).unwrap(),
            // Not every version has it.
            _ => drop(rustix::fs::fallocate(&file, FallocateFlags::empty(), MAPPED as u64, more)),
        }
    }
}

fn open_and_close(path: &Path, busy: &AtomicUsize) {
    let mut random = Random(99);
    while busy.load(Ordering::Relaxed) > 0 {
        let write = random.below(2) == 0;
        let file = OpenOptions::new().read(true).write(write).open(path).unwrap();
        assert!(file.metadata().unwrap().len() >= MAPPED as u64);
        let mut data = vec![0; MAPPED];
        file.read_exact_at(&mut data, 0).unwrap();
    }
}

/// A sequence that is the same in each run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn of<'a, T>(&mut self, list: &'a mut [T]) -> &'a mut T {
        let place = self.below(list.len() as u64);
        &mut list[place as usize]
    }
}
