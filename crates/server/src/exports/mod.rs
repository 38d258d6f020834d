//! What is exported, to whom, and as whom callers act. Every program of the server goes through here.

mod clients;
mod export;
mod list;
mod path;
mod squash;

pub use clients::{Clients, Network};
pub use export::{Export, ExportId, ExportOptions, WeakFlavor};
pub use list::{Exports, InvalidExports};
pub use path::ExportPath;
pub use squash::Squash;
