//! The objects that the kernel knows, by the numbers under which it knows them. Each stays for as long as the
//! kernel counts it: what the kernel keeps bounds the table.

use std::collections::HashMap;
use std::sync::Arc;

use client::{File, Object};
use fuser::{Errno, FileHandle};
use parking_lot::Mutex;

use crate::ends::End;
use crate::errno::Result;
use crate::mapped::MappedPages;
use crate::turns::Turns;

/// The number of the root.
pub(crate) const ROOT: u64 = 1;
/// Where numbers begin that are no inode numbers of the server: those of objects whose own number is taken.
const SPARE_FIRST: u64 = 1 << 63;

/// An object that the kernel knows.
#[derive(Debug)]
pub(crate) struct Inode {
    pub(crate) number: u64,
    pub(crate) object: Object,
    pub(crate) state: Mutex<State>,
    /// Held by who gives an owner of locks its open file: it has one at a time.
    pub(crate) lock_files_gate: tokio::sync::Mutex<()>,
    /// The kernel divides what is appended, and may ask for all the pieces at once.
    pub(crate) appends: Turns,
    /// Held by all who ask the server to open it, and alone by who removes its name: what has been opened by
    /// then is not to vanish, and who comes later finds the name gone.
    pub(crate) removal_gate: tokio::sync::RwLock<()>,
    /// Held while data are stored into the kernel's cache, and while a file is opened through which it can
    /// be mapped.
    pub(crate) store_gate: tokio::sync::Mutex<()>,
    /// Held while the kernel invalidates its pages and attributes. Threads that may block take it.
    pub(crate) drop_gate: Mutex<()>,
    /// A change of its data has been carried out for which reads of pages wait.
    pub(crate) changed: tokio::sync::Notify,
}

/// What happens to an object here.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Those who have it open, are about to, or are hiding it.
    pub(crate) opens: usize,
    /// The oldest content that the kernel may have pages or attributes of, as [`Object::content`] counts it.
    pub(crate) kept: Option<u64>,
    /// Where the kernel takes its end to be.
    pub(crate) end: End,
    pub(crate) pages: MappedPages,
    /// Where the kernel found it last: the parent's number, and the name.
    pub(crate) place: Option<(u64, Vec<u8>)>,
    /// How many directories lead there from the root of the mount.
    pub(crate) depth: usize,
    /// It was removed while it was open, and has this name until it is closed.
    pub(crate) hidden: Option<Hidden>,
    /// The open files that stand for owners of locks.
    pub(crate) lock_files: HashMap<u64, Arc<LockFile>>,
}

/// An open file that stands for an owner of locks.
#[derive(Debug)]
pub(crate) struct LockFile {
    pub(crate) file: File,
    pub(crate) writable: bool,
    /// The open file by which the owner locks. When it is released the owner has ended: the kernel has
    /// ended the locks of a process that closed it, and those of an open file end with it.
    pub(crate) handle: FileHandle,
}

/// The name of a file that was removed while it was open.
#[derive(Debug, Clone)]
pub(crate) struct Hidden {
    pub(crate) directory: Object,
    pub(crate) name: Vec<u8>,
}

/// All objects that the kernel knows.
#[derive(Debug)]
pub(crate) struct Inodes {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    by_number: HashMap<u64, Counted>,
    /// The number of the object of that key.
    by_key: HashMap<u64, u64>,
    spare: u64,
}

impl Table {
    fn next_spare(&mut self) -> u64 {
        let number = self.spare;
        self.spare = number.wrapping_add(1).max(SPARE_FIRST);
        number
    }
}

impl State {
    /// The kernel is given something of that content.
    pub(crate) fn give(&mut self, content: u64) {
        self.kept = Some(self.kept.map_or(content, |kept| kept.min(content)));
    }
}

