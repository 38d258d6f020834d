//! Networks in one machine whose links treat packets: delay, jitter, rate, loss, and queues of a bounded
//! length in front of one bottleneck. What runs over them is the kernel's own TCP, so that slow start, full
//! buffers and a card's transmit queues show what they do to flows.
//!
//! A [`Network`] is one server and some clients, each in a network namespace of its own. Every one of them
//! has a TUN device, and one thread moves the packets between these. Namespaces and devices vanish with the
//! process, however it ends.
//!
//! What happens to a packet is decided by pure state with a virtual clock (`switch`, `direction`, `queues`);
//! the rest reads and writes descriptors.

mod access;
mod calibration;
mod congestion;
mod counters;
mod direction;
mod endpoint;
mod engine;
mod flow;
mod netem;
mod network;
mod options;
mod queues;
mod streams;
mod switch;

pub use access::{Access, access, in_user_namespace};
pub use calibration::{Calibration, LinkCalibration};
pub use congestion::has_congestion_control;
pub use counters::{DirectionCounters, FlowCounters, Traffic};
pub use endpoint::Endpoint;
pub use flow::Flow;
pub use netem::{NetemLink, netem};
pub use network::Network;
pub use options::{DirectionOptions, Discipline, NetworkOptions, QueueLimit, TcpOptions};
pub use streams::{StreamOptions, Streams};
pub use switch::NetworkCounters;

/// Bytes of the largest IP packet.
pub const MTU_BYTES: usize = 1500;
