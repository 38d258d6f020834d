//! Persistent sessions (RFC 8881 §2.10.6.5): what is on stable storage of a modifying request, and what a server that starts
//! makes of it.
//!
//! ```text
//!   SEQUENCE ── intent on disk ── the file system ── … ── reply on disk ── the client
//!            1                 2                  3                     4
//! ```
//! A crash at 1 or 2 has changed nothing; at 4 the reply is there. At 3 only the intent is, and the file system is asked what
//! became of it, before the first request. The finding is written down in the intent's place: the next server would find a file
//! system that others have changed since.

mod record;
mod repetitions;
mod resolve;

pub(crate) use record::{Change, Entry, Intent, Moved, Named, SessionRecord, Setting, SlotKept, SlotRecord};
pub(crate) use repetitions::{Place, Repetition, Repetitions};
pub(crate) use resolve::{Resolved, resolve};
