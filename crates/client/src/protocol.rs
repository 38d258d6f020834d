//! What both versions can do, in one vocabulary. Which requests that takes is decided below, in `nfs3` and
//! `nfs4`; what is remembered of the answers above.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::attributes::{Access, Attributes, FsStat, Revision, SetAttributes};
use crate::error::Result;
use crate::file::OpenFile;
use crate::lock::{Conflict, LockKind};
use crate::name::checked_target;
use crate::node::{Handle, Node};
use crate::options::{Options, ProgramPorts, Version};
use crate::server::Server;
use crate::shared::Limits;
use crate::tap::Tap;
use crate::writeback::{Chunk, Verifier};
use crate::{nfs3, nfs4};

/// The version that is spoken.
#[derive(Debug)]
pub(crate) enum Protocol {
    V3(Box<nfs3::Mount>),
    V4(nfs4::Mount),
}

/// An object that a name stands for.
#[derive(Debug, Clone)]
pub(crate) struct FoundObject {
    pub(crate) handle: Handle,
    pub(crate) attributes: Attributes,
}

/// What a request did to an object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    /// State before, and attributes after, as far as told.
    Around { before: Option<Revision>, after: Option<Attributes> },
    /// The change attribute of a directory (`change_info4`).
    Change { atomic: bool, before: u64, after: u64 },
}

/// The answer to READ.
#[derive(Debug)]
pub(crate) struct ReadReply {
    pub(crate) data: Bytes,
    pub(crate) eof: bool,
    pub(crate) attributes: Option<Attributes>,
    /// The server looked at them before it read: the data are of that state or of a later one. Otherwise
    /// somebody may have changed the file in between, and the data be of before.
    pub(crate) described_first: bool,
}

/// The answer to WRITE.
#[derive(Debug)]
pub(crate) struct WriteReply {
    pub(crate) count: u32,
    pub(crate) committed: bool,
    pub(crate) verifier: Verifier,
    pub(crate) effect: Effect,
}

/// An entry as the reply has it. Its name is not validated.
#[derive(Debug)]
pub(crate) struct RawEntry {
    pub(crate) name: Bytes,
    pub(crate) fileid: u64,
    pub(crate) attributes: Option<Attributes>,
    pub(crate) handle: Option<Handle>,
}

/// A part of a directory as a reply has it.
#[derive(Debug)]
pub(crate) struct RawPage {
    pub(crate) entries: Vec<RawEntry>,
    /// Where the next part starts; `None` at the end.
    pub(crate) next: Option<DirPosition>,
    pub(crate) directory: Option<Attributes>,
}

/// A place in a directory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DirPosition {
    pub(crate) cookie: u64,
    pub(crate) verifier: [u8; 8],
}

/// What to make.
#[derive(Debug, Clone)]
pub(crate) enum NewObject {
    Directory,
    Symlink(Bytes),
    Fifo,
    Socket,
    /// Major and minor number.
    Block(u32, u32),
    Character(u32, u32),
}

/// How a lock request ended.
#[derive(Debug)]
pub(crate) enum Locking {
    /// It is ours; the attributes are those after it was granted, if told.
    Granted(Option<Attributes>),
    /// Another owner holds a conflicting lock.
    Denied,
    /// The same; the server has queued the request and calls when it has granted the lock (NFSv3).
    Queued,
}

/// Calls the same method of whichever version it is.
macro_rules! dispatch {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match $self {
            Protocol::V3(mount) => mount.$method($($argument),*).await,
            Protocol::V4(mount) => mount.$method($($argument),*).await,
        }
    };
}

/// COMMIT's offset and count. A count of 0 reaches to the end of the file (RFC 8881 §18.3.3, RFC 1813
/// §3.3.21); what is longer than the count can say is committed with everything.
fn commit_extent(range: &Range<u64>) -> (u64, u32) {
    u32::try_from(range.end - range.start).map_or((0, 0), |count| (range.start, count))
}

