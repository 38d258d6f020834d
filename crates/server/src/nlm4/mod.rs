//! NLM version 4 (X/Open C702, RFC 1813 appendix II): byte-range locks and share reservations of NFSv3
//! clients.
//!
//! Which locks exist is the [`LockTable`]'s to know. A request that waits for a lock is answered
//! NLM4_BLOCKED, and the host is called when it has the lock. The one-way messages are answered by calls to
//! the host, too.

mod cancel;
mod context;
mod free_all;
mod lock;
mod lock_table;
mod message;
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

use crate::exports::{Caller, Exports, Version};
use crate::metrics::{Counting, Metrics, OperationIndex, results};
use context::Context;
use lock::Monitored;
pub use lock_table::{ByteRange, FileKey, HeldLock, LockCall, LockDenied, LockTable, Owner, Shares};

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
        // Nor does an answer to a call of ours, which says its secret.
        if !matches!(procedure, Procedure::Null | Procedure::GrantedRes) {
            let caller = Caller::of(call, Version::V3);
            exports.check(&caller)?;
            exports.prepare(&caller).await;
        }
        let context = Context::new(&exports, &self.locks, call);
        let (counting, start) = (Counting::begin(self.metrics.as_ref()), reply.len());
        match procedure {
            Procedure::Null => {}
            Procedure::Test => reply.put(&test::run(&context, context.arguments()?).await),
            Procedure::Lock => reply.put(&lock::run(&context, context.arguments()?, Monitored::Yes).await),
            Procedure::NmLock => reply.put(&lock::run(&context, context.arguments()?, Monitored::No).await),
            Procedure::Cancel => reply.put(&cancel::run(&context, context.arguments()?).await),
            Procedure::Unlock => reply.put(&unlock::run(&context, context.arguments()?).await),
            Procedure::Share => reply.put(&share::take(&context, context.arguments()?).await),
            Procedure::Unshare => reply.put(&share::give_back(&context, context.arguments()?).await),
            Procedure::FreeAll => free_all::run(&context, &context.arguments()?),
            Procedure::TestMsg => message::test(&context, context.arguments()?).await,
            Procedure::LockMsg => message::lock(&context, context.arguments()?).await,
            Procedure::CancelMsg => message::cancel(&context, context.arguments()?).await,
            Procedure::UnlockMsg => message::unlock(&context, context.arguments()?).await,
            Procedure::GrantedRes => message::granted(&context, &context.arguments()?),
            // What a client's lock manager is called with: this host asks nobody for locks.
            Procedure::Granted
            | Procedure::GrantedMsg
            | Procedure::TestRes
            | Procedure::LockRes
            | Procedure::CancelRes
            | Procedure::UnlockRes => return Err(Refusal::ProcedureUnavailable),
        }
        counting.end(OperationIndex::nlm4(procedure), context.seen.get(), || {
            results::of_nlm4(procedure, &reply.as_slice()[start..])
        });
        Ok(Disposition::Reply)
    }
}
