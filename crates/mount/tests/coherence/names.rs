//! Programs that change what names stand for, and open files by them.
//!
//! Each file is empty and then full of its own number for ever, so that whoever opens a name knows what it
//! stood for. Changes of one name take turns, which is no matter of NFS; opens come at any time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::drive::Place;
use crate::fixture::Mounted;
use crate::history::{Change, History, Part, Reader};
use crate::scene::Mode;

const NAMES: usize = 6;
const DIRECTORIES: usize = 2;
/// What a name stands for, in the one row of the history: no file, an empty one, or one of that number.
const NOTHING: u64 = 0;
const EMPTY: u64 = u64::MAX;

/// What there is.
pub struct Tree {
    history: History,
    /// What each name stands for now; held while that is changed.
    names: [Mutex<u64>; NAMES],
    mode: Mode,
}

impl Tree {
    /// Two directories. There are names in them from the beginning where none is ever without a file.
    pub fn plant(root: &Path, mode: Mode) -> Self {
        let tree = Self { history: History::new(1, NAMES), names: Default::default(), mode };
        for directory in 0..DIRECTORIES {
            fs::create_dir(root.join(format!("d{directory}"))).unwrap();
        }
        if mode == Mode::Replacements {
            for name in 0..NAMES {
                let change = tree.begin(usize::MAX, name, None);
                fs::write(root.join(path(name)), content(change.number)).unwrap();
                tree.history.ended(&change);
                *tree.hold(name) = change.number;
            }
        }
        tree
    }

    /// When nothing is under way every mount finds by each name what it stands for.
    pub fn agrees(&self, outsider: &Mounted, mounts: &[Mounted]) {
        for name in 0..NAMES {
            let expected = *self.hold(name);
            for mounted in mounts.iter().chain([outsider]) {
                assert_eq!(open(&mounted.path(path(name))).unwrap(), expected);
            }
        }
    }

    /// Who has complained has said so already.
    fn hold(&self, name: usize) -> MutexGuard<'_, u64> {
        self.names[name].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, mount: usize, name: usize, value: Option<u64>) -> Change {
        self.history.begin(mount, vec![Part { row: 0, cells: name..name + 1, value }])
    }
}

pub struct Names {
    place: Place,
    tree: Arc<Tree>,
    temporaries: usize,
}

impl Names {
    pub fn new(place: Place, tree: Arc<Tree>) -> Self {
        Self { place, tree, temporaries: 0 }
    }

    pub fn run(mut self) {
        let tree = Arc::clone(&self.tree);
        for _ in 0..Place::steps() {
            let name = self.place.random.below(NAMES);
            if self.place.random.below(3) > 0 {
                self.look(name);
            } else if self.tree.mode == Mode::Replacements {
                let mut held = tree.hold(name);
                *held = self.replace(name);
            } else if self.place.random.one_in(4) {
                self.rename(&tree, name);
            } else {
                let held = tree.hold(name);
                self.change(name, held);
            }
            self.place.rest();
        }
    }

    fn path(&self, name: usize) -> PathBuf {
        self.place.root.join(path(name))
    }

    /// Opens a name.
    fn look(&self, name: usize) {
        let since = self.tree.history.now();
        let reader = Reader { client: self.place.number, since, begun: since };
        match open(&self.path(name)) {
            Ok(value) => {
                if let Err(complaint) = self.tree.history.check(0, name, value, reader) {
                    panic!("{complaint}");
                }
            }
            // It was removed or written anew between the open and the read.
            Err(error) => assert!(
                !self.tree.history.is_quiet(0, name, since),
                "{error}: {}",
                self.tree.history.complaint(0, name, EMPTY, reader)
            ),
        }
    }

