//! Files that lose their last name while clients have them open (RFC 8881 §18.25.4): they stay until the last
//! open and delegation end, as on a local file system. A restart of the server does not keep them.

use state::{FileId, Keeping, RetainedFile};
use vfs::{FileKind, FileSystem, Request};

use super::Delegations;

impl Delegations {
    /// To be called when a name of `node` was removed or replaced, or may have been. The caller has held
    /// the node since before.
    pub(crate) async fn name_removed<F: FileSystem>(&self, fs: &F, node: &F::Node) {
        if self.core.state().name_removed(key(fs, node)) {
            self.keep_if_nameless(fs, node).await;
        }
    }

    /// Keeps a file until its last open and delegation end, if it has no name.
    pub(crate) async fn keep_if_nameless<F: FileSystem>(&self, fs: &F, node: &F::Node) {
        // Where the attributes cannot be had it may be without a name; to keep one that has a name does no
        // harm.
        if let Ok(found) = fs.attributes(Request::of_server(), node).await
            && (found.links > 0 || found.kind != FileKind::Regular)
        {
            return;
        }
        let (file, max) = (key(fs, node), fs.nameless_max());
        if self.core.state().keep(file, RetainedFile::new(node.clone()), max) == Keeping::TooMany {
            tracing::warn!(
                fileid = file.0,
                max,
                "an open file was removed and is not kept: too many are kept already"
            );
        }
    }
}

fn key<F: FileSystem>(fs: &F, node: &F::Node) -> FileId {
    let id = fs.object_id(node);
    FileId(id.fileid, id.generation)
}
