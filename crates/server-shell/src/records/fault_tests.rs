//! The store on a disk that fails at each of its writes, and in a directory that is removed and replaced.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use redb::{Database, StorageBackend};
use rustix::io::Errno;
use tokio::runtime::Builder;

use super::fault::Fault;
use super::medium::{FILE, Medium, builder};
use super::tests::{open, wait};
use super::*;

/// Longer than any test needs.
const BOUND: Duration = Duration::from_secs(20);
const SESSION: SessionId = SessionId([7; 16]);

/// A disk in memory that fails from some operation on, until it is mended.
#[derive(Debug, Default)]
struct Disk {
    bytes: Vec<u8>,
    /// Changes and flushes that still succeed, and how the next ones fail.
    fails: Option<(usize, Errno)>,
}

impl Disk {
    fn step(&mut self) -> io::Result<()> {
        match &mut self.fails {
            Some((0, error)) => Err((*error).into()),
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct FaultyDisk(Arc<Mutex<Disk>>);

impl StorageBackend for FaultyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (disk, start) = (self.0.lock(), offset as usize);
        let bytes = disk.bytes.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.0.lock();
        disk.step()?;
        disk.bytes.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.lock().step()
    }

    /// A write that fails has written its first half.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut disk = self.0.lock();
        let (start, stepped) = (offset as usize, disk.step());
        let written = if stepped.is_ok() { data } else { &data[..data.len() / 2] };
        disk.bytes[start..start + written.len()].copy_from_slice(written);
        stepped
    }
}

impl Medium for FaultyDisk {
    fn open(&mut self) -> Result<Database, Fault> {
        Ok(builder().create_with_backend(self.clone()).map_err(redb::Error::from)?)
    }

    fn check(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn set_aside(&mut self) -> io::Result<()> {
        self.0.lock().bytes.clear();
        Ok(())
    }
}

impl FaultyDisk {
    fn fail_after(&self, steps: usize, error: Errno) {
        self.0.lock().fails = Some((steps, error));
    }

    fn mend(&self) {
        self.0.lock().fails = None;
    }

    /// The records that a server finds when it starts on the disk as it is now.
    fn found(&self) -> RecoveredRecords {
        let copy = Self(Arc::new(Mutex::new(Disk { bytes: self.0.lock().bytes.clone(), fails: None })));
        Records::open_on(copy, true).unwrap().1
    }