impl Protocol {
    /// Reaches `path` over one version.
    pub(crate) async fn connect(
        server: &Server,
        path: &[u8],
        version: Version,
        options: &Options,
        tap: &Arc<Tap>,
    ) -> Result<(Self, FoundObject, Limits)> {
        match version.minor() {
            None => {
                let (mount, root, limits) = nfs3::Mount::connect(server, path, options, tap).await?;
                Ok((Self::V3(Box::new(mount)), root, limits))
            }
            Some(minor) => {
                let (mount, root, limits) = nfs4::Mount::connect(server, path, minor, options, tap).await?;
                Ok((Self::V4(mount), root, limits))
            }
        }
    }

    /// NFSv4's part, if that is what is spoken.
    pub(crate) fn as_v4(&self) -> Option<&nfs4::Mount> {
        match self {
            Self::V3(_) => None,
            Self::V4(mount) => Some(mount),
        }
    }

    /// NFSv3's part, if that is what is spoken.
    pub(crate) fn as_v3(&self) -> Option<&nfs3::Mount> {
        match self {
            Self::V3(mount) => Some(mount),
            Self::V4(_) => None,
        }
    }

    /// The locks of a file were lost, and its user gives them up: true when that was so. From here on it is
    /// used again.
    pub(crate) async fn give_up_lost_locks(&self, file: &OpenFile) -> bool {
        file.v4.lock().lost_locks && dispatch!(self, give_up_lost_locks(file))
    }

    /// How long the server keeps what it has given without hearing of us.
    pub(crate) fn lease(&self) -> Arc<nfs4::Lease> {
        self.as_v4().map(nfs4::Mount::lease).unwrap_or_default()
    }

    /// Counts how often the server has lost what it knew of us: locks granted in an earlier incarnation are
    /// worth nothing.
    pub(crate) fn incarnation(&self) -> u64 {
        match self {
            Self::V3(mount) => mount.incarnation(),
            Self::V4(mount) => mount.incarnation(),
        }
    }

    /// Walks along `names` from `dir`: what was found, one after the other, and why it ended before the last.
    pub(crate) async fn look_up(&self, dir: &Handle, names: &[Bytes]) -> (Vec<FoundObject>, Result<()>) {
        dispatch!(self, look_up(dir, names))
    }

    /// True when `look_up` takes many names in one request.
    pub(crate) fn looks_up_paths(&self) -> bool {
        matches!(self, Self::V4(_))
    }

    pub(crate) async fn attributes(&self, object: &Handle) -> Result<Attributes> {
        dispatch!(self, attributes(object))
    }

    pub(crate) async fn set_attributes(
        &self,
        object: &Handle,
        set: &SetAttributes,
        file: Option<&OpenFile>,
    ) -> Result<Effect> {
        dispatch!(self, set_attributes(object, set, file))
    }

    pub(crate) async fn access(
        &self,
        object: &Handle,
        wanted: Access,
    ) -> Result<(Access, Option<Attributes>)> {
        dispatch!(self, access(object, wanted))
    }

    pub(crate) async fn read_link(&self, object: &Handle) -> Result<Bytes> {
        checked_target(dispatch!(self, read_link(object))?)
    }

    pub(crate) async fn read(&self, file: &OpenFile, offset: u64, count: u32) -> Result<ReadReply> {
        dispatch!(self, read(file, offset, count))
    }

    pub(crate) async fn write(&self, file: &OpenFile, chunk: &Chunk, stable: bool) -> Result<WriteReply> {
        dispatch!(self, write(file, chunk, stable))
    }

    /// Makes what was written to `range` stable; what is around it may become so too.
    pub(crate) async fn commit(&self, file: &Handle, range: &Range<u64>) -> Result<Verifier> {
        let (offset, count) = commit_extent(range);
        dispatch!(self, commit(file, offset, count))
    }

    pub(crate) async fn make(
        &self,
        dir: &Handle,
        name: &Bytes,
        object: &NewObject,
        mode: u32,
    ) -> Result<(Option<FoundObject>, Effect)> {
        dispatch!(self, make(dir, name, object, mode))
    }

    pub(crate) async fn remove(&self, dir: &Handle, name: &Bytes, directory: bool) -> Result<Effect> {
        dispatch!(self, remove(dir, name, directory))
    }

