//! An object that a call works on, with its attributes before and after (RFC 1813 §2.5, wcc_data).

use proto::nfs3::{self, FileHandle, PostOpAttributes, Status, WccAttributes, WccData};
use vfs::{FileSystem, Handle, Identity, Line, ObjectId, Request};

use super::{attributes, status};
use crate::exports::{Export, ExportId, Rule, Squash};

/// An object, its export, who the caller is there, and whether it may change nothing.
pub(super) struct Object<'a, F: FileSystem> {
    export: &'a Export<F>,
    pub(super) node: F::Node,
    caller: Identity,
    line: Line<'a>,
    read_only: bool,
    squash: Squash,
}

impl<'a, F: FileSystem> Object<'a, F> {
    pub(super) fn new(
        export: &'a Export<F>,
        node: F::Node,
        caller: Identity,
        line: Line<'a>,
        rule: &Rule,
    ) -> Self {
        Self { export, node, caller, line, read_only: rule.read_only, squash: rule.squash }
    }

    pub(super) fn fs(&self) -> &'a F {
        self.export.file_system()
    }

    /// A request of the caller's to the file system.
    pub(super) fn request(&self) -> Request<'_> {
        Request { identity: &self.caller, line: self.line }
    }

    pub(super) fn id(&self) -> ObjectId {
        self.fs().object_id(&self.node)
    }

    pub(super) fn export_id(&self) -> ExportId {
        self.export.id()
    }

    pub(super) fn read_only(&self) -> bool {
        self.read_only
    }

    /// Fails with NFS3ERR_ROFS on a read-only export.
    pub(super) fn writable(&self) -> Result<(), Status> {
        if self.read_only() { Err(Status::ReadOnly) } else { Ok(()) }
    }

    /// What the caller sets, with the ids that are replaced as its own.
    pub(super) fn to_set(&self, wire: &nfs3::SetAttributes) -> vfs::SetAttributes {
        self.squash.owners(attributes::from_wire(wire))
    }

    /// The attributes now.
    pub(super) async fn attributes(&self) -> Result<vfs::Attributes, Status> {
        self.fs().attributes(self.request(), &self.node).await.map_err(status::of)
    }

    /// The attributes now, for a reply that goes without them if it must.
    pub(super) async fn post_op(&self) -> PostOpAttributes {
        self.fs().attributes(self.request(), &self.node).await.ok().map(|now| attributes::to_wire(&now))
    }

    /// The attributes now, without them where data are being changed: others that write would pay for a look
    /// between their data.
    pub(super) async fn settled(&self) -> Result<PostOpAttributes, Status> {
        let now = self.fs().settled_attributes(self.request(), &self.node).await.map_err(status::of)?;
        Ok(now.map(|now| attributes::to_wire(&now)))
    }

    /// What to compare with later: to be taken before an operation that changes the object.
    pub(super) async fn before(&self) -> Option<WccAttributes> {
        self.fs().attributes(self.request(), &self.node).await.ok().map(|now| attributes::to_wcc(&now))
    }

    /// The object around an operation that is over now.
    pub(super) async fn around(&self, before: Option<WccAttributes>) -> WccData {
        WccData { before, after: self.post_op().await }
    }
}

/// A back end's handle on the wire.
pub(super) fn to_wire(handle: &Handle) -> FileHandle {
    const { assert!(Handle::MAX <= proto::nfs3::HANDLE_BYTES_MAX as usize) };
    FileHandle::new(handle.as_bytes()).expect("a back end's handle fits NFSv3")
}
