//! A request to a file system: its caller, and the line in which it waits.

use std::fmt;
use std::sync::LazyLock;

use crate::Identity;

/// What every call of a [`FileSystem`](crate::FileSystem) is made for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The caller, after the export's squashing. Permissions are those of this identity.
    pub identity: &'a Identity,
    /// Where it waits.
    pub line: Line<'a>,
}

impl<'a> Request<'a> {
    /// A request of `identity` in the line 0.
    pub fn new(identity: &'a Identity) -> Self {
        Self { identity, line: Line::default() }
    }

    /// The same request, made by another identity.
    #[must_use]
    pub fn made_by<'b>(self, identity: &'b Identity) -> Request<'b>
    where
        'a: 'b,
    {
        Request { identity, line: self.line }
    }
}

impl Request<'static> {
    /// A request of the server itself, with the superuser's permissions, in the line 0.
    pub fn of_server() -> Self {
        Self::new(superuser())
    }
}

fn superuser() -> &'static Identity {
    static SUPERUSER: LazyLock<Identity> = LazyLock::new(Identity::root);
    &SUPERUSER
}

/// The line of a request.
///
/// Requests that wait for a disk stand in a line for each of their senders, and the lines take turns: a
/// sender of hundreds waits for its own ones, and the others do not. The server decides what is one sender;
/// primetime's takes a connection for one.
#[derive(Clone, Copy, Default)]
pub struct Line<'a> {
    /// Tells the lines apart. Work that has no sender stands in the line 0.
    pub number: u64,
    /// Set where the request may be the only one of its line.
    pub only: Option<&'a dyn OnlyRequest>,
}

impl<'a> Line<'a> {
    /// The line with this number. Its requests are never taken for the only one.
    pub fn numbered(number: u64) -> Self {
        Self { number, only: None }
    }

    /// A request of the server itself in this line, with the superuser's permissions.
    pub fn request_of_server(self) -> Request<'a> {
        Request { identity: superuser(), line: self }
    }
}

impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Tells whether a request is the only one of its line at this moment.
///
/// To hand a wait for the disk to another thread, and to be woken by it, costs as much as a fast disk takes.
/// A request that keeps no other of its line waiting may wait on its own thread. A file system that has no
/// use for it need not ask.
pub trait OnlyRequest: Send + Sync {
    /// True while it is.
    fn is_only(&self) -> bool;

    /// The file system has waited on this thread, so that other requests may have come.
    fn note_wait(&self);
}
