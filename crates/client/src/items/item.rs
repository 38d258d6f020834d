//! One item of a batch, and which names it touches. Pure.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Mutex, mpsc};

use super::names::Names;
use super::order::Touch;
use crate::attributes::{Attributes, DirEntry, SetAttributes};
use crate::error::Result;

/// What becomes of what has the name of a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The item fails.
    Refuse,
    /// A file keeps its identity and loses its content first.
    Truncate,
    /// It is removed, unless it is a directory: nobody who has it under another name, or open, sees the new
    /// content.
    Replace,
}

impl Existing {
    /// The treatment of an object that has the name of a link: a link has no content to truncate.
    pub(crate) fn of_links(self) -> Self {
        match self {
            Self::Refuse => Self::Refuse,
            Self::Truncate | Self::Replace => Self::Replace,
        }
    }
}

/// An operation of a batch, its paths below one directory.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// Bytes of a file; how many there are believed to be, at most.
    Read { at: Names, offset: u64, length: u64, expected: u64 },
    /// A whole file.
    Write { at: Names, data: Bytes, existing: Existing, mode: u32, set: SetAttributes },
    /// A part of a file that exists.
    WriteRange { at: Names, offset: u64, data: Bytes },
    /// The attributes of an object itself.
    Attributes { at: Names },
    /// Sets attributes of an object itself.
    SetAttributes { at: Names, set: SetAttributes },
    /// A directory.
    MakeDirectory { at: Names, mode: u32 },
    /// A symbolic link.
    Symlink { at: Names, target: Bytes, existing: Existing },
    /// The target of a symbolic link.
    ReadLink { at: Names },
    /// Removes a name.
    Remove { at: Names, directory: bool },
    /// Gives an object another name.
    Rename { from: Names, to: Names },
    /// Gives a file one more name.
    Link { source: Names, at: Names, existing: Existing },
    /// All entries of a directory.
    List { at: Names },
    /// A whole file to another, at the server where it can.
    Copy { from: Names, to: Names, existing: Existing, mode: u32, set: SetAttributes },
    /// A whole file that arrives in parts.
    Fill { at: Names, existing: Existing, mode: u32, set: SetAttributes, parts: Chunks },
    /// A whole file that is handed on in parts.
    Drain { at: Names, parts: mpsc::Sender<Chunk> },
}

/// A part of a file: where it is, and its data; or why there are no more.
pub(crate) type Chunk = Result<(u64, Bytes)>;
/// The parts of a file, in any order, with gaps where there are only zeros.
pub(crate) type Chunks = Arc<Mutex<mpsc::Receiver<Chunk>>>;

/// What an item of a batch has brought.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// It is done.
    Done,
    /// The bytes of a file, or the target of a symbolic link.
    Data(Bytes),
    /// The attributes of an object.
    Attributes(Attributes),
    /// The entries of a directory.
    Entries(Vec<DirEntry>),
}

impl Output {
    /// The bytes, if it brought any.
    pub fn into_data(self) -> Option<Bytes> {
        match self {
            Self::Data(data) => Some(data),
            _ => None,
        }
    }

    /// The attributes, if it brought them.
    pub fn into_attributes(self) -> Option<Attributes> {
        match self {
            Self::Attributes(attributes) => Some(attributes),
            _ => None,
        }
    }

    /// The entries, if it brought a list.
    pub fn into_entries(self) -> Option<Vec<DirEntry>> {
        match self {
            Self::Entries(entries) => Some(entries),
            _ => None,
        }
    }
}

impl Item {
    /// The names that it touches, for the order of items.
    pub(crate) fn touches(&self) -> Vec<(Names, Touch)> {
        use Touch::{Change, Look, Use};
        match self {
            Self::Read { at, .. } | Self::ReadLink { at } | Self::Drain { at, .. } => vec![(at.clone(), Use)],
            // The attributes of a directory change with its entries.
            Self::Attributes { at } | Self::List { at } => vec![(at.clone(), Look)],
            Self::Write { at, .. }
            | Self::WriteRange { at, .. }
            | Self::SetAttributes { at, .. }
            | Self::MakeDirectory { at, .. }
            | Self::Symlink { at, .. }
            | Self::Fill { at, .. }
            | Self::Remove { at, .. } => vec![(at.clone(), Change)],
            Self::Rename { from, to } => vec![(from.clone(), Change), (to.clone(), Change)],
            Self::Link { source, at, .. } => vec![(source.clone(), Change), (at.clone(), Change)],
            Self::Copy { from, to, .. } => vec![(from.clone(), Use), (to.clone(), Change)],
        }
    }

    /// True when it changes something.
    pub(crate) fn modifies(&self) -> bool {
        !matches!(
            self,
            Self::Read { .. }
                | Self::ReadLink { .. }
                | Self::Attributes { .. }
                | Self::List { .. }
                | Self::Drain { .. }
        )
    }

    /// Whether data go with it to the server.
    pub(crate) fn sends_data(&self) -> bool {
        match self {
            Self::Write { data, .. } | Self::WriteRange { data, .. } => !data.is_empty(),
            _ => false,
        }
    }

    /// Whether data, names of a directory or the target of a link come back.
    pub(crate) fn is_answered_at_length(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::List { .. } | Self::ReadLink { .. })
    }

    /// Memory that it may hold, as data to be sent or received, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Read { expected, .. } => usize::try_from(*expected).unwrap_or(usize::MAX),
            Self::Write { data, .. } | Self::WriteRange { data, .. } => data.len(),
            Self::List { .. } => 32 << 10,
            _ => 0,
        }
    }
}
