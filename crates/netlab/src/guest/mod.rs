//! Guests: a real Linux kernel, run as an ordinary process (user-mode Linux), in a network of its own.
//!
//! A [`Lab`] is a network namespace with a bridge. What is under test runs on the host side of it
//! ([`Lab::command`], [`Lab::host_address`]); each [`Guest`] is one machine on that bridge, which runs one
//! shell script and is then gone. A guest's root is the host's own file system, read-only; its script and the
//! files it is given or leaves lie in one folder that both sides see.
//!
//! A [`Host`] is one more machine on the bridge that runs no kernel of its own: a network namespace with an
//! address and a loopback of its own, for programs that must not share the ports of the host side.
//!
//! [`BridgedNamespaces`] are no lab: they are joined to the network of this machine, for several clients of
//! its own kernel.
//!
//! Everything in a lab is pinned to one core: unpinned, a guest's system calls and its network cost many
//! times more.
//!
//! This module knows how to boot a kernel and how to read its counters ([`mountstats`]). It knows nothing of
//! what is tested.

mod boot;
mod bridged;
mod capture;
mod folder;
mod host;
mod lab;
pub mod mountstats;
mod namespace;
mod options;
mod registers;
mod result;
mod unavailable;

pub use crate::unavailable::Unavailable;
pub use boot::Guest;
pub use bridged::BridgedNamespaces;
pub use host::Host;
pub use lab::Lab;
pub use options::GuestOptions;
pub use result::GuestResult;
