//! What a handler is given: the exports, the locks, the caller, and the way from a request's lock to the file
//! and owner.

use std::net::IpAddr;

use bytes::Bytes;
use proto::nlm4::{Lock, NetObject, Status};
use rpc::{Call, Refusal};
use vfs::{Access, Attributes, Error, FileKind, FileSystem, Request};
use xdr::Decode;

use super::lock_table::{ByteRange, FileKey, LockDenied, Owner};
use crate::exports::{Caller, Denied, Export, ExportSet, Reached, Unreachable, Version};
use crate::hosts::HostRoute;
use crate::metrics::RequestExport;

/// The longest name of a host in bytes, as everywhere but in the protocol (RFC 1123 §2.1).
pub(super) const HOST_NAME_BYTES_MAX: usize = 255;

/// One call.
pub(super) struct Context<'a, F, L> {
    exports: &'a ExportSet<F>,
    pub(super) locks: &'a L,
    pub(super) call: &'a Call<'a>,
    pub(super) seen: RequestExport,
}

/// The file of a request, found and open to the caller.
pub(super) struct Target {
    pub(super) file: FileKey,
    pub(super) owner: Owner,
}

impl<'a, F: FileSystem, L> Context<'a, F, L> {
    pub(super) fn new(exports: &'a ExportSet<F>, locks: &'a L, call: &'a Call<'a>) -> Self {
        Self { exports, locks, call, seen: RequestExport::default() }
    }

    /// The call's arguments, with nothing left over.
    pub(super) fn arguments<T: Decode>(&self) -> Result<T, Refusal> {
        let mut decoder = self.call.arguments.clone();
        let arguments = T::decode(&mut decoder).and_then(|arguments| decoder.finish().map(|()| arguments));
        arguments.map_err(|_| Refusal::GarbageArguments)
    }

    /// The file and owner of a lock that the caller may only take with `wanted`, and its range.
    pub(super) async fn lock(&self, lock: &Lock, wanted: Access) -> Result<(Target, ByteRange), Status> {
        if lock.caller_name.len() > HOST_NAME_BYTES_MAX {
            return Err(Status::Failed);
        }
        // RFC 1813 §6.3.1: a range beyond the last offset is NLM4_FBIG.
        let range = ByteRange::new(lock.offset, lock.length).ok_or(Status::FileTooBig)?;
        let target = self.target(&lock.file, wanted).await?;
        let owner = self.owner(&lock.caller_name, &lock.owner, lock.process);
        Ok((Target { file: target, owner }, range))
    }

    /// The file that a handle names, for a caller that has the right to `wanted`.
    pub(super) async fn target(&self, handle: &NetObject, wanted: Access) -> Result<FileKey, Status> {
        let caller = Caller::of(self.call, Version::V3);
        let Reached { export, node, rule } =
            self.exports.resolve(&handle.0, &caller).await.map_err(|error| match error {
                // RFC 1813 §6.1.4: NLM4_STALE_FH is for every handle that is not valid.
                Unreachable::Handle(Error::BadHandle | Error::Stale) => Status::StaleHandle,
                Unreachable::Denied(Denied::Client) => Status::StaleHandle,
                _ => Status::Failed,
            })?;
        self.seen.set(export.id());
        if wanted.contains(Access::MODIFY) && rule.read_only {
            return Err(Status::ReadOnly);
        }
        let identity = export.identity_under(rule, &caller).map_err(|_| Status::Failed)?;
        if !may_lock(export, &node, Request { identity: &identity, line: caller.line }, wanted).await {
            return Err(Status::Failed);
        }
        Ok(FileKey { export: export.id(), object: export.file_system().object_id(&node) })
    }

    /// The address that the call came from.
    pub(super) fn client(&self) -> IpAddr {
        self.call.peer.ip().to_canonical()
    }

    /// The way back to the caller.
    pub(super) fn route(&self) -> HostRoute {
        HostRoute::of(self.call)
    }

    pub(super) fn owner(&self, host: &Bytes, owner: &NetObject, process: i32) -> Owner {
        // Copied: a slice would keep the whole record for as long as the lock is held.
        let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
        Owner { client: self.client(), host: copy(host), owner: copy(&owner.0), process }
    }
}

/// True for a regular file that the caller may use so; the owner always may, as with its data (RFC 1813
/// §4.4).
async fn may_lock<F: FileSystem>(
    export: &Export<F>,
    node: &F::Node,
    request: Request<'_>,
    wanted: Access,
) -> bool {
    let fs = export.file_system();
    let Ok(Attributes { kind: FileKind::Regular, uid, .. }) = fs.attributes(request, node).await else {
        return false;
    };
    if uid == request.identity.uid || wanted == Access::default() {
        return true;
    }
    fs.access(request, node, wanted).await.is_ok_and(|granted| granted.contains(wanted))
}

/// What a lock of this kind needs.
pub(super) fn needed(exclusive: bool) -> Access {
    if exclusive { Access::MODIFY } else { Access::READ }
}

/// What a refused lock is called.
pub(super) fn denied(denied: &LockDenied) -> Status {
    match denied {
        LockDenied::Conflict(_) | LockDenied::Delayed => Status::Denied,
        LockDenied::Waits => Status::Blocked,
        LockDenied::Full => Status::DeniedNoLocks,
        LockDenied::Grace => Status::DeniedGracePeriod,
    }
}
