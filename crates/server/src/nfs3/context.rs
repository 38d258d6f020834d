//! What a handler is given: the exports, the caller, and the way from a handle to an object.

use std::net::IpAddr;

use bytes::Bytes;
use proto::nfs3::{FileHandle, PostOpAttributes, Request, Status};
use rpc::{Call, Refusal};
use state::NameChange;
use vfs::{FileSystem, ObjectId};
use xdr::Decode;

use super::object::Object;
use super::{attributes, status};
use crate::conflicts::{Conflict, Conflicts};
use crate::delegations::TakenNames;
use crate::exclusive::verifier_of;
use crate::exports::{Caller, Denied, ExportSet, Reached, Unreachable};
use crate::metrics::RequestExport;

/// How a handler ends: the body of a success, or a status and the body of a failure.
pub(super) type Outcome<R> = Result<<R as Request>::Ok, (Status, <R as Request>::Fail)>;

/// A failure before anything is known about the object.
pub(super) fn bare<B: Default>(status: Status) -> (Status, B) {
    (status, B::default())
}

/// One call.
pub(super) struct Context<'a, F, C> {
    exports: &'a ExportSet<F>,
    conflicts: &'a C,
    call: &'a Call<'a>,
    caller: Caller<'a>,
    pub(super) seen: RequestExport,
}

impl<'a, F: FileSystem, C: Conflicts> Context<'a, F, C> {
    pub(super) fn new(
        exports: &'a ExportSet<F>,
        conflicts: &'a C,
        call: &'a Call<'a>,
        caller: Caller<'a>,
    ) -> Self {
        Self { exports, conflicts, call, caller, seen: RequestExport::default() }
    }

    /// The call's arguments, with nothing left over.
    pub(super) fn arguments<R: Decode>(&self) -> Result<R, Refusal> {
        let mut decoder = self.call.arguments.clone();
        let arguments = R::decode(&mut decoder).and_then(|arguments| decoder.finish().map(|()| arguments));
        arguments.map_err(|_| Refusal::GarbageArguments)
    }

    /// The reply may have so many more bytes. To be called before they are appended.
    pub(super) fn expect_reply(&self, bytes: usize) {
        self.call.connection.expect_reply(bytes);
    }

    /// The verifier that the back end keeps of an exclusive create. The client is known by its address.
    pub(super) fn exclusive_verifier(&self, chosen: [u8; 8]) -> [u8; 8] {
        match self.call.peer.ip().to_canonical() {
            IpAddr::V4(address) => verifier_of(&address.octets(), chosen),
            IpAddr::V6(address) => verifier_of(&address.octets(), chosen),
        }
    }

