//! Servers that nobody here wrote: NFS-Ganesha, a process in the lab, and the kernel's, in a guest.

pub(crate) mod ganesha;
pub(crate) mod knfsd;

use std::net::IpAddr;

/// How a foreign server is reached.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) host: IpAddr,
    pub(crate) port: u16,
    /// Where MOUNT listens.
    pub(crate) mount_port: u16,
    /// What all versions call the export.
    pub(crate) path: &'static str,
}
