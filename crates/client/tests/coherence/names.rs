//! Programs that change what names stand for, and open files by them.
//!
//! Each file is empty and then full of its own number for ever, so that whoever opens a name knows what it
//! stood for. Changes of one name take turns, which is no matter of NFS; opens come at any time.

use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Error};
use tokio::sync::{Mutex, MutexGuard};

use crate::drive::Place;
use crate::fixture::{READ, WRITE};
use crate::history::{Change, History, Part, Reader};
use crate::scene::Mode;

const NAMES: usize = 6;
const DIRECTORIES: usize = 2;
/// What a name stands for, in the one row of the history: no file, an empty one, or one of that number.
const NOTHING: u64 = 0;
const EMPTY: u64 = u64::MAX;
/// More than any file is long.
const BYTES_MAX: usize = 4096;

/// What there is.
pub struct Tree {
    history: History,
    /// What each name stands for now; held while that is changed.
    names: [Mutex<u64>; NAMES],
    mode: Mode,
}

impl Tree {
    /// Two directories. There are names in them from the beginning where none is ever without a file.
    pub async fn plant(client: &Client, mode: Mode) -> Self {
        let tree = Self { history: History::new(1, NAMES), names: Default::default(), mode };
        for directory in 0..DIRECTORIES {
            client.create_dir(format!("d{directory}"), 0o755).await.unwrap();
        }
        if mode == Mode::Replacements {
            for name in 0..NAMES {
                let change = tree.begin(usize::MAX, name, None);
                client.write(path(name), content(change.number)).await.unwrap();
                tree.history.ended(&change);
                *tree.names[name].lock().await = change.number;
            }
        }
        tree
    }

    /// When nothing is under way every client finds by each name what it stands for.
    pub async fn agrees(&self, outsider: &Client, clients: &[Client]) {
        for name in 0..NAMES {
            let expected = *self.names[name].lock().await;
            for client in clients.iter().chain([outsider]) {
                assert_eq!(open(client, name).await.unwrap(), expected);
            }
        }
    }

    fn begin(&self, client: usize, name: usize, value: Option<u64>) -> Change {
        self.history.begin(client, vec![Part { row: 0, cells: name..name + 1, value }])
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

    pub async fn run(mut self) {
        let tree = Arc::clone(&self.tree);
        for _ in 0..Place::steps() {
            let name = self.place.random.below(NAMES);
            if self.place.random.below(3) > 0 {
                self.look(name).await;
            } else if self.tree.mode == Mode::Replacements {
                let mut held = tree.names[name].lock().await;
                *held = self.replace(name).await;
            } else if self.place.random.one_in(4) {
                self.rename(&tree, name).await;
            } else {
                let held = tree.names[name].lock().await;
                self.change(name, held).await;
            }
            self.place.rest().await;
        }
    }

    /// Opens a name.
    async fn look(&self, name: usize) {
        let since = self.tree.history.now();
        let reader = Reader { client: self.place.number, since, begun: since };
        match open(&self.place.client, name).await {
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

    /// Changes what a name stands for. What a client does is known to it at once, however old what it
    /// believes of others is.
    async fn change(&mut self, name: usize, mut held: MutexGuard<'_, u64>) {
        *held = match (*held, self.place.random.below(4)) {
            (_, 0) => self.replace(name).await,
            (NOTHING, 1) => self.write_whole(name).await,
            (NOTHING, 2) => self.make(name, WRITE.create(true).truncate(true)).await,
            (NOTHING, _) => self.make(name, WRITE.create_new(true)).await,
            (_, _) => self.remove(name).await,
        };
        self.knows(name, *held).await;
    }

    /// Makes an empty file, and fills it.
    async fn make(&self, name: usize, options: client::OpenOptions) -> u64 {
        let emptied = self.begin(name, Some(EMPTY));
        let file = self.place.client.open(path(name), options).await.unwrap();
        self.tree.history.ended(&emptied);
        let filled = self.begin(name, None);
        file.write_at(0, content(filled.number)).await.unwrap();
        self.tree.history.taken(&filled);
        file.close().await.unwrap();
        self.tree.history.ended(&filled);
        filled.number
    }

    /// The same in one call.
    async fn write_whole(&self, name: usize) -> u64 {
        let (emptied, filled) = (self.begin(name, Some(EMPTY)), self.begin(name, None));
        self.place.client.write(path(name), content(filled.number)).await.unwrap();
        self.tree.history.ended(&emptied);
        self.tree.history.ended_last(&filled);
        filled.number
    }

    /// Gives the name to a file that had another, which nobody else knew.
    async fn replace(&mut self, name: usize) -> u64 {
        let (number, program) = (self.place.number, self.place.program);
        let temporary =
            format!("d{}/t{number}.{program}.{}", self.temporaries % DIRECTORIES, self.temporaries);
        self.temporaries += 1;
        let change = self.begin(name, None);
        self.place.client.write(&temporary, content(change.number)).await.unwrap();
        self.place.client.rename(&temporary, path(name)).await.unwrap();
        self.tree.history.ended(&change);
        change.number
    }

    async fn remove(&self, name: usize) -> u64 {
        let change = self.begin(name, Some(NOTHING));
        self.place.client.remove_file(path(name)).await.unwrap();
        self.tree.history.ended(&change);
        NOTHING
    }

    /// Gives what has a name another, which may be one that others know.
    async fn rename(&mut self, tree: &Tree, name: usize) {
        let other = (name + 1 + self.place.random.below(NAMES - 1)) % NAMES;
        let mut held = tree.names[name.min(other)].lock().await;
        let mut also_held = tree.names[name.max(other)].lock().await;
        let (from, to) = if name < other { (&mut held, &mut also_held) } else { (&mut also_held, &mut held) };
        if **from == NOTHING {
            return;
        }
        (**to, **from) = (**from, NOTHING);
        let (gone, moved) = (self.begin(name, Some(NOTHING)), self.begin(other, Some(**to)));
        self.place.client.rename(path(name), path(other)).await.unwrap();
        self.tree.history.ended(&gone);
        self.tree.history.ended(&moved);
        self.knows(name, **from).await;
        self.knows(other, **to).await;
    }

    /// Nobody else changes the name now: names and attributes that are remembered must be right after a
    /// change of our own.
    async fn knows(&self, name: usize, value: u64) {
        let known = match self.place.client.metadata(path(name)).await {
            Ok(known) => Some(known.size),
            Err(error) if error.is_not_found() => None,
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
fn content(number: u64) -> Bytes {
    number.to_be_bytes().repeat(1 + (number % 7) as usize).into()
}

/// What a name stands for. A file that goes, or is being written, while it is looked at is an error.
async fn open(client: &Client, name: usize) -> Result<u64, Error> {
    let file = match client.open(path(name), READ).await {
        Err(error) if error.is_not_found() => return Ok(NOTHING),
        opened => opened?,
    };
    let data = file.read_at(0, BYTES_MAX).await;
    let size = file.metadata().await.map(|attributes| attributes.size);
    file.close().await?;
    let (data, size) = (data?, size?);
    let value = match data.first_chunk() {
        Some(number) => u64::from_be_bytes(*number),
        None => EMPTY,
    };
    match value == EMPTY || (data == content(value) && size == data.len() as u64) {
        true => Ok(value),
        false => Err(Error::Usage("the file has data of two writers, or another length than its data")),
    }
}
