//! What the operations of one COMPOUND share: the caller, the session, the current and saved file handles and
//! stateids (RFC 8881 §16.2.3.1).

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ClientId, CompoundHeader, StateId, Status};
use state::recallable::{Class, Kind};
use state::{Client, Opened};
use vfs::{Attributes, FileSystem, Identity, Line, Name, ObjectId, Request};

use crate::delegations::{DelegationGrant, GrantedTimes};
use crate::exports::{Caller, Denied, Export, ExportSet, Leads};
use crate::nfs4::engine::Nfs4;
use crate::nfs4::engine::actor::Actor;
use crate::nfs4::engine::unsettled::{Failed, Unsettled};
use crate::persistent::{Change, Entry, Intent};

/// An object that an operation works on.
pub(crate) struct Object<'a, F: FileSystem> {
    pub(crate) export: &'a Export<F>,
    pub(crate) node: F::Node,
    /// Where the caller's requests wait for the file system.
    line: Line<'a>,
}

/// The saved file handle, and the current stateid that SAVEFH saved with it (RFC 8881 §16.2.3.1.2).
pub(crate) struct Saved<'a, F: FileSystem> {
    pub(crate) object: Object<'a, F>,
    pub(crate) state_id: StateId,
}

impl<F: FileSystem> Clone for Saved<'_, F> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), state_id: self.state_id }
    }
}

impl<F: FileSystem> Clone for Object<'_, F> {
    fn clone(&self) -> Self {
        self.beside(self.node.clone())
    }
}

impl<'a, F: FileSystem> Object<'a, F> {
    /// Another object of the same file system.
    pub(crate) fn beside(&self, node: F::Node) -> Self {
        Self { node, ..*self }
    }

    /// A request of `identity` to the file system.
    pub(crate) fn request<'r>(&self, identity: &'r Identity) -> Request<'r>
    where
        'a: 'r,
    {
        Request { identity, line: self.line }
    }

    /// A request of the server itself to the file system.
    pub(crate) fn request_of_server(&self) -> Request<'a> {
        self.line.request_of_server()
    }

    /// The attributes now, by a request of the server itself.
    pub(crate) async fn attributes(&self) -> vfs::Result<Attributes> {
        self.fs().attributes(self.request_of_server(), &self.node).await
    }

    pub(crate) fn fs(&self) -> &F {
        self.export.file_system()
    }

    pub(crate) fn id(&self) -> ObjectId {
        self.fs().object_id(&self.node)
    }

    /// Its handle, as records have it.
    pub(crate) fn handle(&self) -> Bytes {
        Bytes::copy_from_slice(self.fs().handle(&self.node).as_bytes())
    }

    /// A name in this directory, as records have it.
    pub(crate) fn entry(&self, name: Name<'_>) -> Entry {
        Entry { directory: self.handle(), name: Bytes::copy_from_slice(name.as_bytes()) }
    }

    /// True when nobody has this name in this directory, as far as the superuser can see.
    pub(crate) async fn is_free(&self, name: Name<'_>) -> bool {
        let found = self.fs().lookup(self.request_of_server(), &self.node, name).await;
        matches!(found, Err(vfs::Error::NotFound))
    }

    /// The key of the object in the tables of state.
    pub(crate) fn file(&self) -> state::FileId {
        let id = self.id();
        state::FileId(id.fileid, id.generation)
    }
}

/// Attributes that an operation has learnt on its way.
pub(crate) struct Fresh {
    pub(crate) attributes: Attributes,
    /// [`state::State::write_delegations_ended`] before the look; none of an object that was made, which
    /// nobody held.
    pub(crate) ended_before: Option<u64>,
}

/// The state of a COMPOUND between two operations.
pub(crate) struct Context<'a, F: FileSystem> {
    pub(crate) server: &'a Nfs4<F>,
    /// Those that the COMPOUND began with.
    pub(crate) exports: &'a ExportSet<F>,
    /// Its arguments are the loop's.
    pub(crate) call: &'a rpc::Call<'a>,
    pub(crate) caller: Caller<'a>,
    /// Named by SEQUENCE.
    pub(crate) actor: Actor,
    pub(crate) current: Option<Object<'a, F>>,
    pub(crate) current_state: StateId,
    /// What the operation just before has learnt of the current object by finding or making it.
    pub(crate) fresh: Option<Fresh>,
    pub(crate) saved: Option<Saved<'a, F>>,
    /// Of the COMPOUND.
    pub(crate) minor_version: u32,
    /// How many operations the COMPOUND has.
    pub(crate) operations: u32,
    /// How long the request is, from the start of the RPC message.
    pub(crate) request_bytes: usize,
    /// Which of them runs.
    pub(crate) index: u32,
    /// The bytes that the reply may still grow by, as the session's limit has it.
    pub(crate) reply_room: usize,
    /// Where the result of the operation that runs begins in the reply.
    pub(crate) result_start: usize,
    /// What was made and may not be on stable storage yet.
    pub(crate) unsettled: Vec<Unsettled<'a, F>>,
    /// One of those turned out to be lost.
    pub(crate) failed: Option<Failed>,
}

