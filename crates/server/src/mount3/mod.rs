//! MOUNT version 3 (RFC 1813 appendix I): turns a path into the first file handle. Answers on the port of
//! NFS, so that no port mapper is needed.

mod export;
mod mnt;
mod table;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use proto::mount3::{DirPath, Procedure};
use rpc::{Call, Disposition, Refusal};
use vfs::FileSystem;
use xdr::{Decode, Encoder};

use crate::exports::{Caller, ExportPath, Exports, Version};
use crate::metrics::{Counting, Metrics, OperationIndex, results};
use table::MountTable;

/// The program, with its list of who has mounted what.
#[derive(Debug)]
pub struct Mount3<F> {
    exports: Arc<Exports<F>>,
    mounts: MountTable,
    metrics: Option<Arc<Metrics>>,
}

impl<F: FileSystem> Mount3<F> {
    /// Tells the way into `exports`.
    pub fn new(exports: Arc<Exports<F>>) -> Self {
        Self { exports, mounts: MountTable::default(), metrics: None }
    }

    /// Counts what is done.
    pub(crate) fn set_metrics(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Who has mounted what, as far as clients have told: a bounded number.
    pub fn mounts(&self) -> Vec<(IpAddr, ExportPath)> {
        self.mounts.all()
    }

    /// Answers one call.
    ///
    /// # Errors
    /// For an unknown procedure and arguments that do not decode.
    pub async fn call(&self, call: &Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let procedure = Procedure::from_number(call.header.procedure).ok_or(Refusal::ProcedureUnavailable)?;
        // NULL needs no authentication (RFC 1813 §5.1.1).
        let exports = self.exports.load();
        let caller = Caller::of(call, Version::V3);
        if procedure != Procedure::Null {
            exports.check_for_mount(&caller)?;
            exports.prepare(&caller).await;
        }
        let (counting, start) = (Counting::begin(self.metrics.as_ref()), reply.len());
        let client = call.peer.ip();
        match procedure {
            Procedure::Null => {}
            Procedure::Mnt => {
                let path: DirPath = arguments(call)?;
                let outcome = mnt::run(&exports, &caller, &path).await;
                if let Ok((path, _)) = &outcome {
                    self.mounts.add(client, path);
                }
                reply.put(&mnt::reply(outcome));
            }
            Procedure::Dump => reply.put(&self.mounts.list(exports.hides().then_some(client))),
            Procedure::Umnt => {
                let DirPath(path) = arguments(call)?;
                // What was never mounted needs no forgetting.
                if let Ok(path) = ExportPath::of_client(&path) {
                    self.mounts.remove(client, &path);
                }
            }
            Procedure::UmntAll => self.mounts.remove_all(client),
            Procedure::Export => reply.put(&export::list(&exports, &caller)),
        }
        counting.end(OperationIndex::mount3(procedure), None, || {
            results::of_mount3(procedure, &reply.as_slice()[start..])
        });
        Ok(Disposition::Reply)
    }
}

fn arguments<T: Decode>(call: &Call<'_>) -> Result<T, Refusal> {
    let mut decoder = call.arguments.clone();
    let arguments = T::decode(&mut decoder).and_then(|arguments| decoder.finish().map(|()| arguments));
    arguments.map_err(|_| Refusal::GarbageArguments)
}
