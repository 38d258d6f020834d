//! The rows of the table.

use std::time::Duration;

use crate::limits::Limit;
use crate::load::Load;
use crate::requests::{Ask, V3, V4};
use crate::target::Target;

pub const KIB_4: u32 = 4 << 10;
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
    /// On the disk before the reply, with ours; the others do not have it, and are as in [`Durability::None`].
    OursSynced,
}

const fn row(name: &'static str, ask: Ask, load: (usize, usize), limits: &'static [Limit]) -> Row {
    Row { name, ask, connections: load.0, in_flight: load.1, durability: Durability::Any, limits }
}

const MANY: (usize, usize) = (5, 16);
const ONE: (usize, usize) = (1, 1);
const STREAM: (usize, usize) = (1, 8);
const STREAMS: &[Limit] = &[Limit::MemoryStream, Limit::FileStream];

pub const ROWS: &[Row] = &[
    row("getattr", Ask::GetAttr, MANY, &[Limit::Echo]),
    row("getattr-one", Ask::GetAttr, ONE, &[Limit::Echo]),
    row("lookup", Ask::Lookup, MANY, &[Limit::Echo]),
    row("read4k", Ask::Read { bytes: KIB_4 }, MANY, &[Limit::Echo]),
    row("read4k-one", Ask::Read { bytes: KIB_4 }, ONE, &[Limit::Echo]),
    row("read1m", Ask::Read { bytes: MIB }, STREAM, STREAMS),
    row("write1m", Ask::Write { bytes: MIB }, STREAM, &[Limit::MemoryStream]),
    row("write4k", Ask::Write { bytes: KIB_4 }, MANY, &[Limit::Echo]),
    Row { durability: Durability::None, ..row("create", Ask::Create, MANY, &[Limit::LocalCreate]) },
    Row {
        durability: Durability::OursSynced,
        ..row("create-durable", Ask::Create, MANY, &[Limit::LocalCreateSync])
    },
];

impl Row {
    /// Requests a second, or MB a second of those that carry that much.
    pub fn run(&self, target: &Target, version: usize, round: usize, duration: Duration) -> f64 {
        let load = Load { connections: self.connections, in_flight: self.in_flight };
        let folder = target.folder_for(self, version, round);
        let outcome = if version == 0 {
            let requests = V3::new(target, folder.as_deref(), self.ask);
            load.run(duration, || requests.clone())
        } else {
            let requests = V4::new(target, folder.as_deref(), self.ask);
            load.run(duration, || requests.clone())
        };
        match self.megabytes_each() {
            Some(megabytes) => outcome.per_second() * megabytes,
            None => outcome.per_second(),
        }
    }

    /// Where throughput is what counts.
    pub fn megabytes_each(&self) -> Option<f64> {
        match self.ask {
            Ask::Read { bytes } | Ask::Write { bytes } if bytes >= MIB => Some(f64::from(bytes) / 1e6),
            _ => None,
        }
    }
}
