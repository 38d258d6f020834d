//! What is exported: opening the directories, and replacing the exports of a running server.

mod ids;
mod keeper;
mod spec;

#[cfg(test)]
mod tests;

pub(super) use keeper::{Exported, Keeper, check_state_is_outside};
pub use keeper::{ExportsError, Reloaded};
pub use spec::ExportSpec;
