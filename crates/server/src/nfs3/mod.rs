//! NFS version 3 (RFC 1813): one file per procedure.
//!
//! A handler takes decoded arguments and returns the body of a success or a failure; the shared files turn
//! back-end errors into statuses, attributes into their wire form, and names into checked names. Nothing is
//! kept between calls.

mod access;
mod attributes;
mod commit;
mod context;
mod create;
mod fsinfo;
mod fsstat;
mod getattr;
mod link;
mod listing;
mod lookup;
mod mkdir;
mod mknod;
mod names;
mod object;
mod pathconf;
mod read;
mod readdir;
mod readdirplus;
mod readlink;
mod remove;
mod rename;
mod rmdir;
mod setattr;
mod status;
mod symlink;
mod transfer;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use proto::nfs3::{Procedure, Reply};
use rpc::{Call, Disposition, Refusal};
use vfs::FileSystem;
use xdr::Encoder;

use crate::conflicts::Conflicts;
use crate::exports::{Caller, Exports, OnlyCall, Version};
use crate::metrics::{Counting, Metrics, OperationIndex, results};
use context::Context;

/// The program.
#[derive(Debug)]
pub struct Nfs3<F, C> {
    exports: Arc<Exports<F>>,
    conflicts: C,
    metrics: Option<Arc<Metrics>>,
}

impl<F: FileSystem, C: Conflicts> Nfs3<F, C> {
    /// Serves `exports`, asking `conflicts` before it touches what others may hold.
    pub fn new(exports: Arc<Exports<F>>, conflicts: C) -> Self {
        Self { exports, conflicts, metrics: None }
    }

    /// Counts what is done.
    pub(crate) fn set_metrics(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Answers one call: appends the results to `reply`, or says why there are none.
    ///
    /// # Errors
    /// For an unknown procedure, arguments that do not decode, and credentials that no export accepts.
    pub async fn call(&self, call: &Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let procedure = Procedure::from_number(call.header.procedure).ok_or(Refusal::ProcedureUnavailable)?;
        // NULL needs no authentication (RFC 1813 §3.3.0).
        let exports = self.exports.load();
        let only = OnlyCall::of(call);
        let caller = Caller::of(call, Version::V3).with_only(&only);
        if procedure != Procedure::Null {
            exports.check(&caller)?;
            exports.prepare(&caller).await;
        }
        let context = Context::new(&exports, &self.conflicts, call, caller);
        let (counting, start) = (Counting::begin(self.metrics.as_ref()), reply.len());
        // Each arm: the arguments must be all there is, then the handler runs, then its outcome is written.
        macro_rules! answer {
            ($handler:ident) => {{
                let arguments = context.arguments()?;
                reply.put(&Reply::from($handler::run(&context, arguments).await));
            }};
        }
        match procedure {
            Procedure::Null => {}
            Procedure::GetAttr => answer!(getattr),
            Procedure::SetAttr => answer!(setattr),
            Procedure::Lookup => answer!(lookup),
            Procedure::Access => answer!(access),
            Procedure::ReadLink => answer!(readlink),
            Procedure::Read => read::run(&context, context.arguments()?, reply).await,
            Procedure::Write => answer!(write),
            Procedure::Create => answer!(create),
            Procedure::MkDir => answer!(mkdir),
            Procedure::Symlink => answer!(symlink),
            Procedure::MkNod => answer!(mknod),
            Procedure::Remove => answer!(remove),
            Procedure::RmDir => answer!(rmdir),
            Procedure::Rename => answer!(rename),
            Procedure::Link => answer!(link),
            Procedure::ReadDir => readdir::run(&context, context.arguments()?, reply).await,
            Procedure::ReadDirPlus => readdirplus::run(&context, context.arguments()?, reply).await,
            Procedure::FsStat => answer!(fsstat),
            Procedure::FsInfo => answer!(fsinfo),
            Procedure::PathConf => answer!(pathconf),
            Procedure::Commit => answer!(commit),
        }
        counting.end(OperationIndex::nfs3(procedure), context.seen.get(), || {
            results::of_nfs3(procedure, &reply.as_slice()[start..])
        });
        Ok(Disposition::Reply)
    }
}
