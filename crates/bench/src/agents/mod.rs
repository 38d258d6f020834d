//! Clients on other machines: agents there carry out their part of a run, and begin and end it together.
//!
//! A `Worker` does the work of an agent; the runner has it. The benchmark reaches an agent by ssh, or at a
//! port where it proves that it knows the agent's secret. Both must be of one version. Before each run clocks
//! are compared; an agent then begins at a moment of its own clock. After it they are compared again. An
//! agent that does not answer any more makes the run invalid, and one that is left alone unmounts,
//! disconnects and waits for the next.

mod agent;
mod channel;
mod clock;
mod host;
mod hosts;
mod line;
mod message;
mod secret;
mod server_host;
mod ssh;
mod worker;

pub use secret::Secret;

pub(crate) use agent::{serve, serve_stdio};
pub(crate) use host::Access;
pub(crate) use hosts::{Hosts, Lost, Worked};
pub(crate) use line::Line;
pub(crate) use message::{Job, Portion};
pub(crate) use server_host::{ServerHost, Watch};
pub(crate) use worker::{Failure, Worker};
