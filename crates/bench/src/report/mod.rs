//! `report.html`: one file with everything in it, made from the result document alone.
//!
//! Owns the page: its text, tables, figures and looks. The page needs no network: styles, figures' code and data are
//! inside, and its content security policy forbids it to fetch anything. Whatever comes from the results is data that
//! may hold anything, so it is escaped wherever it is put.

mod escape;
mod figures;
mod page;
mod studies;
mod tables;

use std::path::Path;

use crate::results::{Error, Results, write_whole};

pub(crate) use escape::escape;
pub use page::html;
pub(crate) use page::{NO_SCRIPT_POLICY, STYLE};
pub(crate) use tables::table;

/// Writes the page to `path`, whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub fn write(results: &Results, path: &Path) -> Result<(), Error> {
    write_whole(path, html(results).as_bytes())
}
