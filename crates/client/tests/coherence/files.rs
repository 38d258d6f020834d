//! Programs that read and change the data of files. Each reports every change and every read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Error, File, LockKind, Object, OpenOptions};

use crate::drive::Place;
use crate::fixture::{READ, WRITE};
use crate::history::{Change, History, Reader};
use crate::rows::{self, CELLS, FILES};
use crate::scene::{Met, Mode};

const CELL_BYTES: usize = 64;

/// Makes the files, empty.
pub async fn plant(client: &Client) -> History {
    for index in 0..FILES {
        client.create_file(index.to_string(), 0o644).await.unwrap();
    }
    rows::history()
}

/// When nothing is under way all clients have what one has that never had it before.
pub async fn agree(outsider: &Client, clients: &[Client]) {
    for index in 0..FILES {
        let content = content(outsider, index).await;
        for client in clients {
            assert_eq!(self::content(client, index).await, content);
        }
    }
}

async fn content(client: &Client, index: usize) -> Bytes {
    let file = client.open(index.to_string(), READ).await.unwrap();
    let data = file.read_at(0, CELLS * CELL_BYTES + 1).await.unwrap();
    assert_eq!(file.metadata().await.unwrap().size, data.len() as u64);
    file.close().await.unwrap();
    data
}

pub struct Files {
    place: Place,
    history: Arc<History>,
    /// A file that is kept open from one step to the next.
    open: Option<Open>,
    met: Met,
}

struct Open {
    index: usize,
    writable: bool,
    object: Object,
    file: File,
}

impl Files {
    pub fn new(place: Place, history: Arc<History>) -> Self {
        Self { place, history, open: None, met: Met::default() }
    }

    pub async fn run(mut self, mode: Mode) -> Met {
        for _ in 0..Place::steps() {
            match mode {
                Mode::Locks => self.locked().await,
                Mode::Delegations => self.delegated().await,
                _ => self.session().await,
            }
            self.place.rest().await;
        }
        if let Some(open) = self.open.take() {
            open.file.close().await.unwrap();
        }
        self.met
    }

    async fn open(&mut self, index: usize, options: OpenOptions) -> Open {
        let root = self.place.client.root_object();
        let (object, file) = root.create(index.to_string().as_bytes(), &options).await.unwrap();
        Open { index, writable: options == WRITE, object, file }
    }

    /// Opens, reads or changes, closes.
    async fn session(&mut self) {
        let index = self.place.random.below(FILES);
        if self.place.random.below(3) == 0 {
            return self.change(index).await;
        }
        let since = self.history.now();
        let file = self.place.client.open(index.to_string(), READ).await.unwrap();
        for _ in 0..=self.place.random.below(2) {
            let cells = rows::some_cells(&mut self.place.random);
            self.read(&file, index, cells, since).await;
        }
        file.close().await.unwrap();
    }

    /// Opens, changes, closes.
    async fn change(&mut self, index: usize) {
        let since = self.history.now();
        let mut changes = Vec::new();
        let options = match self.place.random.one_in(6) {
            true => {
                changes.push(self.begin_cut(index, 0));
                WRITE.truncate(true)
            }
            false => WRITE,
        };
        let file = self.place.client.open(index.to_string(), options).await.unwrap();
        changes.iter().for_each(|change| self.history.taken(change));
        for _ in 0..=self.place.random.below(3) {
            match self.place.random.below(8) {
                0 => changes.push(self.cut(&file, index).await),
                1 => {
                    let cells = rows::some_cells(&mut self.place.random);
                    self.read(&file, index, cells, since).await;
                }
                2 => file.sync_all().await.unwrap(),
                _ => {
                    let cells = rows::some_cells(&mut self.place.random);
                    changes.push(self.write(&file, index, cells).await);
                }
            }
        }
        file.close().await.unwrap();
        changes.iter().for_each(|change| self.history.ended(change));
        // Its own client needs no open to know.
        let begun = self.history.now();
        let size = self.place.client.metadata(index.to_string()).await.unwrap().size;
        self.check_size(index, size, Reader { client: self.place.number, since: 0, begun });
    }

