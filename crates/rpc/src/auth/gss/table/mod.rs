//! The contexts of a server: those in creation, and those that are established. Both have bounds, and neither
//! takes room from the other.

mod established;
mod negotiations;

pub(super) use established::{EstablishedBounds, EstablishedContexts};
pub(super) use negotiations::{NegotiationBounds, Negotiations, PeerNetwork, Resumption};
