//! Which operation was seen to end how.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use parking_lot::Mutex;
use proto::nfs4::{CompoundBuilder, Operation, Status};
use xdr::{Encode, Encoder};

use super::table::table;
use crate::peer::{Peer, Results};

/// An operation with its arguments.
#[derive(Clone)]
pub struct Step {
    pub operation: Operation,
    pub arguments: Vec<u8>,
}

/// An operation with these arguments.
pub fn step(operation: Operation, arguments: &impl Encode) -> Step {
    let mut to = Encoder::new();
    to.put(arguments);
    Step { operation, arguments: to.into_inner() }
}

/// Bytes as they are.
pub struct Raw<'a>(pub &'a [u8]);

impl Encode for Raw<'_> {
    fn encode(&self, to: &mut Encoder) {
        to.buffer_mut().extend_from_slice(self.0);
    }
}

/// Failures by operation and status, each with the COMPOUND that it was first seen in.
pub struct Ledger {
    seen: Mutex<BTreeMap<(Operation, u32), String>>,
    /// In which it is seen.
    pub minor_version: u32,
}

impl Ledger {
    /// Empty.
    pub fn new(minor_version: u32) -> Self {
        Self { seen: Mutex::default(), minor_version }
    }

    /// The operations of the table that the minor version has.
    pub fn operations(&self) -> Vec<Operation> {
        let all = table().into_keys();
        all.filter(|operation| operation.since_minor_version() <= self.minor_version).collect()
    }

    /// Notes how a COMPOUND of these operations ended.
    pub fn note(&self, operations: &[Operation], results: &Results) {
        if results.status == Status::Ok || results.count == 0 {
            return;
        }
        let last = operations[results.count as usize - 1];
        let names = || operations.iter().map(|o| o.name()).collect::<Vec<_>>().join(" ");
        self.seen.lock().entry((last, results.status.code())).or_insert_with(names);
    }

    /// Runs a COMPOUND in the peer's session.
    pub fn run(&self, peer: &mut Peer, steps: &[Step]) -> Results {
        self.try_run(peer, steps).expect("nothing has to wait")
    }

    /// As [`Ledger::run`]; nothing for a request that does not end by itself.
    pub fn try_run(&self, peer: &mut Peer, steps: &[Step]) -> Option<Results> {
        let build = |c: &mut CompoundBuilder<'_>| {
            for step in steps {
                c.push(step.operation, &Raw(&step.arguments));
            }
        };
        let results =
            if peer.server.waits { peer.compound(build) } else { peer.begin(build).now_or_never()? };
        let operations: Vec<_> =
            std::iter::once(Operation::Sequence).chain(steps.iter().map(|step| step.operation)).collect();
        self.note(&operations, &results);
        Some(results)
    }

    /// Runs a COMPOUND as it is, without SEQUENCE before it.
    pub fn bare(&self, peer: &Peer, steps: &[Step]) -> Results {
        self.tagged(peer, b"", steps)
    }

    /// As [`Ledger::bare`], with a tag, which comes back in the reply.
    pub fn tagged(&self, peer: &Peer, tag: &[u8], steps: &[Step]) -> Results {
        let mut to = Encoder::new();
        to.opaque(tag);
        to.u32(peer.minor_version);
        to.u32(u32::try_from(steps.len()).unwrap());
        for step in steps {
            to.u32(step.operation.number());
            to.put(&Raw(&step.arguments));
        }
        let results = peer.raw(to.into_inner());
        let operations: Vec<_> = steps.iter().map(|step| step.operation).collect();
        self.note(&operations, &results);
        results
    }

    /// What was seen.
    pub fn seen(&self) -> BTreeMap<(Operation, u32), String> {
        self.seen.lock().clone()
    }
}
