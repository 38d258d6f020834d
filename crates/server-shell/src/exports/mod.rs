//! What is exported: opening the directories, and replacing the exports of a running server.

mod certificates;
mod classic;
mod export_source;
mod export_store;
mod hosts;
mod ids;
mod mount_points;
mod overlap;
mod probe;
mod spec;
mod tables;
mod terms;
mod words;

#[cfg(test)]
mod tests;

pub use certificates::CertificateTable;
pub(super) use classic::parse as parse_classic;
pub(super) use export_source::check_state_is_outside;
pub(super) use export_store::{ExportStore, Exported, Terms};
pub use export_store::{ExportsError, Reloaded};
pub(super) use ids::FILE as IDS_FILE;
pub(super) use probe::Probes;
pub use spec::{BackEndChoice, ExportSpec};
pub(super) use tables::specs;
pub use tables::{ClientTable, ExportTable, SquashKey};
pub(super) use terms::nearest;
