//! FREE_ALL: a client host has restarted.

use proto::nlm4::Notify;
use vfs::FileSystem;

use super::context::Context;
use super::lock_table::LockTable;
use crate::hosts::is_privileged;

/// Frees everything of the host of this name at the address of the caller.
///
/// It must come from a privileged port, like NOTIFY: other users of the host could free its locks
/// otherwise. The procedure has no result (X/Open C702 §14.4), so the caller is not told that its call was
/// ignored.
pub(super) fn run<F: FileSystem, L: LockTable>(context: &Context<'_, F, L>, arguments: &Notify) {
    if is_privileged(context.call.peer) {
        context.locks.free_all(context.client(), &arguments.name);
    } else {
        tracing::debug!(client = %context.client(), "FREE_ALL came from an unprivileged port and is ignored");
    }
}
