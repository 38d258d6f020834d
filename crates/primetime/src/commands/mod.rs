//! The subcommands.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod serve;
