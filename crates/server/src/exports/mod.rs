//! What is exported, to whom, and as whom callers act. Every program of the server goes through here.

mod back_end;
mod caller;
mod certificates;
mod clients;
mod directory;
mod export;
mod junctions;
mod live;
mod mount_points;
mod path;
mod pseudo;
mod rule;
mod set;
mod squash;
mod transport_security;

pub use back_end::BackEnd;
pub use caller::{Caller, Denied, OnlyCall, Version, Versions};
pub use certificates::CertificatePattern;
pub use clients::{Clients, NamePattern, Network};
pub use directory::{HostDirectory, Question};
pub use export::{Export, ExportId, ExportOptions};
pub(crate) use junctions::Leads;
pub use live::{Exports, ExportsInUse};
pub use mount_points::{MountPoint, MountPoints, NoPlace};
pub use path::ExportPath;
pub use pseudo::{PseudoNode, PseudoTree};
pub use rule::{Flavor, Rule};
pub use set::{ExportSet, InvalidExports, Reached, Unreachable};
pub use squash::Squash;
pub use transport_security::{TransportSecurities, TransportSecurity};
