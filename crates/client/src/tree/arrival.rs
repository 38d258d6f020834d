//! Writing a tree to the server as its parts arrive, from a local directory or an archive.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::flow::Flow;
use super::{TreeOptions, TreeReport};
use crate::attributes::{SetAttributes, SetTime, Time};
use crate::error::{Error, Result};
use crate::items::{Chunks, Ground, Item, Names, Output};

/// Arrivals that wait to be taken.
pub(super) const ARRIVALS_MAX: usize = 256;

/// What the source says of an object besides its content.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meta {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) accessed: Option<Time>,
    pub(super) modified: Time,
}

/// A part of a tree.
#[derive(Debug)]
pub(super) enum Arrival {
    Directory {
        at: Names,
        meta: Meta,
    },
    File {
        at: Names,
        data: Bytes,
        meta: Meta,
    },
    Large {
        at: Names,
        /// The final length; `None` when it is unknown, and the parts have no gaps.
        size: Option<u64>,
        parts: Chunks,
        meta: Meta,
    },
    Symlink {
        at: Names,
        target: Bytes,
        meta: Meta,
    },
    Link {
        source: Names,
        at: Names,
    },
    /// The source could not give it.
    Failed {
        path: Bytes,
        error: Error,
    },
}

/// Directories that are remembered to be there.
const PARENTS_MAX: usize = 131_072;

/// What an item's result is awaited with.
enum Then {
    /// A directory that the source did not name.
    Implied {
        at: Names,
    },
    Made {
        at: Names,
        meta: Meta,
    },
    Linked {
        at: Names,
        meta: Meta,
    },
    Told {
        at: Names,
        bytes: u64,
    },
    Dressed {
        at: Names,
    },
}

/// Takes what arrives until the source ends.
pub(super) async fn receive(
    ground: Arc<Ground>,
    mut arrivals: mpsc::Receiver<Arrival>,
    options: &TreeOptions,
) -> Result<TreeReport> {
    ground.shared.check_writable()?;
    let mut flow = Flow::new(ground, options);
    // They get modes and times when nothing is added to them any more, the innermost first.
    let mut directories: Vec<(Names, Meta)> = Vec::new();
    let mut there = HashSet::new();
    let mut open = true;
    loop {
        open &= !flow.has_stopped();
        if !open && flow.is_idle() {
            break;
        }
        if open && flow.has_room() {
            let arrived = match arrivals.try_recv() {
                Ok(arrival) => Some(arrival),
                Err(mpsc::error::TryRecvError::Disconnected) => {
                    open = false;
                    continue;
                }
                Err(mpsc::error::TryRecvError::Empty) => None,
            };
            if let Some(arrival) = arrived {
                take(&mut flow, &mut there, arrival);
                continue;
            }
        }
        let done = tokio::select! {
            biased;
            arrival = arrivals.recv(), if open && flow.has_room() => {
                match arrival {
                    Some(arrival) => take(&mut flow, &mut there, arrival),
                    None => open = false,
                }
                continue;
            }
            done = flow.next(), if !flow.is_idle() => done,
        };
        if let Some((then, result)) = done {
            settle(&mut flow, then, result, &mut directories);
        }
    }
    drop(arrivals);
    dress_directories(&mut flow, directories).await;
    Ok(flow.report())
}

impl Arrival {
    /// `None` for what is not made.
    fn at(&self) -> Option<&Names> {
        match self {
            Self::Directory { at, .. }
            | Self::File { at, .. }
            | Self::Large { at, .. }
            | Self::Symlink { at, .. }
            | Self::Link { at, .. } => Some(at),
            Self::Failed { .. } => None,
        }
    }
}

/// Archives need not name the directories of what they hold.
fn make_parents(flow: &mut Flow<Then>, there: &mut HashSet<Names>, at: &Names) {
    if there.len() >= PARENTS_MAX {
        there.clear();
    }
    let mut missing = Vec::new();
    let mut above = at.split_last();
    while let Some((dir, _)) = above {
        if dir.is_empty() || there.contains(&dir) {
            break;
        }
        above = dir.split_last();
        missing.push(dir);
    }
    for at in missing.into_iter().rev() {
        there.insert(at.clone());
        let mode = 0o777 & !flow.options().umask | 0o700;
        flow.push(Item::MakeDirectory { at: at.clone(), mode }, Then::Implied { at });
    }
}

