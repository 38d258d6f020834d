//! Reading a tree from the server and handing its parts on.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};

use super::arrival::{Arrival, Meta};
use super::flow::Flow;
use super::lineage::Lineage;
use super::{PARTS_MAX, SMALL_BYTES_MAX, TreeOptions, TreeReport};
use crate::attributes::{Attributes, FileType};
use crate::error::{Error, Result};
use crate::items::{Ground, Item, Names, Output};

/// Objects that wait to be asked for; while there are more, no further directory is listed.
const BACKLOG_MAX: usize = 16_384;
/// Parts of a tree that wait to be taken; while there are more, nothing is asked for.
const OUTBOX_MAX: usize = 256;
/// Large files under way at once.
const LARGE_MAX: usize = 4;
/// Files with several names whose first name is remembered.
const LINKED_MAX: usize = 1 << 20;

enum Then {
    Listed(Names, Lineage),
    Read(Names, Attributes),
    Led(Names, Meta),
    /// A large file went to its end.
    Drained(Names),
}

/// A tree that is being read.
struct Departure {
    ground: Arc<Ground>,
    flow: Flow<Then>,
    unlisted: Vec<(Names, Lineage)>,
    backlog: VecDeque<(Names, Attributes)>,
    outbox: VecDeque<Arrival>,
    large: usize,
    /// The first name of files that have several.
    linked: HashMap<(u64, u64), Names>,
    /// Further names, which come last: by then the files are there.
    links: Vec<(Names, Names)>,
}

/// Reads the tree on `ground`, which is at `path`, until the receiver is dropped.
pub(super) async fn depart(
    (ground, path): (Arc<Ground>, Names),
    to: mpsc::Sender<Arrival>,
    options: &TreeOptions,
) -> TreeReport {
    // What is read is told when it is written.
    let quiet = TreeOptions { progress: None, ..options.clone() };
    let mut departure = Departure {
        unlisted: vec![(Names::default(), Lineage::root(&ground, &path))],
        flow: Flow::new(Arc::clone(&ground), &quiet),
        ground,
        backlog: VecDeque::new(),
        outbox: VecDeque::new(),
        large: 0,
        linked: HashMap::new(),
        links: Vec::new(),
    };
    loop {
        departure.ask();
        if departure.flow.is_idle() && departure.outbox.is_empty() {
            match departure.links.pop() {
                Some((source, at)) => departure.outbox.push_back(Arrival::Link { source, at }),
                None => break,
            }
        }
        // Both at once: who takes the parts of a large file may have to wait for what is read here.
        tokio::select! {
            room = to.reserve(), if !departure.outbox.is_empty() => {
                let Ok(room) = room else { break };
                if let Some(arrival) = departure.outbox.pop_front() {
                    room.send(arrival);
                }
            }
            Some((then, result)) = departure.flow.next(), if !departure.flow.is_idle() => {
                departure.settle(then, result);
            }
        }
    }
    departure.flow.report()
}

impl Departure {
    fn ask(&mut self) {
        while self.flow.has_room() && !self.flow.has_stopped() && self.outbox.len() < OUTBOX_MAX {
            if let Some((at, known)) = self.backlog.pop_front() {
                if !self.ask_for(at, known) {
                    return;
                }
            } else if let Some((at, lineage)) = self.unlisted.pop() {
                self.flow.push(Item::List { at: at.clone() }, Then::Listed(at, lineage));
            } else {
                return;
            }
            if self.backlog.len() > BACKLOG_MAX {
                continue;
            }
            if let Some((at, lineage)) = self.unlisted.pop() {
                self.flow.push(Item::List { at: at.clone() }, Then::Listed(at, lineage));
            }
        }
    }

    /// False when it has to wait.
    fn ask_for(&mut self, at: Names, known: Attributes) -> bool {
        let meta = meta(&known);
        match known.kind {
            FileType::Regular if known.size <= SMALL_BYTES_MAX => {
                // One byte more shows that there are no more.
                let expected = known.size + 1;
                let item = Item::Read { at: at.clone(), offset: 0, length: SMALL_BYTES_MAX + 1, expected };
                self.flow.push(item, Then::Read(at, known));
            }
            FileType::Regular if self.large >= LARGE_MAX => {
                self.backlog.push_back((at, known));
                return false;
            }
            FileType::Regular => {
                let (sender, parts) = mpsc::channel(PARTS_MAX);
                let parts = Arc::new(Mutex::new(parts));
                self.large += 1;
                self.outbox.push_back(Arrival::Large { at: at.clone(), size: Some(known.size), parts, meta });
                self.flow.push(Item::Drain { at: at.clone(), parts: sender }, Then::Drained(at));
            }
            FileType::Symlink => self.flow.push(Item::ReadLink { at: at.clone() }, Then::Led(at, meta)),
            _ => self.flow.failed(at.to_path(), Error::Usage("devices, pipes and sockets are not copied")),
        }
        true
    }

    fn settle(&mut self, then: Then, result: Result<Output>) {
        if matches!(then, Then::Drained(_)) {
            self.large -= 1;
        }
        match (then, result) {
            (Then::Listed(at, lineage), Ok(Output::Entries(entries))) if self.flow.takes(entries.len()) => {
                for entry in entries {
                    let at = at.child(&entry.name);
                    match entry.attributes {
                        Some(known) => self.found(at, known, &lineage),
                        None => {
                            self.flow
                                .failed(at.to_path(), Error::Usage("the server does not say what it is"));
                        }
                    }
                }
            }
            // It was listed as a smaller one.
            (Then::Read(at, known), Ok(Output::Data(data))) if data.len() as u64 > SMALL_BYTES_MAX => {
                self.backlog.push_back((at, Attributes { size: data.len() as u64, ..known }));
            }
            (Then::Read(at, known), Ok(Output::Data(data))) => {
                self.outbox.push_back(Arrival::File { at, data, meta: meta(&known) });
            }
            (Then::Led(at, meta), Ok(Output::Data(target))) => {
                self.outbox.push_back(Arrival::Symlink { at, target, meta });
            }
            (Then::Listed(at, _) | Then::Read(at, _) | Then::Led(at, _) | Then::Drained(at), Err(error)) => {
                self.flow.failed(at.to_path(), error);
            }
            _ => {}
        }
    }

    fn found(&mut self, at: Names, known: Attributes, above: &Lineage) {
        if known.is_directory() {
            let lineage = match above.child(&self.ground, &at) {
                Ok(lineage) => lineage,
                Err(error) => return self.flow.failed(at.to_path(), error),
            };
            self.outbox.push_back(Arrival::Directory { at: at.clone(), meta: meta(&known) });
            self.unlisted.push((at, lineage));
            return;
        }
        if known.links > 1 && self.linked.len() < LINKED_MAX {
            let identity = (known.fsid, known.fileid);
            if let Some(source) = self.linked.get(&identity) {
                self.links.push((source.clone(), at));
                return;
            }
            self.linked.insert(identity, at.clone());
        }
        self.backlog.push_back((at, known));
    }
}

fn meta(of: &Attributes) -> Meta {
    Meta { mode: of.mode, uid: of.uid, gid: of.gid, accessed: Some(of.accessed), modified: of.modified }
}
