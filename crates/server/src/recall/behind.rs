//! What is done on the server's own machine, behind the server's back, recalls delegations as what clients
//! do. It is done already when it is heard of, so nobody is held.

use std::sync::Arc;

use state::{Blocked, DelegationKind, FileId};
use vfs::{FileSystem, ObjectId, Seen, Tell, Watch};

use super::Recaller;

impl Recaller {
    /// Has an object watched that is delegated, where that can be.
    ///
    /// # Errors
    /// When no more can be watched.
    pub(crate) fn watch<F: FileSystem>(
        &self,
        fs: &F,
        node: &F::Node,
        kind: DelegationKind,
    ) -> vfs::Result<Option<Watch>> {
        // Who writes under a delegation may have what others would read.
        let least = match kind {
            DelegationKind::Read => Seen::Changed,
            DelegationKind::Write => Seen::Used,
        };
        fs.watch(node, least, self.inner.tell.get_or_init(|| self.teller()))
    }

    fn teller(&self) -> Tell {
        // File systems may outlive the server.
        let inner = Arc::downgrade(&self.inner);
        Arc::new(move |object, seen| {
            if let Some(inner) = inner.upgrade() {
                Self { inner }.seen_behind(object, seen);
            }
        })
    }

    fn seen_behind(&self, object: ObjectId, seen: Seen) {
        let file = FileId(object.fileid, object.generation);
        let obstacles = match seen {
            Seen::Used => self.state().read_conflicts(file, None, self.now()),
            // No reason to wait for the end of a grace period: what is delegated in it is recalled as well.
            Seen::Changed => match self.state().begin_entry_change(file, None, self.now()) {
                Err(Blocked::By(obstacles)) => obstacles,
                _ => return,
            },
        };
        if obstacles.is_empty() {
            return;
        }
        tracing::debug!(?file, ?seen, "delegations are recalled for what was done on this machine");
        let recaller = self.clone();
        self.inner.world.spawn(Box::pin(async move { recaller.remove(obstacles).await }));
    }
}