    pub(crate) async fn rename(
        &self,
        from: (&Handle, &Bytes),
        to: (&Handle, &Bytes),
    ) -> Result<(Effect, Effect)> {
        dispatch!(self, rename(from, to))
    }

    pub(crate) async fn link(&self, object: &Handle, dir: &Handle, name: &Bytes) -> Result<Effect> {
        dispatch!(self, link(object, dir, name))
    }

    pub(crate) async fn read_dir(&self, dir: &Handle, at: DirPosition) -> Result<RawPage> {
        dispatch!(self, read_dir(dir, at))
    }

    pub(crate) async fn fs_stat(&self, object: &Handle) -> Result<FsStat> {
        dispatch!(self, fs_stat(object))
    }

    pub(crate) async fn null(&self) -> Result<()> {
        dispatch!(self, null())
    }

    /// Asks once for the lock of a range, given as offset and length; the length `u64::MAX` reaches to the
    /// end of the file.
    ///
    /// With `wait` a server that tells when a lock may be free is asked to do so.
    pub(crate) async fn lock(
        &self,
        file: &OpenFile,
        range: (u64, u64),
        kind: LockKind,
        wait: bool,
    ) -> Result<Locking> {
        match self {
            Self::V3(mount) => mount.lock(file, range.0, range.1, kind, wait).await,
            Self::V4(mount) => mount.lock(file, range, kind, wait).await,
        }
    }

    /// True for a server that says when a lock may be free that was denied (CB_NOTIFY_LOCK). Over NFSv3
    /// callers wait in the server's queue where they can, see [`crate::lock_wait`].
    pub(crate) fn tells_of_free_locks(&self) -> bool {
        self.as_v4().is_some_and(nfs4::Mount::notifies_locks)
    }

    /// Asks who would be in the way of a lock.
    pub(crate) async fn test_lock(
        &self,
        file: &OpenFile,
        offset: u64,
        length: u64,
        kind: LockKind,
    ) -> Result<Option<Conflict>> {
        dispatch!(self, test_lock(file, offset, length, kind))
    }

    /// Gives a range back. `last` when the file then holds no lock any more.
    pub(crate) async fn unlock(&self, file: &OpenFile, offset: u64, length: u64, last: bool) -> Result<()> {
        dispatch!(self, unlock(file, offset, length, last))
    }

    /// As [`Protocol::before_change`], by a file that is open for it: a delegation for writing allows that.
    pub(crate) async fn before_change_by_file(&self, node: &Arc<Node>) -> Result<()> {
        match self {
            Self::V3(_) => Ok(()),
            Self::V4(mount) => mount.before_change_by_file(node).await,
        }
    }

    /// An object is about to be changed in a way that a delegation of ours does not allow: gives it back
    /// first.
    pub(crate) async fn before_change(&self, node: &Arc<Node>) -> Result<()> {
        match self {
            Self::V3(_) => Ok(()),
            Self::V4(mount) => mount.before_change(node).await,
        }
    }

    /// A lock is about to be asked for or given up at the server: a delegation that is on its way back goes
    /// first, and one that may have ended unnoticed is asked about; so are locks of NFSv3.
    pub(crate) async fn before_lock(&self, node: &Arc<Node>) -> Result<()> {
        let mount = match self {
            Self::V3(mount) => return mount.before_lock(node).await,
            Self::V4(mount) => mount,
        };
        let Some(delegation) = node.state.lock().delegation else { return Ok(()) };
        if delegation.returning { mount.return_delegation(node).await } else { mount.ensure_lease().await }
    }

    /// Gives back all that the server keeps for this client.
    pub(crate) async fn shutdown(&self) -> Result<()> {
        dispatch!(self, shutdown())
    }

    /// See [`crate::Client::program_ports`].
    pub(crate) async fn program_ports(&self) -> Result<ProgramPorts> {
        match self {
            Self::V3(mount) => mount.program_ports().await,
            Self::V4(_) => Ok(ProgramPorts::default()),
        }
    }

    /// What was agreed with the server, for reports.
    pub(crate) fn negotiated(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::V3(mount) => mount.negotiated(),
            Self::V4(mount) => mount.negotiated(),
        }
    }
}