    /// Changes what a name stands for. What a mount does is known to it at once, however old what it believes
    /// of others is.
    fn change(&mut self, name: usize, mut held: MutexGuard<'_, u64>) {
        *held = match (*held, self.place.random.below(4)) {
            (_, 0) => self.replace(name),
            (NOTHING, 1) => self.make(name, OpenOptions::new().write(true).create(true).truncate(true)),
            (NOTHING, _) => self.make(name, OpenOptions::new().write(true).create_new(true)),
            (_, _) => self.remove(name),
        };
        self.knows(name, *held);
    }

    /// Makes an empty file, and fills it.
    fn make(&self, name: usize, options: &OpenOptions) -> u64 {
        let emptied = self.begin(name, Some(EMPTY));
        let mut file = options.open(self.path(name)).unwrap();
        self.tree.history.ended(&emptied);
        let filled = self.begin(name, None);
        file.write_all(&content(filled.number)).unwrap();
        self.tree.history.taken(&filled);
        nix::unistd::close(file).unwrap();
        self.tree.history.ended(&filled);
        filled.number
    }

    /// Gives the name to a file that had another, which nobody else knew.
    fn replace(&mut self, name: usize) -> u64 {
        let (number, program) = (self.place.number, self.place.program);
        let temporary =
            format!("d{}/t{number}.{program}.{}", self.temporaries % DIRECTORIES, self.temporaries);
        let temporary = self.place.root.join(temporary);
        self.temporaries += 1;
        let change = self.begin(name, None);
        fs::write(&temporary, content(change.number)).unwrap();
        fs::rename(&temporary, self.path(name)).unwrap();
        self.tree.history.ended(&change);
        change.number
    }

    fn remove(&self, name: usize) -> u64 {
        let change = self.begin(name, Some(NOTHING));
        fs::remove_file(self.path(name)).unwrap();
        self.tree.history.ended(&change);
        NOTHING
    }

    /// Gives what has a name another, which may be one that others know.
    fn rename(&mut self, tree: &Tree, name: usize) {
        let other = (name + 1 + self.place.random.below(NAMES - 1)) % NAMES;
        let mut held = tree.hold(name.min(other));
        let mut also_held = tree.hold(name.max(other));
        let (from, to) = if name < other { (&mut held, &mut also_held) } else { (&mut also_held, &mut held) };
        if **from == NOTHING {
            return;
        }
        (**to, **from) = (**from, NOTHING);
        let (gone, moved) = (self.begin(name, Some(NOTHING)), self.begin(other, Some(**to)));
        fs::rename(self.path(name), self.path(other)).unwrap();
        self.tree.history.ended(&gone);
        self.tree.history.ended(&moved);
        self.knows(name, **from);
        self.knows(other, **to);
    }

    /// Nobody else changes the name now: names and attributes that are remembered must be right after a
    /// change of our own.
    fn knows(&self, name: usize, value: u64) {
        let known = match fs::metadata(self.path(name)) {
            Ok(known) => Some(known.len()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => panic!("{error}"),
        };
        let expected = (value != NOTHING).then(|| content(value).len() as u64);
        assert_eq!(known, expected, "the length of name {name}, which stands for {value}");
    }

    fn begin(&self, name: usize, value: Option<u64>) -> Change {
        self.tree.begin(self.place.number, name, value)
    }
}

fn path(name: usize) -> String {
    format!("d{}/n{name}", name % DIRECTORIES)
}

/// What is in a file of that number; how long it is follows from the number.
fn content(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(1 + (number % 7) as usize)
}

/// What a name stands for. A file that goes, or is being written, while it is looked at is an error.
fn open(path: &Path) -> io::Result<u64> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(NOTHING),
        opened => opened?,
    };
    let mut data = Vec::new();
    file.read_to_end(&mut data)?;
    let size = file.metadata()?.len();
    let value = match data.first_chunk() {
        Some(number) => u64::from_be_bytes(*number),
        None => EMPTY,
    };
    match value == EMPTY || (data == content(value) && size == data.len() as u64) {
        true => Ok(value),
        false => Err(io::Error::other("the file has data of two writers, or another length than its data")),
    }
}
