//! How to set up a [`Local`](super::Local).

use std::path::PathBuf;

/// How to set up a [`Local`](super::Local).
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// Where the key of the handles is kept, an existing directory that only the server can read. Without
    /// one, handles do not survive the process.
    pub state_dir: Option<PathBuf>,
    /// Tells apart file systems that give their objects the same numbers, as two new ones do: handles of one
    /// mean nothing in another. Must be the same after a restart.
    pub name_space: u32,
    /// Whether changes are on disk when they are acknowledged.
    pub durability: Durability,
    /// Refuse every change.
    pub read_only: bool,
    /// How objects are found by their handles.
    pub handles: HandleMode,
    /// Whose permissions count.
    pub identities: IdentityMode,
    /// The most file descriptors that are kept open; by default half of what the process may have.
    pub descriptors_max: Option<usize>,
    /// The most inodes whose place is remembered where an index is used.
    pub hints_max: usize,
    /// The most threads that wait for the disk.
    pub threads_max: usize,
    /// The most requests that wait for such a thread; beyond, a request does its own waiting.
    pub queue_max: usize,
    /// How a thread waits for the disk itself, for the only request of its line ([`crate::OnlyRequest`]).
    /// Without one, every wait is another thread's.
    pub wait_in_place: Option<WaitInPlace>,
    /// The most objects that are watched for what other processes do to them; with 0 it is never known. Each
    /// keeps an inode in the kernel's memory.
    pub watches_max: usize,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self {
            state_dir: None,
            name_space: 0,
            durability: Durability::Sync,
            read_only: false,
            handles: HandleMode::Auto,
            identities: IdentityMode::Auto,
            descriptors_max: None,
            hints_max: 1 << 20,
            threads_max: 16,
            queue_max: 4096,
            wait_in_place: None,
            watches_max: 0,
        }
    }
}

/// Runs a job that waits for the disk on the calling thread, and returns true; or false, without running it,
/// where nobody would go on with what else that thread has to do.
pub type WaitInPlace = fn(&mut dyn FnMut()) -> bool;

/// Whether changes are on disk when they are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// What the protocol calls stable is on disk.
    #[default]
    Sync,
    /// Nothing waits for the disk, COMMIT included. A crash of the host loses what was acknowledged.
    Async,
}

/// How objects are found by their handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandleMode {
    /// With the kernel's handles where the process may open them, else with an index.
    #[default]
    Auto,
    /// With the kernel's handles (`open_by_handle_at`), which needs CAP_DAC_READ_SEARCH.
    Kernel,
    /// With an index of places, and a walk of the tree where it is wrong.
    Index,
}

/// Whose permissions count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdentityMode {
    /// The callers' where the process can act for them, else those of the process.
    #[default]
    Auto,
    /// The callers'; needs CAP_SETUID and CAP_SETGID.
    Callers,
    /// Those of the process.
    Process,
}
