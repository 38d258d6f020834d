//! Prepared requests, written from the standards with nothing but an XDR encoder.

mod crowd;
mod nfs3;
mod nfs4;
mod session;
mod timed;
mod wire;

use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

pub use crowd::Crowd;
pub use nfs3::V3;
pub use nfs4::V4;
pub use timed::{Timed, Times};
pub use wire::{UNPACED, connect, word};

use crate::target::Target;

/// What is asked for again and again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    GetAttr,
    /// A name, its handle and attributes.
    Lookup,
    /// At places that follow one another.
    Read {
        bytes: u32,
    },
    /// As with `Read`; `stable` asks for the disk before the reply.
    Write {
        bytes: u32,
        stable: bool,
    },
    /// A new empty file; over NFSv4.1 OPEN and CLOSE in one COMPOUND.
    Create,
}

impl Ask {
    fn reply_bytes_min(self) -> usize {
        if let Self::Read { bytes } = self { bytes as usize } else { 0 }
    }
}

/// What a prepared connection offers the load loop.
pub trait Requests: Send {
    /// What it is connected with, for people.
    fn server(&self) -> &'static str;
    fn connect(&mut self) -> TcpStream;
    /// How many requests may be in flight on the connection.
    fn lanes_max(&self) -> usize {
        1 << LANE_BITS
    }
    /// Appends one request that answers the use of `lane` (0 … in flight − 1).
    fn append(&mut self, lane: usize, to: &mut Vec<u8>);
    /// The lane that a reply, given by its first bytes after the record mark, belongs to; checks its status.
    fn lane_of(&self, reply_start: &[u8]) -> usize;
    /// A reply that is shorter has not the data that were asked for.
    fn reply_bytes_min(&self) -> usize {
        0
    }
    /// Nothing is under way any more.
    fn finish(&mut self, _stream: TcpStream) {}
}

impl Requests for Box<dyn Requests> {
    fn server(&self) -> &'static str {
        (**self).server()
    }
    fn connect(&mut self) -> TcpStream {
        (**self).connect()
    }
    fn lanes_max(&self) -> usize {
        (**self).lanes_max()
    }
    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        (**self).append(lane, to);
    }
    fn lane_of(&self, reply_start: &[u8]) -> usize {
        (**self).lane_of(reply_start)
    }
    fn reply_bytes_min(&self) -> usize {
        (**self).reply_bytes_min()
    }
    fn finish(&mut self, stream: TcpStream) {
        (**self).finish(stream);
    }
}

/// What asks a server over NFSv3, version 0, or NFSv4.1, version 1; for new files in a folder of the export.
pub fn requests(target: &Target, version: usize, folder: Option<&str>, ask: Ask) -> Box<dyn Requests> {
    match version {
        0 => Box::new(V3::new(target, folder, ask)),
        _ => Box::new(V4::new(target, folder, ask)),
    }
}

/// A request, and where in it stands what is another in each. Places count from its record mark.
#[derive(Clone)]
struct Prepared {
    bytes: Vec<u8>,
    /// The offset of a READ or WRITE, and how much of the file each of them takes.
    offset: Option<(usize, u32)>,
    /// The name of a new file, of [`NAME_BYTES`].
    name_at: Option<usize>,
    next_offset: u64,
    next_number: u32,
}

/// Of a transaction id, the lowest: which lane it is of. What is above differs from request to request: one
/// with an id that the server has seen is a retry to it, which it answers without carrying it out.
const LANE_BITS: u32 = 10;

/// The lane of a reply that begins so.
fn lane_of(reply: &[u8]) -> usize {
    (word(reply, 0) & ((1 << LANE_BITS) - 1)) as usize
}

/// Of a new file's name: digits.
const NAME_BYTES: usize = 16;
static NEXT_FILE: AtomicU64 = AtomicU64::new(0);

impl Prepared {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, offset: None, name_at: None, next_offset: 0, next_number: 0 }
    }

    /// Appends the next request; returns where it begins.
    fn append(&mut self, lane: usize, to: &mut Vec<u8>) -> usize {
        let start = to.len();
        to.extend_from_slice(&self.bytes);
        let transaction = self.next_number << LANE_BITS | lane as u32;
        self.next_number = self.next_number.wrapping_add(1);
        to[start + 4..start + 8].copy_from_slice(&transaction.to_be_bytes());
        if let Some((at, bytes)) = self.offset {
            to[start + at..][..8].copy_from_slice(&self.next_offset.to_be_bytes());
            self.next_offset = (self.next_offset + u64::from(bytes)) % u64::from(crate::target::FILE_BYTES);
        }
        if let Some(at) = self.name_at {
            let number = NEXT_FILE.fetch_add(1, Ordering::Relaxed);
            to[start + at..][..NAME_BYTES].copy_from_slice(format!("{number:016}").as_bytes());
        }
        start
    }
}
