//! What is exported: opening the directories, and replacing the exports of a running server.

mod ids;
mod keeper;
mod spec;

#[cfg(test)]
mod tests;

pub use keeper::{ExportsError, Reloaded};
pub(super) use keeper::{Keeper, check_state_is_outside};
pub use spec::ExportSpec;