    fn owners(&self) -> Vec<Bytes> {
        self.found().owners.into_iter().map(|(owner, _)| owner).collect()
    }
}

fn add(records: &Records, owner: &'static str) -> BoxFuture<io::Result<()>> {
    records.add(ClientId(1), owner.into(), Lost::default())
}

fn outcome(change: BoxFuture<io::Result<()>>) -> io::Result<()> {
    Builder::new_current_thread().build().unwrap().block_on(change)
}

/// Asks again until it is done.
fn until_done(mut ask: impl FnMut() -> BoxFuture<io::Result<()>>) {
    let deadline = Instant::now() + BOUND;
    while let Err(error) = outcome(ask()) {
        assert!(Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !is_so() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn on_disk(disk: &FaultyDisk) -> Records {
    Records::open_on(disk.clone(), true).unwrap().0
}

#[test]
fn store_goes_on_after_a_failure_at_any_write() {
    for error in [Errno::NOSPC, Errno::IO] {
        let mut steps = 0;
        loop {
            let disk = FaultyDisk::default();
            let records = on_disk(&disk);
            wait(add(&records, "a"));
            disk.fail_after(steps, error);
            let added = outcome(add(&records, "b"));
            assert!(disk.owners().contains(&"a".into()), "a crash after {steps} steps, {error}");
            let failed = added.is_err();
            if failed {
                let fault = records.health().fault().unwrap();
                assert_eq!(fault.contains("free space"), error == Errno::NOSPC, "{fault}");
            } else {
                assert_eq!(disk.owners(), ["a", "b"], "{steps} steps, {error}");
            }
            disk.mend();
            until_done(|| add(&records, "c"));
            assert_eq!(records.health().fault(), None);
            assert_eq!(records.health().failures(), u64::from(failed));
            let expected: &[&str] = if failed { &["a", "c"] } else { &["a", "b", "c"] };
            drop(records);
            assert_eq!(disk.owners(), expected, "{steps} steps, {error}");
            if !failed {
                break;
            }
            steps += 1;
        }
        assert!(steps >= 3, "a commit writes and flushes: {steps}");
    }
}

#[test]
fn store_recovers_by_itself_when_nothing_is_asked() {
    let disk = FaultyDisk::default();
    let records = on_disk(&disk);
    disk.fail_after(0, Errno::NOSPC);
    outcome(add(&records, "a")).unwrap_err();
    disk.mend();
    until(|| records.health().fault().is_none());
    assert_eq!((records.health().failures(), disk.owners()), (1, Vec::new()));
}

#[test]
fn changes_of_facts_are_written_once_the_disk_is_back() {
    let disk = FaultyDisk::default();
    let records = on_disk(&disk);
    wait(records.add_session(SESSION, "session".into()));
    for owner in ["idle", "silent", "good"] {
        wait(add(&records, owner));
    }
    disk.fail_after(0, Errno::IO);
    outcome(records.set_slot_soon(SESSION, SlotId(3), "reply".into())).unwrap_err();
    outcome(records.set_slot(SESSION, SlotId(4), "intent".into())).unwrap_err();
    outcome(records.forget(ClientId(1), "idle".into())).unwrap_err();
    outcome(records.remove(ClientId(1), "silent".into())).unwrap_err();
    outcome(records.end_grace()).unwrap_err();
    assert_eq!(disk.owners(), ["good", "idle", "silent"], "nothing is written yet");
    disk.mend();
    until(|| records.health().fault().is_none());
    let found = disk.found();
    let owners: Vec<_> = found.owners.iter().map(|(owner, _)| owner.clone()).collect();
    assert_eq!(owners, ["good", "silent"], "whoever removes a client asks again");
    assert_eq!(found.sessions[0].slots, [(SlotId(3), "reply".into())]);
    wait(records.remove(ClientId(1), "silent".into()));
    assert_eq!(disk.owners(), ["good"]);
}

#[test]
fn damaged_store_is_written_anew_from_memory() {
    let disk = FaultyDisk::default();
    let records = on_disk(&disk);
    wait(add(&records, "a"));
    wait(records.add_session(SESSION, "session".into()));
    wait(records.set_slot(SESSION, SlotId(0), "reply".into()));
    disk.fail_after(0, Errno::IO);
    outcome(add(&records, "b")).unwrap_err();
    disk.0.lock().bytes.fill(0xaa);
    disk.mend();
    until_done(|| add(&records, "b"));
    let found = disk.found();
    assert_eq!(found.owners.len(), 2);
    assert_eq!(found.sessions[0].slots, [(SlotId(0), "reply".into())]);
}

fn directory(path: &Path) -> (Records, Arc<StateFiles>) {
    let files = Arc::new(StateFiles::new(path));
    fs::create_dir_all(path).unwrap();
    fs::write(path.join(vfs::KEY_FILE), [1; 16]).unwrap();
    files.remember().unwrap();
    (Records::open(&files, false).unwrap().0, files)
}

fn owners(path: &Path) -> Vec<Bytes> {
    open(path, false).unwrap().1.owners.into_iter().map(|(owner, _)| owner).collect()
}

#[test]
fn removed_state_directory_is_made_again_with_key_and_records() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("state");
    let (records, _) = directory(&path);
    wait(add(&records, "a"));
    fs::remove_dir_all(&path).unwrap();
    wait(add(&records, "b"));
    assert_eq!(fs::read(path.join(vfs::KEY_FILE)).unwrap(), [1; 16]);
    fs::remove_dir_all(&path).unwrap();
    until(|| path.join(FILE).exists() && records.health().fault().is_none());
    drop(records);
    assert_eq!(owners(&path), ["a", "b"]);
}

#[test]
fn older_copy_of_the_store_is_brought_up_to_date() {
    let root = tempfile::tempdir().unwrap();
    let (records, _) = directory(root.path());
    wait(add(&records, "a"));
    wait(add(&records, "gone"));
    fs::copy(root.path().join(FILE), root.path().join("copy")).unwrap();
    wait(records.remove(ClientId(1), "gone".into()));
    wait(add(&records, "b"));
    fs::rename(root.path().join("copy"), root.path().join(FILE)).unwrap();
    wait(add(&records, "c"));
    drop(records);
    assert_eq!(owners(root.path()), ["a", "b", "c"]);
}

#[test]
fn store_of_a_later_server_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("state");
    let (first, _) = directory(&path);
    wait(add(&first, "a"));
    fs::rename(&path, root.path().join("moved")).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    let (second, _) = directory(&path);
    wait(add(&second, "b"));
    assert!(outcome(add(&first, "c")).unwrap_err().to_string().contains("stop one of the servers"));
    drop(second);
    until(|| first.health().fault().is_some_and(|fault| fault.contains("another server has started")));
    outcome(add(&first, "c")).unwrap_err();
    drop(first);
    assert_eq!(owners(&path), ["b"]);
}
