//! FREE_ALL: a client host has restarted.

use proto::nlm4::Notify;
use vfs::FileSystem;

use super::context::Context;
use super::lock_table::LockTable;

/// Gives back what the host holds that calls itself so, at the address that the call came from.
pub(super) fn run<F: FileSystem, L: LockTable>(context: &Context<'_, F, L>, arguments: &Notify) {
    context.locks.free_all(context.client(), &arguments.name);
}