/// A request that is cancelled ends in its slot.
impl<F: FileSystem> Drop for Context<'_, F> {
    fn drop(&mut self) {
        if self.actor.abandon(self.server.services()) {
            self.server.answered().notify(usize::MAX);
        }
    }
}

impl<'a, F: FileSystem> Context<'a, F> {
    pub(crate) fn new(
        server: &'a Nfs4<F>,
        exports: &'a ExportSet<F>,
        call: &'a rpc::Call<'a>,
        caller: Caller<'a>,
        header: &CompoundHeader,
        request_bytes: usize,
    ) -> Self {
        Self {
            server,
            exports,
            call,
            caller,
            actor: Actor::Unknown,
            current: None,
            current_state: StateId::ANONYMOUS,
            fresh: None,
            saved: None,
            minor_version: header.minor_version,
            operations: header.operations,
            request_bytes,
            index: 0,
            reply_room: usize::MAX,
            result_start: 0,
            unsettled: Vec::new(),
            failed: None,
        }
    }

    /// Checks that a client, or its session, is of this minor version (RFC 8178 §8.1).
    ///
    /// # Errors
    /// MINOR_VERS_MISMATCH, with which the COMPOUND ends without a result for the operation.
    pub(crate) fn check_minor_version(&self, of_client: u32) -> Result<(), Status> {
        if of_client == self.minor_version { Ok(()) } else { Err(Status::MinorVersionMismatch) }
    }

