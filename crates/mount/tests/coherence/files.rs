//! Programs that read and change the data of files. Each reports every change and every read.

use std::fs::{self, File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::Object;

use crate::drive::Place;
use crate::fixture::Mounted;
use crate::history::{Change, History, Reader};
use crate::locks::{self, Kind};
use crate::mapped::Mapper;
use crate::rows::{self, CELLS, FILES};
use crate::scene::{Met, Mode};

/// A file has several pages, and a page several cells.
const CELL_BYTES: usize = 512;
const WORD_BYTES: usize = size_of::<u64>();

pub fn names() -> Vec<String> {
    (0..FILES).map(|index| index.to_string()).collect()
}

/// Makes the files, empty.
pub fn plant(root: &Path) -> History {
    for name in names() {
        File::create_new(root.join(name)).unwrap();
    }
    rows::history()
}

/// When nothing is under way all mounts have what one has that never had it before.
pub fn agree(outsider: &Mounted, mounts: &[Mounted]) {
    for name in names() {
        let content = content(&outsider.path(&name));
        for (number, mounted) in mounts.iter().enumerate() {
            assert!(self::content(&mounted.path(&name)) == content, "file {name} on mount {number}");
        }
    }
}

fn content(path: &Path) -> Vec<u8> {
    let file = File::open(path).unwrap();
    let data = read(&file, 0..CELLS * CELL_BYTES + 1);
    assert_eq!(file.metadata().unwrap().len(), data.len() as u64);
    data
}

/// What there is of the range.
fn read(file: &File, range: Range<usize>) -> Vec<u8> {
    let mut data = vec![0; range.len()];
    let mut count = 0;
    while count < data.len() {
        match file.read_at(&mut data[count..], (range.start + count) as u64).unwrap() {
            0 => break,
            more => count += more,
        }
    }
    data.truncate(count);
    data
}

pub struct Files {
    place: Place,
    history: Arc<History>,
    /// A file that is kept open from one step to the next.
    open: Option<Open>,
    /// Has files as memory for this program.
    mapper: Option<Mapper>,
    met: Met,
}

struct Open {
    index: usize,
    writable: bool,
    file: File,
    /// As the client behind the mount counts it, when the file was open.
    content: u64,
}

impl Files {
    pub fn new(place: Place, history: Arc<History>) -> Self {
        Self { place, history, open: None, mapper: None, met: Met::default() }
    }

    pub fn run(mut self, mode: Mode) -> Met {
        for _ in 0..Place::steps() {
            match mode {
                Mode::Locks => self.locked(),
                Mode::Delegations => self.delegated(),
                _ => self.session(),
            }
            self.place.rest();
        }
        self.met
    }

    fn path(&self, index: usize) -> PathBuf {
        self.place.root.join(index.to_string())
    }

    fn open(&self, index: usize, writable: bool) -> Open {
        let file = OpenOptions::new().read(true).write(writable).open(self.path(index)).unwrap();
        // In most scenes nobody asks.
        let content = self.place.objects.get(index).map_or(0, Object::content);
        Open { index, writable, file, content }
    }

    /// Opens, reads or changes, closes.
    fn session(&mut self) {
        let index = self.place.random.below(FILES);
        if self.place.random.below(3) == 0 {
            return self.change(index);
        }
        let since = self.history.now();
        let open = self.open(index, false);
        for _ in 0..=self.place.random.below(2) {
            let cells = rows::some_cells(&mut self.place.random);
            self.read(&open.file, index, cells, since);
        }
    }

    /// Opens, changes, closes.
    fn change(&mut self, index: usize) {
        let since = self.history.now();
        let mut changes = Vec::new();
        let empties = self.place.random.one_in(6);
        if empties {
            changes.push(self.begin_cut(index, 0));
        }
        let file =
            OpenOptions::new().read(true).write(true).truncate(empties).open(self.path(index)).unwrap();
        changes.iter().for_each(|change| self.history.taken(change));
        for _ in 0..=self.place.random.below(3) {
            match self.place.random.below(8) {
                0 => changes.push(self.cut(&file, index)),
                1 => {
                    let cells = rows::some_cells(&mut self.place.random);
                    self.read(&file, index, cells, since);
                }
                2 => file.sync_all().unwrap(),
                _ => {
                    let cells = rows::some_cells(&mut self.place.random);
                    changes.push(self.write(&file, index, cells));
                }
            }
        }
        close(file);
        changes.iter().for_each(|change| self.history.ended(change));
        // Its own mount needs no open to know.
        let begun = self.history.now();
        let size = fs::metadata(self.path(index)).unwrap().len();
        self.check_size(index, size, Reader { client: self.place.number, since: 0, begun });
    }

    /// Locks, reads or changes, unlocks; and often goes on with the same open file the next time.
    fn locked(&mut self) {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let (index, writable) = (self.place.random.below(FILES), self.place.random.one_in(2));
                self.open(index, writable)
            }
        };
        let cells =
            if self.place.random.one_in(2) { 0..CELLS } else { rows::some_cells(&mut self.place.random) };
        let exclusive = open.writable && self.place.random.one_in(2);
        let kind = if exclusive { Kind::Exclusive } else { Kind::Shared };
        let (bytes, wait) = (bytes_of(&cells), !self.place.random.one_in(3));
        if locks::lock(&open.file, &bytes, kind, wait) {
            self.under_lock(&open, cells, kind);
            locks::unlock(&open.file, &bytes);
        }
        match self.place.random.one_in(3) {
            true => close(open.file),
            false => self.open = Some(open),
        }
    }

    fn under_lock(&mut self, open: &Open, cells: Range<usize>, kind: Kind) {
        let (file, index) = (&open.file, open.index);
        let since = self.history.now();
        let mut changes = Vec::new();
        self.read_locked(file, index, cells.clone(), since);
        if cells == (0..CELLS) && self.place.random.one_in(3) {
            self.load(file, index, since);
        }
        if kind == Kind::Exclusive {
            let alone = self.place.objects[index].remembered().is_some_and(|known| known.write_delegated);
            self.met.writes_by_delegation += u64::from(alone);
            if cells == (0..CELLS) && self.place.random.one_in(5) {
                changes.push(self.cut(file, index));
            }
            // Another machine's bytes may be in a page of which a part is locked.
            let by_memory = cells == (0..CELLS) && self.place.random.one_in(3);
            changes.push(match by_memory && file.metadata().unwrap().len() >= bytes_of(&cells).end {
                true => self.store(index, &cells),
                false => self.write(file, index, cells.clone()),
            });
            // To read them sends them: what is not read is left to the unlock.
            if self.place.random.one_in(2) {
                self.read_locked(file, index, cells, since);
            }
        }
        // Who gets the lock next must see it: that is later than this moment.
        changes.iter().for_each(|change| self.history.ended(change));
    }

    /// Changes, or reads a file that stays open. While a delegation of it is held nobody else changes it:
    /// everything that had ended before must be seen, however long ago the file was opened.
    fn delegated(&mut self) {
        if self.place.random.one_in(5) {
            let index = self.place.random.below(FILES);
            return self.change(index);
        }
        let mut since = self.history.now();
        let open = match self.open.take() {
            Some(open) if self.is_delegated(&open) => {
                self.met.reads_by_delegation += 1;
                open
            }
            other => {
                drop(other);
                let index = self.place.random.below(FILES);
                since = self.history.now();
                self.open(index, false)
            }
        };
        let cells = rows::some_cells(&mut self.place.random);
        self.read(&open.file, open.index, cells, since);
        match self.place.random.one_in(8) {
            true => close(open.file),
            false => self.open = Some(open),
        }
    }

    /// Whether a delegation is held, and the mount has learned of nobody's having changed the file since it
    /// was opened: another program's open may have brought the delegation, and with it that news.
    fn is_delegated(&self, open: &Open) -> bool {
        let object = &self.place.objects[open.index];
        object.remembered().is_some_and(|known| known.delegated) && object.content() == open.content
    }

    /// Reads, and looks at the length too.
    fn read(&self, file: &File, index: usize, cells: Range<usize>, since: u64) {
        self.read_data(file, index, cells, since);
        let reader = Reader { client: self.place.number, since, begun: self.history.now() };
        self.check_size(index, file.metadata().unwrap().len(), reader);
    }

    /// The length of a file is known to who has locked all of it.
    fn read_locked(&self, file: &File, index: usize, cells: Range<usize>, since: u64) {
        match cells == (0..CELLS) {
            true => self.read(file, index, cells, since),
            false => self.read_data(file, index, cells, since),
        }
    }

    fn read_data(&self, file: &File, index: usize, cells: Range<usize>, since: u64) {
        let reader = Reader { client: self.place.number, since, begun: self.history.now() };
        let data = read(file, cells.start * CELL_BYTES..cells.end * CELL_BYTES);
        for (place, cell) in cells.enumerate() {
            // Its first and its last word: a cell may be read while it is written.
            for word in [place * CELL_BYTES, (place + 1) * CELL_BYTES - WORD_BYTES] {
                let bytes = data.get(word..word + WORD_BYTES);
                let value = bytes.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
                if let Err(complaint) = self.history.check(index, cell, value, reader) {
                    panic!("{complaint}");
                }
            }
        }
    }

    fn check_size(&self, index: usize, size: u64, reader: Reader) {
        assert_eq!(size % CELL_BYTES as u64, 0, "the length of file {index}");
        for cell in 0..CELLS {
            let present = ((cell * CELL_BYTES) as u64) < size;
            if let Err(complaint) =
                self.history.check(rows::presence(index), cell, u64::from(present), reader)
            {
                panic!("of {size} bytes, {complaint}");
            }
        }
    }

    fn write(&self, file: &File, index: usize, cells: Range<usize>) -> Change {
        let change = self.history.begin(self.place.number, rows::written(index, &cells));
        let word = change.number.to_be_bytes();
        let data = word.repeat(cells.len() * CELL_BYTES / WORD_BYTES);
        file.write_all_at(&data, bytes_of(&cells).start).unwrap();
        self.history.taken(&change);
        change
    }

    /// As [`Files::write`], into the file as memory of another process.
    fn store(&mut self, index: usize, cells: &Range<usize>) -> Change {
        let change = self.history.begin(self.place.number, rows::written(index, cells));
        let path = self.path(index);
        let mapper = self.mapper.get_or_insert_with(Mapper::start);
        mapper.store(&path, &bytes_of(cells), change.number);
        self.history.taken(&change);
        change
    }

    /// Reads what there is of a file that is locked, by another process that has it as memory.
    fn load(&mut self, file: &File, index: usize, since: u64) {
        let cells = file.metadata().unwrap().len() as usize / CELL_BYTES;
        if cells == 0 {
            return;
        }
        let path = self.path(index);
        let reader = Reader { client: self.place.number, since, begun: self.history.now() };
        let words: Vec<usize> = (0..cells).map(|cell| cell * CELL_BYTES).collect();
        let values = self.mapper.get_or_insert_with(Mapper::start).load(&path, &words);
        for (cell, value) in values.into_iter().enumerate() {
            if let Err(complaint) = self.history.check(index, cell, value, reader) {
                panic!("in memory, {complaint}");
            }
        }
    }

    /// Makes the file shorter, or as long as it may be.
    fn cut(&mut self, file: &File, index: usize) -> Change {
        let left = self.place.random.below(CELLS + 1);
        let change = self.begin_cut(index, left);
        file.set_len((left * CELL_BYTES) as u64).unwrap();
        self.history.taken(&change);
        change
    }

    fn begin_cut(&self, index: usize, left: usize) -> Change {
        self.history.begin(self.place.number, rows::cut(index, left))
    }
}

fn bytes_of(cells: &Range<usize>) -> Range<u64> {
    (cells.start * CELL_BYTES) as u64..(cells.end * CELL_BYTES) as u64
}

/// Closes, and hears what became of what was written.
fn close(file: File) {
    nix::unistd::close(file).unwrap();
}