    /// Locks, reads or changes, unlocks; and often goes on with the same open file the next time.
    async fn locked(&mut self) {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let index = self.place.random.below(FILES);
                let options = if self.place.random.one_in(2) { WRITE } else { READ };
                self.open(index, options).await
            }
        };
        let cells =
            if self.place.random.one_in(2) { 0..CELLS } else { rows::some_cells(&mut self.place.random) };
        let exclusive = open.writable && self.place.random.one_in(2);
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        let bytes = bytes_of(&cells);
        let granted = match self.place.random.one_in(3) {
            true => open.file.try_lock(bytes.clone(), kind).await,
            false => open.file.lock(bytes.clone(), kind).await,
        };
        match granted {
            Ok(()) => {
                self.under_lock(&open, cells, kind).await;
                open.file.unlock(bytes).await.unwrap();
            }
            Err(Error::Locked) => {}
            Err(error) => panic!("{error}"),
        }
        match self.place.random.one_in(3) {
            true => open.file.close().await.unwrap(),
            false => self.open = Some(open),
        }
    }

    async fn under_lock(&mut self, open: &Open, cells: Range<usize>, kind: LockKind) {
        let (file, index) = (&open.file, open.index);
        let since = self.history.now();
        let mut changes = Vec::new();
        self.read_locked(file, index, cells.clone(), since).await;
        if kind == LockKind::Exclusive {
            let alone = open.object.remembered().is_some_and(|known| known.write_delegated);
            self.met.writes_by_delegation += u64::from(alone);
            if cells == (0..CELLS) && self.place.random.one_in(5) {
                changes.push(self.cut(file, index).await);
            }
            changes.push(self.write(file, index, cells.clone()).await);
            // To read them sends them: what is not read is left to the unlock.
            if self.place.random.one_in(2) {
                self.read_locked(file, index, cells, since).await;
            }
        }
        // Who gets the lock next must see it: that is later than this moment.
        changes.iter().for_each(|change| self.history.ended(change));
    }

    /// Changes, or reads a file that stays open. While a delegation of it is held nobody else changes it:
    /// everything that had ended before must be seen, however long ago the file was opened.
    async fn delegated(&mut self) {
        if self.place.random.one_in(5) {
            let index = self.place.random.below(FILES);
            return self.change(index).await;
        }
        let mut since = self.history.now();
        let open = match self.open.take() {
            Some(open) if open.object.remembered().is_some_and(|known| known.delegated) => {
                self.met.reads_by_delegation += 1;
                open
            }
            other => {
                if let Some(open) = other {
                    open.file.close().await.unwrap();
                }
                let index = self.place.random.below(FILES);
                since = self.history.now();
                self.open(index, READ).await
            }
        };
        let cells = rows::some_cells(&mut self.place.random);
        self.read(&open.file, open.index, cells, since).await;
        match self.place.random.one_in(8) {
            true => open.file.close().await.unwrap(),
            false => self.open = Some(open),
        }
    }

    /// Reads, and looks at the length too.
    async fn read(&self, file: &File, index: usize, cells: Range<usize>, since: u64) {
        self.read_data(file, index, cells, since).await;
        let reader = Reader { client: self.place.number, since, begun: self.history.now() };
        self.check_size(index, file.metadata().await.unwrap().size, reader);
    }

    /// The length of a file is known to who has locked all of it.
    async fn read_locked(&self, file: &File, index: usize, cells: Range<usize>, since: u64) {
        match cells == (0..CELLS) {
            true => self.read(file, index, cells, since).await,
            false => self.read_data(file, index, cells, since).await,
        }
    }

    async fn read_data(&self, file: &File, index: usize, cells: Range<usize>, since: u64) {
        let reader = Reader { client: self.place.number, since, begun: self.history.now() };
        let bytes = bytes_of(&cells);
        let data = file.read_at(bytes.start, (bytes.end - bytes.start) as usize).await.unwrap();
        for (place, cell) in cells.enumerate() {
            let bytes = data.get(place * CELL_BYTES..place * CELL_BYTES + 8);
            let value = bytes.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
            if let Err(complaint) = self.history.check(index, cell, value, reader) {
                panic!("{complaint}");
            }
        }
    }

    fn check_size(&self, index: usize, size: u64, reader: Reader) {
        assert_eq!(size % CELL_BYTES as u64, 0);
        for cell in 0..CELLS {
            let present = ((cell * CELL_BYTES) as u64) < size;
            if let Err(complaint) =
                self.history.check(rows::presence(index), cell, u64::from(present), reader)
            {
                panic!("of {size} bytes, {complaint}");
            }
        }
    }

    async fn write(&self, file: &File, index: usize, cells: Range<usize>) -> Change {
        let change = self.history.begin(self.place.number, rows::written(index, &cells));
        let word = change.number.to_be_bytes();
        let data: Bytes = word.repeat(cells.len() * CELL_BYTES / word.len()).into();
        file.write_at(bytes_of(&cells).start, data).await.unwrap();
        self.history.taken(&change);
        change
    }

    /// Makes the file shorter, or as long as it may be.
    async fn cut(&mut self, file: &File, index: usize) -> Change {
        let left = self.place.random.below(CELLS + 1);
        let change = self.begin_cut(index, left);
        file.set_len((left * CELL_BYTES) as u64).await.unwrap();
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
