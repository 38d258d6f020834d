//! The subcommands.

pub(crate) mod bench;
pub(crate) mod cat;
pub(crate) mod completions;
pub(crate) mod cp;
pub(crate) mod ctl;
pub(crate) mod find;
pub(crate) mod ls;
pub(crate) mod mkdir;
pub(crate) mod mount;
pub(crate) mod rm;
pub(crate) mod serve;
pub(crate) mod stat;
pub(crate) mod tar;
