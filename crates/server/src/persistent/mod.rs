//! Persistent sessions (RFC 8881 §2.10.6.5): what is on stable storage of a modifying request, and what a
//! server that starts makes of it.
//!
//! ```text
//!   SEQUENCE ── intent on disk ── the file system ── the client
//!            1                 2                  3       └── reply on disk, before any later intent
//! ```
//! A crash at 1 or 2 has changed nothing. At 3 only the intent may be there, and the file system is asked
//! what became of it, before the first request. The finding is written down in the intent's place: the next
//! server would find a file system that others have changed since.
//!
//! The reply is not waited for: a client that has it asks no more. What the file system shows by then is what
//! the request did, for another that changes the same names on a persistent session has its intent written
//! first, and this reply with it.

mod record;
mod repetitions;
mod resolve;

pub(crate) use record::{
    Change, Entry, Intent, Moved, Named, SessionRecord, Setting, SlotContents, SlotRecord, Xattr,
    XattrSetting,
};
pub(crate) use repetitions::{Repetition, Repetitions, SlotKey};
pub(crate) use resolve::{Resolved, resolve};