impl Inode {
    fn new(number: u64, object: Object) -> Self {
        Self {
            number,
            object,
            state: Mutex::default(),
            lock_files_gate: tokio::sync::Mutex::default(),
            appends: Turns::default(),
            removal_gate: tokio::sync::RwLock::default(),
            store_gate: tokio::sync::Mutex::default(),
            drop_gate: Mutex::default(),
            changed: tokio::sync::Notify::default(),
        }
    }
}

#[derive(Debug)]
struct Counted {
    inode: Arc<Inode>,
    /// How often the kernel was told of it, less what it has forgotten.
    lookups: u64,
}

impl Inodes {
    pub(crate) fn new(root: Object) -> Self {
        let key = root.key();
        let inode = Arc::new(Inode::new(ROOT, root));
        let table = Table {
            by_number: HashMap::from([(ROOT, Counted { inode, lookups: 1 })]),
            by_key: HashMap::from([(key, ROOT)]),
            spare: SPARE_FIRST,
        };
        Self { table: Mutex::new(table) }
    }

    /// The object of that number.
    pub(crate) fn get(&self, number: u64) -> Result<Arc<Inode>> {
        let table = self.table.lock();
        table.by_number.get(&number).map(|counted| Arc::clone(&counted.inode)).ok_or(Errno::ESTALE)
    }

    /// The object of that key, if the kernel knows it.
    pub(crate) fn find(&self, key: u64) -> Option<Arc<Inode>> {
        let table = self.table.lock();
        let number = table.by_key.get(&key)?;
        table.by_number.get(number).map(|counted| Arc::clone(&counted.inode))
    }

    /// True for the key of the root's object.
    pub(crate) fn is_root(&self, key: u64) -> bool {
        self.table.lock().by_key.get(&key) == Some(&ROOT)
    }

    /// The kernel is told of an object, of that inode number on the server.
    pub(crate) fn remember(&self, object: &Object, fileid: u64) -> Arc<Inode> {
        let mut table = self.table.lock();
        let table = &mut *table;
        let key = object.key();
        if let Some(number) = table.by_key.get(&key) {
            let counted = table.by_number.get_mut(number).expect("both maps have it");
            counted.lookups += 1;
            return Arc::clone(&counted.inode);
        }
        let mut number = fileid;
        while number <= ROOT || table.by_number.contains_key(&number) {
            number = table.next_spare();
        }
        let inode = Arc::new(Inode::new(number, object.clone()));
        table.by_number.insert(number, Counted { inode: Arc::clone(&inode), lookups: 1 });
        table.by_key.insert(key, number);
        inode
    }

    /// A number that no object has.
    pub(crate) fn spare_number(&self) -> u64 {
        let mut table = self.table.lock();
        loop {
            let number = table.next_spare();
            if !table.by_number.contains_key(&number) {
                return number;
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.table.lock().by_number.len()
    }

    /// Names by which the kernel may know objects that no program has open, of at most `count` of them.
    /// Directories are left out: one that is dropped while a program works in it has no path any more.
    pub(crate) fn take_unused_names(&self, count: usize) -> Vec<(u64, Vec<u8>)> {
        let table = self.table.lock();
        let unused = table.by_number.values().filter_map(|counted| {
            let is_directory = |known: client::Remembered| known.attributes.is_directory();
            if counted.inode.object.remembered().is_none_or(is_directory) {
                return None;
            }
            let mut state = counted.inode.state.lock();
            if state.opens == 0 { state.place.take() } else { None }
        });
        unused.take(count).collect()
    }

    /// The kernel forgets that it was told `lookups` times.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        if number == ROOT {
            return;
        }
        let mut table = self.table.lock();
        let Some(counted) = table.by_number.get_mut(&number) else { return };
        counted.lookups = counted.lookups.saturating_sub(lookups);
        if counted.lookups == 0 {
            let key = counted.inode.object.key();
            table.by_number.remove(&number);
            table.by_key.remove(&key);
        }
    }
}