    /// The object that `handle` names, and who the caller is there.
    pub(super) async fn object(&self, handle: &FileHandle) -> Result<Object<'a, F>, Status> {
        let Reached { export, node, rule } =
            self.exports.resolve(handle.as_bytes(), &self.caller).await.map_err(|error| match error {
                Unreachable::Handle(error) => status::of(error),
                Unreachable::Denied(denied) => refused(denied),
            })?;
        self.seen.set(export.id());
        let identity = export.identity_under(rule, &self.caller).map_err(refused)?;
        Ok(Object::new(export, node, identity, self.caller.line, rule))
    }

    /// Fails for the name of a directory that NFSv4 clients see another export in: it must stay where it is.
    pub(super) fn not_crossing(&self, dir: &Object<'_, F>, name: vfs::Name<'_>) -> Result<(), Status> {
        match self.exports.junction(dir.export_id(), dir.id(), name.as_bytes()) {
            Some(_) => Err(Status::AccessDenied),
            None => Ok(()),
        }
    }

    /// The attributes of what was found by its name, unless somebody may know better: a client that needs
    /// them asks for them, and then it is waited for (RFC 1813 §2.6: attributes are optional).
    pub(super) fn found(
        &self,
        dir: &Object<'_, F>,
        node: &F::Node,
        found: &vfs::Attributes,
    ) -> PostOpAttributes {
        let is_known = self.conflicts.any() && self.conflicts.is_known_better(dir.fs().object_id(node));
        (!is_known).then(|| attributes::to_wire(found))
    }

    /// Waits until nobody knows better what the size and the times are.
    pub(super) async fn before_attributes(&self, object: &Object<'_, F>) -> Result<(), Status> {
        if !self.conflicts.any() {
            return Ok(());
        }
        self.conflicts.before_attributes(object.id()).await.map_err(conflict)
    }

    /// Waits until nobody's delegation stands in the way of reading.
    pub(super) async fn before_read(&self, object: &Object<'_, F>) -> Result<(), Status> {
        if !self.conflicts.any() {
            return Ok(());
        }
        self.conflicts.before_read(object.id()).await.map_err(conflict)
    }

    /// Waits until nobody's delegation stands in the way of changing data or attributes, and keeps it so
    /// while the guard lives.
    pub(super) async fn before_write(&self, object: &Object<'_, F>) -> Changing<'a, C> {
        self.before_write_id(object.id()).await
    }

    /// Waits until nobody's delegation stands in the way of changing the entries of a directory.
    pub(super) async fn before_entry_change(&self, dir: &Object<'_, F>) -> Changing<'a, C> {
        if !self.conflicts.any() {
            return Ok(None);
        }
        self.conflicts.before_entry_change(dir.id()).await.map(Some).map_err(conflict)
    }

    /// Waits until nothing stands in the way of changing these names, in one wait for all of it. What is
    /// not there, or was not looked for, is `None`; `removed` loses a name, unless a share reservation
    /// keeps it.
    pub(super) async fn before_name_change<const D: usize, const N: usize>(
        &self,
        names: &TakenNames,
        directories: [&Object<'_, F>; D],
        objects: [Option<ObjectId>; N],
        removed: Option<ObjectId>,
    ) -> Result<Vec<C::Guard<'a>>, Status> {
        if !self.conflicts.any() {
            return Ok(Vec::new());
        }
        let directories = directories.map(Object::id).into();
        let change = NameChange { directories, objects: objects.into_iter().flatten().collect(), removed };
        self.conflicts.before_name_change(names, &change).await.map_err(conflict)
    }

    /// Waits until nobody else is about to take one of these names away, and keeps it so while the outcome
    /// lives.
    pub(super) async fn take_names<const N: usize>(
        &self,
        names: [(&Object<'_, F>, vfs::Name<'_>); N],
    ) -> Result<TakenNames, Status> {
        if !self.conflicts.any() {
            return Ok(TakenNames::default());
        }
        let names = names.map(|(dir, name)| (dir.id(), Bytes::copy_from_slice(name.as_bytes())));
        self.conflicts.take_names(names.into()).await.map_err(conflict)
    }

    /// The object called `name` in `dir`, whose name is about to go. `None` when nobody holds anything:
    /// nothing is looked up then.
    ///
    /// # Errors
    /// Those of the lookup: what comes by that name later was not asked about.
    pub(super) async fn removed(
        &self,
        dir: &Object<'_, F>,
        name: vfs::Name<'_>,
    ) -> Result<Option<F::Node>, Status> {
        if !self.conflicts.any() {
            return Ok(None);
        }
        let (node, _) = dir.fs().lookup(dir.request(), &dir.node, name).await.map_err(status::of)?;
        Ok(Some(node))
    }

    /// As [`Context::removed`] for a name that need not be there.
    pub(super) async fn replaced(&self, dir: &Object<'_, F>, name: vfs::Name<'_>) -> Option<F::Node> {
        self.find(dir, name).await
    }

    /// After the name was removed or replaced, or may have been: an error may be one of putting the change on
    /// the disk.
    pub(super) async fn after_remove(&self, dir: &Object<'_, F>, removed: Option<F::Node>) {
        if let Some(node) = &removed {
            self.conflicts.after_remove(dir.fs(), node).await;
        }
    }

    /// As [`Context::before_write`] for the object called `name` in `dir`, if there is one.
    pub(super) async fn before_write_name(
        &self,
        dir: &Object<'_, F>,
        name: vfs::Name<'_>,
    ) -> Changing<'a, C> {
        match self.find(dir, name).await {
            Some(node) => self.before_write_id(dir.fs().object_id(&node)).await,
            None => Ok(None),
        }
    }

    /// The object called `name`, where somebody may hold something; what is wrong with it the operation
    /// itself finds.
    async fn find(&self, dir: &Object<'_, F>, name: vfs::Name<'_>) -> Option<F::Node> {
        if !self.conflicts.any() {
            return None;
        }
        let found = dir.fs().lookup(dir.request(), &dir.node, name).await;
        found.ok().map(|(node, _)| node)
    }

    async fn before_write_id(&self, object: ObjectId) -> Changing<'a, C> {
        if !self.conflicts.any() {
            return Ok(None);
        }
        self.conflicts.before_write(object).await.map(Some).map_err(conflict)
    }
}

/// What a handle is called in an export that the caller may not use: access to it was revoked (RFC 1813
/// §2.6), or it is there for others.
fn refused(denied: Denied) -> Status {
    match denied {
        Denied::Client => Status::Stale,
        Denied::Port | Denied::Flavor | Denied::Transport => Status::AccessDenied,
        Denied::Later => Status::Jukebox,
    }
}

/// A guard over the change under way, where one is needed.
pub(super) type Changing<'a, C> = Result<Option<<C as Conflicts>::Guard<'a>>, Status>;

/// NFS3ERR_JUKEBOX tells the client to come back (RFC 1813 §2.6); NFSv3 has no word for a share reservation,
/// and NFS3ERR_ACCES is what mandatory locks get elsewhere in the standard (§4.4).
fn conflict(conflict: Conflict) -> Status {
    match conflict {
        Conflict::Later => Status::Jukebox,
        Conflict::Denied => Status::AccessDenied,
    }
}
