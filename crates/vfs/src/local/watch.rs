//! What other processes do to objects of an export, as the kernel tells it (`fanotify(7)`).
//!
//! The kernel tells afterwards, and holds nobody. What our own process does it tells too; that is told
//! nobody. A mark of the kernel is taken away a moment after the last who wanted it, by the thread that reads
//! events: it stays when another comes meanwhile, and whoever lets go waits for nothing.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::Export;
use super::events::{self, Event};
use super::object::{Object, Purpose};
use super::open::proc_path;
use super::persistent::{Persistent, Proof};
use super::sys::{self, Fid, Marked};
use crate::{Error, FileKind, ObjectId, ObservedChange, Result, Tell, Watch};

/// How often marks are taken away that nobody wants any more.
const SWEEP: Duration = Duration::from_secs(1);
/// Pause after events that were all our own: meanwhile the kernel makes one of many that are alike.
const PAUSE: Duration = Duration::from_millis(10);
/// Memory for events that are read at once.
const EVENTS_BYTES: usize = 16 << 10;

/// The marks of an export.
pub(super) struct Watcher(Arc<Shared>);

struct Shared {
    group: OwnedFd,
    /// Wakes the thread when the first object is watched, and when the watcher is dropped.
    wake: OwnedFd,
    marks_max: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    marks: HashMap<Fid, Mark>,
    /// Those that may have lost the last who wanted them.
    unwanted: Vec<Fid>,
    next: u64,
    has_thread: bool,
    closed: bool,
}

struct Mark {
    id: Persistent,
    object: ObjectId,
    mask: u64,
    wanted: Vec<WatchRequest>,
}

struct WatchRequest {
    number: u64,
    least: ObservedChange,
    tell: Tell,
}

/// Somebody who wants to be told.
struct Guard {
    shared: Arc<Shared>,
    fid: Fid,
    number: u64,
}

impl Watcher {
    /// Finds out whether the kernel tells of objects like `root`, of at most so many at a time.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) fn new(root: &OwnedFd, marks_max: usize) -> rustix::io::Result<Self> {
        let group = sys::fanotify_group()?;
        let (mask, root) = (events::mask(ObservedChange::Changed, true), Marked::Open(root.as_fd()));
        sys::fanotify_mark(group.as_fd(), true, mask, root)?;
        sys::fanotify_mark(group.as_fd(), false, mask, root)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Shared { group, wake, marks_max, table: Mutex::default() })))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.table.lock().closed = true;
        self.0.wake();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut table = self.shared.table.lock();
        let Some(mark) = table.marks.get_mut(&self.fid) else { return };
        mark.wanted.retain(|wanted| wanted.number != self.number);
        if mark.wanted.is_empty() {
            table.unwanted.push(self.fid);
        }
    }
}

/// An object by which it can be marked.
struct MarkTarget {
    fd: Arc<OwnedFd>,
    /// Of the descriptor, where that is not open for data.
    path: Option<CString>,
}

impl MarkTarget {
    /// When it is open for data.
    fn open(object: &Object) -> Option<Self> {
        let fd = object.descriptor(Purpose::Read).or_else(|| object.descriptor(Purpose::Write))?;
        Some(Self { fd, path: None })
    }

    fn at(fd: Arc<OwnedFd>) -> Self {
        let path = CString::new(proc_path(fd.as_fd())).expect("a number has no zero byte");
        Self { fd, path: Some(path) }
    }

    fn marked(&self) -> Marked<'_> {
        self.path.as_deref().map_or(Marked::Open(self.fd.as_fd()), Marked::At)
    }
}

impl Export {
    /// Tells of what other processes do to an object.
    pub(super) fn watch(
        self: &Arc<Self>,
        object: &Arc<Object>,
        least: ObservedChange,
        tell: &Tell,
    ) -> Result<Option<Watch>> {
        let (Some(Watcher(shared)), Proof::Fid(fid)) = (&self.watcher, object.id.proof) else {
            return Ok(None);
        };
        let found = match MarkTarget::open(object) {
            Some(found) => found,
            None => MarkTarget::at(self.path(object)?),
        };
        let mut table = shared.table.lock();
        shared.start(&mut table, self)?;
        let mask = events::mask(least, object.kind == FileKind::Directory);
        match shared.mark(&mut table, fid, object, mask, &found) {
            Err(Errno::ACCESS) => {
                // The caller may not read it; the server may.
                self.acting.become_self()?;
                shared.mark(&mut table, fid, object, mask, &found)?;
            }
            // A file system below this one that cannot name its objects.
            Err(Errno::NODEV | Errno::XDEV | Errno::OPNOTSUPP) => return Ok(None),
            marked => marked?,
        }
        let number = table.next;
        table.next += 1;
        let wanted = WatchRequest { number, least, tell: Arc::clone(tell) };
        if let Some(mark) = table.marks.get_mut(&fid) {
            mark.wanted.push(wanted);
        }
        Ok(Some(Watch::new(Guard { shared: Arc::clone(shared), fid, number })))
    }

