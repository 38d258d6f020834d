//! The programs on the clients: each works through a plan of its own, and reports every change and every read.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use client::{Client, Error, File, LockKind, Version};

use crate::fixture::{Fixture, READ, WRITE};
use crate::history::{CELLS, Change, History, Reader};
use crate::random::Random;

const FILES: usize = 3;
const CELL_BYTES: usize = 64;
const PROGRAMS_PER_CLIENT: usize = 2;
const STEPS: usize = 50;

/// What a client speaks.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub version: Version,
    pub delegations: bool,
}

/// What the programs rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    CloseToOpen,
    Locks,
}

#[derive(Debug, Clone, Copy)]
pub struct Scene {
    pub mode: Mode,
    pub clients: &'static [Kind],
    pub seed: u64,
}

/// Lets all programs run to their end; then all clients must agree with what the server has. Returns how many delegations
/// were recalled.
pub async fn run(scene: Scene) -> u64 {
    // Delegations come back as soon as they are recalled, so that there are many.
    let fixture = Fixture::with(|options| options.limits.recall_pause_ms = 0).await;
    for index in 0..FILES {
        std::fs::write(fixture.path(&index.to_string()), []).unwrap();
    }
    let history = Arc::new(History::new(FILES));
    let mut clients = Vec::new();
    let mut programs = Vec::new();
    for (number, kind) in scene.clients.iter().enumerate() {
        let client =
            fixture.client_with(kind.version, |options| options.delegations = kind.delegations).await;
        for program in 0..PROGRAMS_PER_CLIENT {
            let seed = (scene.seed * 100 + number as u64) * 100 + program as u64;
            let program = Program {
                client: client.clone(),
                number,
                history: Arc::clone(&history),
                random: Random::new(seed),
                open: None,
            };
            programs.push(tokio::spawn(program.run(scene.mode)));
        }
        clients.push(client);
    }
    for program in programs {
        if let Err(error) = program.await {
            panic!("{scene:?}: {error}");
        }
    }
    for index in 0..FILES {
        let content = std::fs::read(fixture.path(&index.to_string())).unwrap();
        for client in &clients {
            let file = client.open(index.to_string(), READ).await.unwrap();
            assert_eq!(file.read_at(0, CELLS * CELL_BYTES + 1).await.unwrap()[..], content[..], "{scene:?}");
            file.close().await.unwrap();
        }
    }
    let mut recalls = 0;
    for client in clients {
        client.shutdown().await.unwrap();
        recalls += client.tap().snapshot().callbacks.get("CB_RECALL").copied().unwrap_or(0);
    }
    recalls
}

struct Program {
    client: Client,
    number: usize,
    history: Arc<History>,
    random: Random,
    /// A file that is kept open from one lock to the next, and whether for writing.
    open: Option<(usize, bool, File)>,
}

impl Program {
    async fn run(mut self, mode: Mode) {
        for _ in 0..STEPS {
            match mode {
                Mode::CloseToOpen => self.session().await,
                Mode::Locks => self.locked().await,
            }
            if self.random.one_in(8) {
                tokio::time::sleep(Duration::from_millis(self.random.below(4) as u64)).await;
            }
        }
        if let Some((.., file)) = self.open.take() {
            file.close().await.unwrap();
        }
    }

    /// Opens, reads or changes, closes.
    async fn session(&mut self) {
        let index = self.random.below(FILES);
        let since = self.history.now();
        if self.random.below(3) > 0 {
            let file = self.client.open(index.to_string(), READ).await.unwrap();
            for _ in 0..=self.random.below(2) {
                let cells = self.cells();
                self.read(&file, index, cells, since).await;
            }
            return file.close().await.unwrap();
        }
        let mut changes = Vec::new();
        let options = match self.random.one_in(6) {
            true => {
                changes.push(self.history.begin(self.number, index, 0..CELLS, true));
                WRITE.truncate(true)
            }
            false => WRITE,
        };
        let file = self.client.open(index.to_string(), options).await.unwrap();
        changes.iter().for_each(|change| self.history.taken(change));
        for _ in 0..=self.random.below(3) {
            match self.random.below(8) {
                0 => changes.push(self.cut(&file, index).await),
                1 => {
                    let cells = self.cells();
                    self.read(&file, index, cells, since).await;
                }
                2 => file.sync_all().await.unwrap(),
                _ => {
                    let cells = self.cells();
                    changes.push(self.write(&file, index, cells).await);
                }
            }
        }
        file.close().await.unwrap();
        changes.iter().for_each(|change| self.history.ended(change));
    }

