//! NLM version 4 (X/Open C702, RFC 1813 appendix II): byte-range locks and share reservations of NFSv3 clients.
//!
//! Which locks exist is the [`LockTable`]'s to know. A lock that conflicts is denied and never waited for: the server
//! does not call clients back, so it may not answer NLM4_BLOCKED. The one-way messages are not offered for the same reason:
//! their results are calls to the client.

mod cancel;
mod context;
mod free_all;
mod lock;
mod lock_table;
mod share;
mod state_table;
mod test;
mod unlock;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use proto::nlm4::Procedure;
use rpc::{Call, Disposition, Refusal};
use vfs::FileSystem;
use xdr::Encoder;

use crate::exports::Exports;
use crate::metrics::{Counting, Metrics, OperationIndex, results};
use context::Context;
pub use lock_table::{ByteRange, FileKey, Held, LockDenied, LockTable, Owner, Shares};

/// The program.
#[derive(Debug)]
pub struct Nlm4<F, L> {
    exports: Arc<Exports<F>>,
    locks: L,
    metrics: Option<Arc<Metrics>>,
}

impl<F: FileSystem, L: LockTable> Nlm4<F, L> {
    /// Locks files of `exports` in `locks`.
    pub fn new(exports: Arc<Exports<F>>, locks: L) -> Self {
        Self { exports, locks, metrics: None }
    }

    /// Counts what is done.
    pub(crate) fn set_metrics(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Answers one call.
    ///
    /// # Errors
    /// For a procedure that is unknown or not offered, arguments that do not decode, and credentials that no
    /// export accepts.
    pub async fn call(&self, call: &Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let procedure = Procedure::from_number(call.header.procedure).ok_or(Refusal::ProcedureUnavailable)?;
        // NULL needs no authentication (RFC 1813 §6.1.1).
        let exports = self.exports.load();
        if procedure != Procedure::Null {
            exports.check_flavor(&call.header.credential)?;
        }
        let context = Context::new(&exports, &self.locks, call);
        let (counting, start) = (Counting::begin(self.metrics.as_ref()), reply.len());
        match procedure {
            Procedure::Null => {}
            Procedure::Test => reply.put(&test::run(&context, context.arguments()?).await),
            // NM_LOCK only differs in that the server need not watch for the client's restart.
            Procedure::Lock | Procedure::NmLock => {
                reply.put(&lock::run(&context, context.arguments()?).await);
            }
            Procedure::Cancel => reply.put(&cancel::run(&context, context.arguments()?).await),
            Procedure::Unlock => reply.put(&unlock::run(&context, context.arguments()?).await),
            Procedure::Share => reply.put(&share::take(&context, context.arguments()?).await),
            Procedure::Unshare => reply.put(&share::give_back(&context, context.arguments()?).await),
            Procedure::FreeAll => free_all::run(&context, &context.arguments()?),
            Procedure::Granted
            | Procedure::TestMsg
            | Procedure::LockMsg
            | Procedure::CancelMsg
            | Procedure::UnlockMsg
            | Procedure::GrantedMsg
            | Procedure::TestRes
            | Procedure::LockRes
            | Procedure::CancelRes
            | Procedure::UnlockRes
            | Procedure::GrantedRes => return Err(Refusal::ProcedureUnavailable),
        }
        counting.end(OperationIndex::nlm4(procedure), context.seen.get(), || {
            results::of_nlm4(procedure, &reply.as_slice()[start..])
        });
        Ok(Disposition::Reply)
    }
}