    /// A descriptor of an inode that is marked, unless it is gone: then its mark is, too.
    fn find_marked(&self, id: &Persistent) -> Option<MarkTarget> {
        let known = if *id == self.root.id { Some(self.root.clone()) } else { self.cache.get(id.fileid) };
        let known = known.filter(|object| object.id == *id);
        if let Some(object) = known {
            let found =
                MarkTarget::open(&object).or_else(|| object.descriptor(Purpose::Path).map(MarkTarget::at));
            if found.is_some() {
                return found;
            }
        }
        let path = match &self.index {
            None => Arc::new(self.open_persistent(id).ok()?.0),
            Some(_) => self.open_hinted(id)?.descriptor(Purpose::Path)?,
        };
        Some(MarkTarget::at(path))
    }
}

impl Shared {
    /// Starts the thread, unless it runs.
    fn start(self: &Arc<Self>, table: &mut Table, export: &Arc<Export>) -> Result<()> {
        if !table.has_thread {
            let (shared, export) = (Arc::clone(self), Arc::downgrade(export));
            let thread = std::thread::Builder::new().name("vfs-watch".into());
            thread.spawn(move || shared.run(&export)).map_err(Error::Io)?;
            table.has_thread = true;
        }
        Ok(())
    }

    /// Makes sure that the kernel tells of this of an object.
    fn mark(
        &self,
        table: &mut Table,
        fid: Fid,
        object: &Object,
        mask: u64,
        found: &MarkTarget,
    ) -> rustix::io::Result<()> {
        let known = table.marks.get(&fid).map_or(0, |mark| mark.mask);
        if known & mask == mask {
            return Ok(());
        }
        if known == 0 && table.marks.len() >= self.marks_max {
            return Err(Errno::NOSPC);
        }
        sys::fanotify_mark(self.group.as_fd(), true, mask, found.marked())?;
        if table.marks.is_empty() {
            self.wake();
        }
        let new = || Mark { id: object.id, object: object.object_id, mask, wanted: Vec::new() };
        table.marks.entry(fid).or_insert_with(new).mask |= mask;
        Ok(())
    }

    fn wake(&self) {
        // It fails only when it is full, and then the thread is awake.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// What the thread does.
    fn run(&self, export: &Weak<Export>) {
        let own = std::process::id() as i32;
        let mut buffer = vec![0; EVENTS_BYTES];
        loop {
            let timeout = if self.table.lock().marks.is_empty() { None } else { Some(SWEEP) };
            self.wait(true, timeout);
            let events = match rustix::io::read(&self.group, &mut buffer[..]) {
                Ok(length) => events::parse(&buffer[..length]),
                Err(_) => Vec::new(),
            };
            let mut is_others = false;
            for event in &events {
                for (tell, object, seen) in self.told_of(event, own) {
                    is_others = true;
                    // One who fails must not end it for the others.
                    let _ = catch_unwind(AssertUnwindSafe(|| tell(object, seen)));
                }
            }
            self.sweep(export.upgrade().as_deref());
            // What is still wanted may be delegated by who has opened the export anew.
            let table = self.table.lock();
            if table.closed && table.marks.is_empty() {
                return;
            }
            drop(table);
            if !events.is_empty() && !is_others {
                self.wait(false, Some(PAUSE));
            }
        }
    }

    /// Waits for events, if asked to, or for being woken.
    fn wait(&self, for_events: bool, timeout: Option<Duration>) {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut ends = [PollFd::new(&self.wake, PollFlags::IN), PollFd::new(&self.group, PollFlags::IN)];
        let ends = if for_events { &mut ends[..] } else { &mut ends[..1] };
        // Where it fails, a signal came.
        let _ = poll(ends, timeout.as_ref());
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
    }

    /// Who is to be told of an event, but for our own.
    fn told_of(&self, event: &Event, own: i32) -> Vec<(Tell, ObjectId, ObservedChange)> {
        let table = self.table.lock();
        let of = |mark: &Mark, seen: ObservedChange| {
            let object = mark.object;
            let wanted = mark.wanted.iter().filter(|wanted| wanted.least <= seen);
            wanted.map(|wanted| (Arc::clone(&wanted.tell), object, seen)).collect::<Vec<_>>()
        };
        match event {
            Event::Of(_, _, pid) if *pid == own => Vec::new(),
            Event::Of(fid, seen, _) => table.marks.get(fid).map(|mark| of(mark, *seen)).unwrap_or_default(),
            // Anything may have happened.
            Event::Overflow => {
                table.marks.values().flat_map(|mark| of(mark, ObservedChange::Changed)).collect()
            }
        }
    }

    /// Takes the marks away that nobody wants any more.
    fn sweep(&self, export: Option<&Export>) {
        let unwanted = std::mem::take(&mut self.table.lock().unwanted);
        for fid in unwanted {
            let find = |table: &Table| {
                let mark = table.marks.get(&fid).filter(|mark| mark.wanted.is_empty())?;
                Some((mark.id, mark.mask))
            };
            let Some((id, _)) = find(&self.table.lock()) else { continue };
            // Opened without the lock. What cannot be opened keeps its mark as long as the inode lives, and
            // nobody hears of it.
            let found = export.and_then(|export| export.find_marked(&id));
            let mut table = self.table.lock();
            let Some((_, mask)) = find(&table) else { continue };
            if let Some(found) = found {
                // Where it fails, the inode has gone meanwhile.
                let _ = sys::fanotify_mark(self.group.as_fd(), false, mask, found.marked());
            }
            table.marks.remove(&fid);
        }
    }
}