    /// Locks, reads or changes, unlocks; and often goes on with the same open file the next time.
    async fn locked(&mut self) {
        let (index, writable, file) = match self.open.take() {
            Some(open) => open,
            None => {
                let index = self.random.below(FILES);
                let options = if self.random.one_in(2) { WRITE } else { READ };
                (index, options == WRITE, self.client.open(index.to_string(), options).await.unwrap())
            }
        };
        let cells = if self.random.one_in(2) { 0..CELLS } else { self.cells() };
        let kind = if writable && self.random.one_in(2) { LockKind::Exclusive } else { LockKind::Shared };
        let bytes = bytes_of(&cells);
        let granted = match self.random.one_in(3) {
            true => file.try_lock(bytes.clone(), kind).await,
            false => file.lock(bytes.clone(), kind).await,
        };
        match granted {
            Ok(()) => {
                self.under_lock(&file, index, cells, kind).await;
                file.unlock(bytes).await.unwrap();
            }
            Err(Error::Locked) => {}
            Err(error) => panic!("{error}"),
        }
        match self.random.one_in(3) {
            true => file.close().await.unwrap(),
            false => self.open = Some((index, writable, file)),
        }
    }

    async fn under_lock(&mut self, file: &File, index: usize, cells: Range<usize>, kind: LockKind) {
        let since = self.history.now();
        let mut changes = Vec::new();
        self.read(file, index, cells.clone(), since).await;
        if kind == LockKind::Exclusive {
            if cells == (0..CELLS) && self.random.one_in(5) {
                changes.push(self.cut(file, index).await);
            }
            changes.push(self.write(file, index, cells.clone()).await);
            self.read(file, index, cells, since).await;
        }
        // Who gets the lock next must see it: that is later than this moment.
        changes.iter().for_each(|change| self.history.ended(change));
    }

    async fn read(&self, file: &File, index: usize, cells: Range<usize>, since: u64) {
        let begun = self.history.now();
        let bytes = bytes_of(&cells);
        let data = file.read_at(bytes.start, (bytes.end - bytes.start) as usize).await.unwrap();
        for (place, cell) in cells.enumerate() {
            let bytes = data.get(place * CELL_BYTES..place * CELL_BYTES + 8);
            let value = bytes.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
            let reader = Reader { client: self.number, since, begun };
            if let Err(complaint) = self.history.check(index, cell, value, reader) {
                panic!("{complaint}");
            }
        }
    }

    async fn write(&self, file: &File, index: usize, cells: Range<usize>) -> Change {
        let change = self.history.begin(self.number, index, cells.clone(), false);
        let word = change.begun.to_be_bytes();
        let data: Bytes = word.repeat(cells.len() * CELL_BYTES / word.len()).into();
        file.write_at(bytes_of(&cells).start, data).await.unwrap();
        self.history.taken(&change);
        change
    }

    /// Makes the file shorter, or as long as it may be.
    async fn cut(&mut self, file: &File, index: usize) -> Change {
        let left = self.random.below(CELLS + 1);
        let change = self.history.begin(self.number, index, left..CELLS, true);
        file.set_len((left * CELL_BYTES) as u64).await.unwrap();
        self.history.taken(&change);
        change
    }

    fn cells(&mut self) -> Range<usize> {
        let start = self.random.below(CELLS);
        start..start + 1 + self.random.below(CELLS - start)
    }
}

fn bytes_of(cells: &Range<usize>) -> Range<u64> {
    (cells.start * CELL_BYTES) as u64..(cells.end * CELL_BYTES) as u64
}