    /// The current file handle.
    pub(crate) fn object(&self) -> Result<&Object<'a, F>, Status> {
        self.current.as_ref().ok_or(Status::NoFileHandle)
    }

    /// The saved file handle.
    pub(crate) fn saved(&self) -> Result<&Object<'a, F>, Status> {
        self.saved.as_ref().map(|saved| &saved.object).ok_or(Status::NoFileHandle)
    }

    /// Makes `object` current. The current stateid goes with the old one (RFC 8881 §16.2.3.1.2).
    pub(crate) fn set_current(&mut self, object: Object<'a, F>) {
        self.current = Some(object);
        self.current_state = StateId::ANONYMOUS;
        self.fresh = None;
    }

    /// The client of the actor.
    pub(crate) fn client(&self) -> Result<&Arc<Client>, Status> {
        self.actor.client()
    }

    /// The number of the client of the actor; a reply that is only made again has none.
    pub(crate) fn client_id(&self) -> Option<ClientId> {
        self.actor.client().ok().map(|client| client.id())
    }

    /// True when a crash of the server must not make the COMPOUND run again.
    pub(crate) fn is_persistent(&self) -> bool {
        self.actor.is_persistent()
    }

    /// Writes down what an operation is about to do, where [`Context::is_persistent`] says so: to be called
    /// right before it is done.
    ///
    /// # Errors
    /// DELAY when it cannot be written: nothing is to be done.
    pub(crate) async fn intend(&self, change: Change) -> Result<(), Status> {
        self.actor.intend(self.server.services(), Intent { operation: self.index, change }).await
    }

    /// See [`Actor::callbacks_work`].
    pub(crate) fn callbacks_work(&self) -> bool {
        self.actor.callbacks_work(self.server.services().callbacks())
    }

    /// Notes the facts about a new grant that its callbacks need. `told` has the attributes that the reply
    /// tells a holder that may change the file. False when the file system can watch no more objects for
    /// changes on this machine: then the grant was withdrawn.
    pub(crate) fn note_grant(
        &self,
        object: &Object<'_, F>,
        id: &StateId,
        kind: &Kind,
        told: Option<Attributes>,
    ) -> Result<bool, Status> {
        let call = self.actor.call()?;
        let handle = object.fs().handle(&object.node);
        // Where the attributes cannot be had, the holder is never found unmodified, and its times are not
        // taken: that is safe.
        let change = told.map_or(0, |told| told.change);
        let times = told
            .filter(|_| kind.keeps_times)
            .map(|told| GrantedTimes { accessed: told.accessed, modified: told.modified });
        let services = self.server.services();
        let Ok(watch) = services.delegations().watch(object.fs(), &object.node, kind) else {
            self.withdraw_delegation(id)?;
            return Ok(false);
        };
        services.delegations().delegated(
            id,
            DelegationGrant { file: object.file(), handle, change, times, call },
            watch,
        );
        Ok(true)
    }

    /// Takes a delegation back that its client was not told of yet.
    pub(crate) fn withdraw_delegation(&self, id: &StateId) -> Result<(), Status> {
        let services = self.server.services();
        let client = self.client()?;
        // It may have been revoked meanwhile.
        if services.delegations().return_grant(client, id, Class::DELEGATION).is_err() {
            services.delegations().grant_ended(id);
        }
        Ok(())
    }

    /// Ends what an OPEN has brought whose client is told that it failed, and so never gives it back.
    pub(crate) fn give_up(&self, opened: &Opened) {
        let Ok(client) = self.client() else { return };
        // What it has brought may have been given back since.
        let _ = self.server.state().close(client, &opened.state_id);
        if let Some(granted) = &opened.delegation {
            let _ = self.withdraw_delegation(&granted.state_id);
        }
    }

    /// Replaces the special stateid that stands for the current one (RFC 8881 §16.2.3.1.2).
    pub(crate) fn resolve_state(&self, state_id: StateId) -> Result<StateId, Status> {
        if state_id != StateId::CURRENT {
            return Ok(state_id);
        }
        if self.current_state == StateId::ANONYMOUS {
            Err(Status::BadStateId)
        } else {
            Ok(self.current_state)
        }
    }

    /// As [`Context::resolve_state`] for the saved file handle, with which the current stateid of then was
    /// saved.
    pub(crate) fn resolve_saved_state(&self, state_id: StateId) -> Result<StateId, Status> {
        match &self.saved {
            Some(saved) if state_id == StateId::CURRENT && saved.state_id != StateId::ANONYMOUS => {
                Ok(saved.state_id)
            }
            _ if state_id == StateId::CURRENT => Err(Status::BadStateId),
            _ => Ok(state_id),
        }
    }

    /// True when delegations are granted in the export of `object`.
    pub(crate) fn delegates(&self, object: &Object<'_, F>) -> bool {
        self.server.delegations() && object.export.options().delegations
    }

    /// An object that was found in an export, for the caller.
    pub(crate) fn object_of(&self, export: &'a Export<F>, node: F::Node) -> Object<'a, F> {
        Object { export, node, line: self.caller.line }
    }

    /// Who the caller is on the export of `object`.
    pub(crate) fn identity(&self, object: &Object<'_, F>) -> Result<Identity, Status> {
        object.export.identity(&self.caller).map_err(refused)
    }

    /// The export whose root `name` in a directory leads into, if it leads out of its own.
    ///
    /// # Errors
    /// NOENT when what is there is not for the caller, ACCESS when it may not be used from the caller's port.
    pub(crate) fn crossing(
        &self,
        directory: &Object<'_, F>,
        name: Name<'_>,
    ) -> Result<Option<&'a Arc<Export<F>>>, Status> {
        let at = (directory.export.id(), directory.id());
        let Some(junction) = self.exports.junction(at.0, at.1, name.as_bytes()) else { return Ok(None) };
        match junction.leads(&self.caller) {
            Ok(Leads::Into(export)) => Ok(Some(export)),
            Ok(Leads::On) => Ok(None),
            Err(Denied::Client) => Err(Status::NoEntry),
            Err(denied) => Err(refused(denied)),
        }
    }

    /// Fails for the name of a directory that another export is seen in: it must stay where it is.
    pub(crate) fn not_crossing(&self, directory: &Object<'_, F>, name: Name<'_>) -> Result<(), Status> {
        match self.crossing(directory, name)? {
            Some(_) => Err(Status::AccessDenied),
            None => Ok(()),
        }
    }

    /// Fails with ROFS where the caller may change nothing.
    pub(crate) fn writable(&self, object: &Object<'_, F>) -> Result<(), Status> {
        let rule = object.export.rule(&self.caller).map_err(refused)?;
        if rule.read_only { Err(Status::ReadOnly) } else { Ok(()) }
    }
}

/// What is said of an object in an export that the caller may not use.
pub(crate) fn refused(denied: Denied) -> Status {
    match denied {
        Denied::Client => Status::Stale,
        Denied::Port => Status::AccessDenied,
        Denied::Flavor | Denied::Transport => Status::WrongSecurity,
        Denied::Later => Status::Delay,
    }
}
