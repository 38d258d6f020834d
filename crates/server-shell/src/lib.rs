//! An NFS server as a library: sockets, clock, tasks, files and configuration around the service of the
//! crate `server`, on tokio.
//!
//! [`Server::builder`] serves any [`vfs::FileSystem`]. [`Running::start`] serves the exports of
//! [`ServeOptions`], which `primetime serve` reads from a [`Config`].

#![forbid(unsafe_code)]

mod back_ends;
mod builder;
mod certificate;
mod config;
pub mod control;
mod descriptors;
mod exports;
mod host_caller;
mod identity;
mod kerberos;
mod memory_limit;
mod memory_use;
mod metrics;
mod names;
mod observe;
mod options;
mod own_work;
mod port_map_mode;
mod records;
mod side_listeners;
mod start;
mod state_directory;
mod state_files;
mod threads;
mod world;

pub use back_ends::{BackEnds, OpenBackEnd, Opening};
pub use builder::{Server, ServerBuilder};
pub use certificate::TlsTable;
pub use config::{Config, ConfigError, ConfigLimits};
pub use exports::{
    BackEndChoice, CertificateTable, ClientTable, ExportSpec, ExportTable, ExportsError, Reloaded, SquashKey,
};
pub use kerberos::{KerberosError, KerberosTable, PrincipalTable};
pub use options::ServeOptions;
pub use port_map_mode::PortMapMode;
pub use side_listeners::SideError;
pub use start::{Running, StartError};
pub use state_directory::default_state_directory;
pub use threads::ServingRuntime;

/// Lets the modes that clients give stand as they are.
pub fn clear_umask() {
    rustix::process::umask(rustix::fs::Mode::empty());
}
