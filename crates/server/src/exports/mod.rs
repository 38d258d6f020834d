//! What is exported, to whom, and as whom callers act. Every program of the server goes through here.

mod caller;
mod clients;
mod export;
mod live;
mod path;
mod rule;
mod set;
mod squash;

pub use caller::{Caller, Denied, Version, Versions};
pub use clients::{Clients, Network};
pub use export::{Export, ExportId, ExportOptions};
pub use live::{Exports, ExportsInUse};
pub use path::ExportPath;
pub use rule::{Flavor, Rule};
pub use set::{ExportSet, InvalidExports, Unreachable};
pub use squash::Squash;
