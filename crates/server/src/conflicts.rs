//! What the stateless protocols ask before they touch an object that somebody may hold a delegation or a
//! share reservation on. Who holds what is not known here.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use state::NameChange;
use vfs::{FileSystem, ObjectId};

use crate::delegations::TakenNames;

/// Why an operation may not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// A delegation is being recalled and is not back yet; the client may try again.
    Later,
    /// A share reservation forbids it.
    Denied,
}

/// Asked before an operation of NFSv3. An answer of `Ok` means that nothing stands in the way any more; the
/// answer may wait for a recall, but not for long: [`Conflict::Later`] ends the wait.
pub trait Conflicts: Send + Sync + 'static {
    /// As long as it lives, nobody is given anything that the change under way would take back.
    type Guard<'a>: Send + Sync
    where
        Self: 'a;

    /// False when nobody holds anything on any object: the fast path, which must cost next to nothing.
    fn any(&self) -> bool;

    /// True when somebody may know better what the size and the times are: a reply that need not tell them
    /// leaves them out.
    fn is_known_better(&self, object: ObjectId) -> bool;

    /// Before the size or the times are told: write delegations, whose holder may know better.
    fn before_attributes(&self, object: ObjectId) -> impl Future<Output = Result<(), Conflict>> + Send;

    /// Before data is read: write delegations, and opens that deny reading.
    fn before_read(&self, object: ObjectId) -> impl Future<Output = Result<(), Conflict>> + Send;

    /// Before data or attributes are changed: all delegations, and opens that deny writing.
    fn before_write(
        &self,
        object: ObjectId,
    ) -> impl Future<Output = Result<Self::Guard<'_>, Conflict>> + Send;

    /// Before an entry of the directory comes, goes or is replaced: delegations of the directory.
    fn before_entry_change(
        &self,
        directory: ObjectId,
    ) -> impl Future<Output = Result<Self::Guard<'_>, Conflict>> + Send;

    /// Before names change (REMOVE, RMDIR, RENAME, LINK): all delegations of the directories and objects,
    /// and opens that deny writing the one that loses a name. Waits once for all of them, as long as is
    /// left after the wait for `names`.
    fn before_name_change(
        &self,
        names: &TakenNames,
        change: &NameChange<ObjectId>,
    ) -> impl Future<Output = Result<Vec<Self::Guard<'_>>, Conflict>> + Send;

    /// Waits until nobody else is about to take one of these names away, and keeps it so while the outcome
    /// lives: what was found under them stays there.
    fn take_names(
        &self,
        names: Vec<(ObjectId, Bytes)>,
    ) -> impl Future<Output = Result<TakenNames, Conflict>> + Send;

    /// After a name of the object was removed or replaced, or may have been: who has it open goes on using
    /// it. Whoever calls has held the node since before.
    fn after_remove<F: FileSystem>(&self, fs: &F, node: &F::Node) -> impl Future<Output = ()> + Send;
}

/// Nobody holds anything: a server without NFSv4.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoConflicts;

impl Conflicts for NoConflicts {
    type Guard<'a> = ();

    fn any(&self) -> bool {
        false
    }

    fn is_known_better(&self, _: ObjectId) -> bool {
        false
    }

    async fn before_attributes(&self, _: ObjectId) -> Result<(), Conflict> {
        Ok(())
    }

    async fn before_read(&self, _: ObjectId) -> Result<(), Conflict> {
        Ok(())
    }

    async fn before_write(&self, _: ObjectId) -> Result<(), Conflict> {
        Ok(())
    }

    async fn before_entry_change(&self, _: ObjectId) -> Result<(), Conflict> {
        Ok(())
    }

    async fn before_name_change(
        &self,
        _: &TakenNames,
        _: &NameChange<ObjectId>,
    ) -> Result<Vec<()>, Conflict> {
        Ok(Vec::new())
    }

    async fn take_names(&self, _: Vec<(ObjectId, Bytes)>) -> Result<TakenNames, Conflict> {
        Ok(TakenNames::default())
    }

    async fn after_remove<F: FileSystem>(&self, _: &F, _: &F::Node) {}
}

impl<C: Conflicts> Conflicts for Arc<C> {
    type Guard<'a> = C::Guard<'a>;

    fn any(&self) -> bool {
        (**self).any()
    }

    fn is_known_better(&self, object: ObjectId) -> bool {
        (**self).is_known_better(object)
    }

    fn before_attributes(&self, object: ObjectId) -> impl Future<Output = Result<(), Conflict>> + Send {
        (**self).before_attributes(object)
    }

    fn before_read(&self, object: ObjectId) -> impl Future<Output = Result<(), Conflict>> + Send {
        (**self).before_read(object)
    }

    fn before_write(
        &self,
        object: ObjectId,
    ) -> impl Future<Output = Result<Self::Guard<'_>, Conflict>> + Send {
        (**self).before_write(object)
    }

    fn before_entry_change(
        &self,
        directory: ObjectId,
    ) -> impl Future<Output = Result<Self::Guard<'_>, Conflict>> + Send {
        (**self).before_entry_change(directory)
    }

    fn before_name_change(
        &self,
        names: &TakenNames,
        change: &NameChange<ObjectId>,
    ) -> impl Future<Output = Result<Vec<Self::Guard<'_>>, Conflict>> + Send {
        (**self).before_name_change(names, change)
    }

    fn take_names(
        &self,
        names: Vec<(ObjectId, Bytes)>,
    ) -> impl Future<Output = Result<TakenNames, Conflict>> + Send {
        (**self).take_names(names)
    }

    fn after_remove<F: FileSystem>(&self, fs: &F, node: &F::Node) -> impl Future<Output = ()> + Send {
        (**self).after_remove(fs, node)
    }
}
