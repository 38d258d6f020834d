//! What who measures and an agent tell each other.

use serde::{Deserialize, Serialize};

use crate::experiment::Size;
use crate::host_load::Counted;
use crate::results::Host;
use crate::run_part::PartUsage;
use crate::workload::Recorded;

/// From who measures.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Asks for the time.
    Ping,
    /// Asks how busy its machine has been.
    Look {
        /// Where the export may be there; the first that exists names the device.
        exports: Vec<String>,
    },
    /// A run.
    Work(Box<Job>),
    /// All clients are ready: the next part begins at that time of the agent's clock.
    Begin {
        /// In nanoseconds.
        at_ns: u64,
    },
    /// All clients have done their work in this part.
    GoOn,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The first thing that it says.
    Hello {
        /// Of the tool.
        version: String,
        /// What it runs on.
        host: Host,
    },
    /// The time of its clock.
    Pong {
        /// In nanoseconds.
        at_ns: u64,
    },
    /// What its machine counts of all who use it.
    Looked(Counted),
    /// Its clients are ready for the next part.
    Ready,
    /// They have done their work in it.
    Finished,
    /// What came of the run, for each part.
    Done(Vec<Portion>),
    /// The run could not be carried out.
    Failed {
        /// Why.
        cause: String,
        /// Whether wrong data were read.
        wrong_data: bool,
    },
}

/// What one agent's clients did in one part of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Portion {
    pub(crate) usage: PartUsage,
    /// Of each client's threads.
    pub(crate) clients: Vec<(u32, Vec<Recorded>)>,
}

/// What an agent needs to carry out its part of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The text of the experiment's file.
    pub(crate) experiment: String,
    pub(crate) size: Size,
    /// Which of the points of that size.
    pub(crate) point: usize,
    /// Clients on all hosts together.
    pub(crate) clients: u32,
    /// Which of them are the agent's.
    pub(crate) numbers: Vec<u32>,
    /// See [`crate::workload::WorkDirectory`].
    pub(crate) directory: String,
    pub(crate) seed: u64,
    /// The server's address.
    pub(crate) server: String,
    /// Its path over NFSv3, where that is another one.
    #[serde(default)]
    pub(crate) path_of_v3: Option<String>,
    pub(crate) version: String,
    pub(crate) delegations: bool,
    /// The kind of client.
    pub(crate) client: String,
    pub(crate) mount_options: Vec<String>,
    /// See [`crate::workload::Station`].
    pub(crate) run: u64,
    pub(crate) block: u32,
}
