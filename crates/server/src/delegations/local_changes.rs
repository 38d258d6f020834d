//! Changes on the server's own machine, by other programs: they recall delegations like the operations of
//! clients. A change is complete when the server learns of it, so no operation is held.

use std::sync::Arc;

use state::recallable::{Kind, Usage};
use state::{Blocked, FileId};
use vfs::{FileSystem, ObjectId, ObservedChange, Tell, Watch};

use super::Delegations;

impl Delegations {
    /// Watches an object of which a client has a grant; `None` where the file system watches nothing.
    ///
    /// # Errors
    /// The file system can watch no more objects.
    pub(crate) fn watch<F: FileSystem>(
        self: &Arc<Self>,
        fs: &F,
        node: &F::Node,
        kind: &Kind,
    ) -> vfs::Result<Option<Watch>> {
        // The holder of a write delegation may have data that other programs would read.
        let least =
            if (kind.conflicts)(&Usage::READ) { ObservedChange::Used } else { ObservedChange::Changed };
        fs.watch(node, least, self.tell.get_or_init(|| self.teller()))
    }

    fn teller(self: &Arc<Self>) -> Tell {
        // File systems may outlive the server.
        let delegations = Arc::downgrade(self);
        Arc::new(move |object, seen| {
            if let Some(delegations) = delegations.upgrade() {
                delegations.changed_locally(object, seen);
            }
        })
    }

    fn changed_locally(self: &Arc<Self>, object: ObjectId, seen: ObservedChange) {
        let file = FileId(object.fileid, object.generation);
        let obstacles = match seen {
            ObservedChange::Used => self.core.state().read_conflicts(file, None, self.core.now()),
            // Delegations that are granted in a grace period are recalled as well.
            ObservedChange::Changed => {
                match self.core.state().begin_entry_change(file, None, self.core.now()) {
                    Err(Blocked::By(obstacles)) => obstacles,
                    _ => return,
                }
            }
        };
        if obstacles.is_empty() {
            return;
        }
        tracing::debug!(?file, ?seen, "delegations are recalled for what was done on this machine");
        let delegations = Arc::clone(self);
        self.core.world().spawn(Box::pin(async move { delegations.remove(obstacles).await }));
    }
}
