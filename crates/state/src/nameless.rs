//! Files that lose their last name while somebody has them open (RFC 8881 §18.25.4): they are kept until
//! nobody has.
//!
//! ```text
//!   open ──name_removed──▶ open and nameless ──keep──▶ kept ──the last open and delegation end──▶ let go
//! ```
//! What keeps a file is the file system's, and not looked at here.

use std::any::Any;
use std::fmt;
use std::sync::atomic::Ordering;

use crate::file::FileState;
use crate::{FileId, State};

/// Keeps a file without a name for as long as it is not dropped. Dropping it may call the state.
pub struct RetainedFile(#[allow(dead_code, reason = "held to be dropped")] Box<dyn Any + Send + Sync>);

impl RetainedFile {
    /// `held` is what keeps the file.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for RetainedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// What came of keeping a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It is kept.
    Kept,
    /// Nobody has it open any more.
    Unwanted,
    /// Too many are kept already: it is gone when nobody uses it, though it is open.
    TooMany,
}

impl State {
    /// Changes whenever a file may have lost its last name, or what kept it. An OPEN that sees the same
    /// before it looks for its file and when it has opened it need not ask whether the file still has a name.
    pub fn removals(&self) -> u64 {
        self.files.removals.load(Ordering::SeqCst)
    }

    /// Notes that a file has lost a name. True when somebody has it open: if it was the last name,
    /// [`State::keep`] is due.
    pub fn name_removed(&self, file: FileId) -> bool {
        // An OPEN is in the table before it looks at this, so one of the two sees the other.
        self.files.removals.fetch_add(1, Ordering::SeqCst);
        let shard = self.files.shard(file);
        shard.files.lock().get(&file).is_some_and(|state| state.has_holders())
    }

    /// Keeps a file without a name until its last open and delegation end, unless `max` files are kept
    /// already.
    pub fn keep(&self, file: FileId, keeper: RetainedFile, max: usize) -> Keeping {
        let mut keeper = Some(keeper);
        self.files.with(file, |state, _| {
            if !state.has_holders() {
                return Keeping::Unwanted;
            }
            if state.keeper.is_some() {
                return Keeping::Kept;
            }
            let counted = self
                .files
                .kept
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |kept| (kept < max).then_some(kept + 1));
            if counted.is_err() {
                return Keeping::TooMany;
            }
            state.keeper = keeper.take();
            Keeping::Kept
        })
    }

    /// Files that are kept without a name.
    pub fn kept_files(&self) -> usize {
        self.files.kept.load(Ordering::SeqCst)
    }
}

impl FileState {
    /// True while a client may use the file by an open or a grant.
    pub(crate) fn has_holders(&self) -> bool {
        !self.opens.is_empty() || !self.grants.is_empty()
    }
}
