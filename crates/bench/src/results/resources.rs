//! What a run took of the machines that clients and server ran on.

use serde::{Deserialize, Serialize};

/// Processor time and disks, from gate to gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Share of the time of all processors in which they worked, for whomever, from 0 to 1.
    pub busy: f64,
    /// Processor time of the clients, in seconds; of the kernel's for them, too.
    pub client_seconds: f64,
    /// The same of the benchmark's own server; none of a server that somebody else started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_seconds: Option<f64>,
    /// Share of the time in which the busiest disk of this machine had requests, from 0 to 1; none where no disk is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy: Option<f64>,
    /// As [`Resources::busy`], of the server's machine; none unless an agent there tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_busy: Option<f64>,
    /// As [`Resources::disk_busy`], of the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_disk_busy: Option<f64>,
}