fn take(flow: &mut Flow<Then>, there: &mut HashSet<Names>, arrival: Arrival) {
    if let Some(at) = arrival.at() {
        make_parents(flow, there, at);
    }
    let existing = flow.options().existing;
    let existing_link = existing.of_links();
    match arrival {
        // Its own mode may not let us make anything in it.
        Arrival::Directory { at, meta } => {
            let mode = mode(flow.options(), &meta) | 0o700;
            there.insert(at.clone());
            flow.push(Item::MakeDirectory { at: at.clone(), mode }, Then::Made { at, meta });
        }
        Arrival::File { at, data, meta } => {
            let (set, mode) = (dress(flow.options(), &meta, false), mode(flow.options(), &meta));
            let bytes = data.len() as u64;
            let item = Item::Write { at: at.clone(), data, existing, mode, set };
            flow.push(item, Then::Told { at, bytes });
        }
        Arrival::Large { at, size, parts, meta } => {
            let (set, mode) = (dress(flow.options(), &meta, false), mode(flow.options(), &meta));
            let set = SetAttributes { size, ..set };
            let item = Item::Fill { at: at.clone(), existing, mode, set, parts };
            flow.push(item, Then::Told { at, bytes: size.unwrap_or(0) });
        }
        Arrival::Symlink { at, target, meta } => {
            flow.push(
                Item::Symlink { at: at.clone(), target, existing: existing_link },
                Then::Linked { at, meta },
            );
        }
        Arrival::Link { source, at } => {
            flow.push(
                Item::Link { source, at: at.clone(), existing: existing_link },
                Then::Told { at, bytes: 0 },
            );
        }
        Arrival::Failed { path, error } => flow.failed(path, error),
    }
}

fn settle(flow: &mut Flow<Then>, then: Then, result: Result<Output>, directories: &mut Vec<(Names, Meta)>) {
    match (then, result) {
        (Then::Made { at, meta }, Ok(_)) => {
            directories.push((at, meta));
            flow.done(0);
        }
        // It is kept, and filled.
        (Then::Made { at, meta }, Err(error)) if error.kind() == ErrorKind::AlreadyExists => {
            directories.push((at, meta));
            flow.done(0);
        }
        (Then::Linked { at, meta }, Ok(_)) => {
            // A link has no mode of its own.
            let set = SetAttributes { mode: None, ..dress(flow.options(), &meta, false) };
            if set != SetAttributes::default() {
                flow.push(Item::SetAttributes { at: at.clone(), set }, Then::Dressed { at });
            }
            flow.done(0);
        }
        (Then::Implied { .. }, Err(error)) if error.kind() == ErrorKind::AlreadyExists => {}
        (Then::Told { at, bytes }, result) => flow.ended(&at, bytes, result),
        (Then::Dressed { .. } | Then::Implied { .. }, Ok(_)) => {}
        (
            Then::Made { at, .. } | Then::Linked { at, .. } | Then::Dressed { at } | Then::Implied { at },
            Err(error),
        ) => flow.failed(at.to_path(), error),
    }
}

async fn dress_directories(flow: &mut Flow<Then>, mut directories: Vec<(Names, Meta)>) {
    // What is below has the longer path.
    directories.sort_unstable_by(|a, b| b.0.cmp(&a.0));
    let mut none = Vec::new();
    for (at, meta) in directories {
        let set = dress(flow.options(), &meta, true);
        if flow.has_stopped() || set == SetAttributes::default() {
            continue;
        }
        flow.push(Item::SetAttributes { at: at.clone(), set }, Then::Dressed { at });
        while !flow.has_room()
            && let Some((then, result)) = flow.next().await
        {
            settle(flow, then, result, &mut none);
        }
    }
    while let Some((then, result)) = flow.next().await {
        settle(flow, then, result, &mut none);
    }
}

/// The permission bits that an object is made with.
pub(super) fn mode(options: &TreeOptions, meta: &Meta) -> u32 {
    if options.modes { meta.mode & 0o7777 } else { meta.mode & 0o777 & !options.umask }
}

/// What is set once the content is there.
pub(super) fn dress(options: &TreeOptions, meta: &Meta, directory: bool) -> SetAttributes {
    // Writing, and a change of the owner, take the set-id bits away; a directory was made open to us.
    let mode = mode(options, meta);
    let again = mode & 0o6000 != 0 || directory && mode & 0o700 != 0o700;
    SetAttributes {
        mode: again.then_some(mode),
        uid: options.owners.then_some(meta.uid),
        gid: options.owners.then_some(meta.gid),
        size: None,
        accessed: meta.accessed.filter(|_| options.times).map(SetTime::To),
        modified: options.times.then_some(SetTime::To(meta.modified)),
    }
}
