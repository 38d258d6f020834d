//! What the commands on NFS addresses have in common: addresses, connections, progress, and what is said at
//! the end. Knows nothing of what each command does.

pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod remote_path;
mod sentence;
mod servers;
pub(crate) mod session;
pub(crate) mod text;
pub(crate) mod time;

pub(crate) use output::Output;
pub(crate) use remote_path::CopyEnd;
pub(crate) use sentence::sentence;
pub(crate) use servers::Spot;
pub(crate) use session::{Common, End, Session, Work, run};
