//! The rows of the table.

use std::time::Duration;

use crate::limits::Limit;
use crate::load::Load;
use crate::requests::{Ask, V3, V4};
use crate::target::Target;

pub const KIB_4: u32 = 4 << 10;
pub const KIB_64: u32 = 64 << 10;
pub const MIB: u32 = 1 << 20;

pub struct Row {
    pub name: &'static str,
    pub ask: Ask,
    pub connections: usize,
    pub in_flight: usize,
    /// What the reply to a CREATE promises, where there is one.
    pub durability: Durability,
    pub limits: &'static [Limit],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// As each server has it; nothing that must be stable is asked for.
    Any,
    /// Nothing is on the disk: our export is asynchronous, as the others' are for metadata.
    None,
    /// On the disk before the reply, with ours; the others do not have it, and are as in
    /// [`Durability::None`].
    OursSynced,
}

/// What a run gave.
#[derive(Clone, Copy)]
pub struct Rate {
    /// Requests, or MB of those that carry that much.
    pub per_second: f64,
    /// What a request took of the server's processor, in microseconds, where it can be told.
    pub processor_us: Option<f64>,
}

const fn row(name: &'static str, ask: Ask, load: (usize, usize), limits: &'static [Limit]) -> Row {
    Row { name, ask, connections: load.0, in_flight: load.1, durability: Durability::Any, limits }
}

const fn unstable(bytes: u32) -> Ask {
    Ask::Write { bytes, stable: false }
}

const MANY: (usize, usize) = (5, 16);
const ONE: (usize, usize) = (1, 1);
const STREAM: (usize, usize) = (1, 8);
const STREAMS_OUT: &[Limit] = &[Limit::MemoryStream, Limit::MemoryStreamInPieces, Limit::FileStream];
const STREAMS_IN: &[Limit] = &[Limit::MemoryStream, Limit::MemoryStreamInPieces, Limit::StreamToFile];

const SYNCED_WRITES: &[Limit] = &[Limit::LocalWriteSync, Limit::ReceivedWriteSync];

pub const ROWS: &[Row] = &[
    row("getattr", Ask::GetAttr, MANY, &[Limit::Echo]),
    row("getattr-one", Ask::GetAttr, ONE, &[Limit::Echo]),
    row("lookup", Ask::Lookup, MANY, &[Limit::Echo]),
    row("read4k", Ask::Read { bytes: KIB_4 }, MANY, &[Limit::Echo]),
    row("read4k-one", Ask::Read { bytes: KIB_4 }, ONE, &[Limit::Echo]),
    row("read1m", Ask::Read { bytes: MIB }, STREAM, STREAMS_OUT),
    row("write1m", unstable(MIB), STREAM, STREAMS_IN),
    row("write4k", unstable(KIB_4), MANY, &[Limit::Echo]),
    row("write64k-stable", Ask::Write { bytes: KIB_64, stable: true }, ONE, SYNCED_WRITES),
    Row { durability: Durability::None, ..row("create", Ask::Create, MANY, &[Limit::LocalCreate]) },
    Row {
        durability: Durability::OursSynced,
        ..row("create-durable", Ask::Create, MANY, &[Limit::LocalCreateSync])
    },
];

impl Row {
    /// Measures a server with one version.
    pub fn run(&self, target: &Target, version: usize, round: usize, duration: Duration) -> Rate {
        let load = Load { connections: self.connections, in_flight: self.in_flight };
        let folder = target.folder_for(self, version, round);
        let outcome = if version == 0 {
            let requests = V3::new(target, folder.as_deref(), self.ask);
            load.run(duration, target.process, || requests.clone())
        } else {
            let requests = V4::new(target, folder.as_deref(), self.ask);
            load.run(duration, target.process, || requests.clone())
        };
        let per_second = outcome.per_second() * self.megabytes_each().unwrap_or(1.0);
        Rate { per_second, processor_us: outcome.processor_us() }
    }

    /// Where throughput is what counts.
    pub fn megabytes_each(&self) -> Option<f64> {
        match self.ask {
            Ask::Read { bytes } | Ask::Write { bytes, .. } if bytes >= MIB => Some(f64::from(bytes) / 1e6),
            _ => None,
        }
    }
}
