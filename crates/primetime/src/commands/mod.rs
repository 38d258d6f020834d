//! The subcommands.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod ctl;
pub(crate) mod mount;
pub(crate) mod serve;
