//! One part of a run: its beginning and end together with other clients, and what was used in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::host_load::Load;
use crate::results::Resources;
use crate::workload::{Counters, Curve};

/// Decides when clients go on, where others work at the same time.
pub(crate) trait Conductor {
    /// Reports that the clients are ready for a part. Resolves when they may begin.
    async fn ready(&mut self, part: usize);
    /// Reports that the clients have done their work in a part. Resolves when all others have, too.
    async fn finished(&mut self, part: usize);
}

/// What a part used of the network and of machines.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartUsage {
    /// What crossed the network on all clients together.
    pub(crate) counters: Counters,
    /// The share of the processors that the clients used.
    pub(crate) busy: f64,
    /// What was used of the clients' machine.
    pub(crate) resources: Option<Resources>,
    /// The clients' reads from the server over time; `None` unless they are recorded, and from other
    /// machines.
    #[serde(skip)]
    pub(crate) fetched: Option<Curve>,
}

impl PartUsage {
    /// Adds how busy the machine of the server was meanwhile.
    pub(crate) fn add_server_load(&mut self, load: Load) {
        if let Some(resources) = &mut self.resources {
            (resources.server_busy, resources.server_disk_busy) = (load.processors, load.disk);
            (resources.server_io_wait, resources.server_disk) = (load.io_wait, load.volume);
        }
    }
}

/// The curves of all threads, by client.
pub(crate) type Curves = BTreeMap<u32, Vec<Curve>>;
