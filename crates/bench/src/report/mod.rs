//! `report.html`: one file with everything in it, made from the result document alone; and `summary.md`, its
//! table.
//!
//! Owns the page: its text, tables, figures and looks. The page needs no network: styles, figures' code and
//! data are inside, and its content security policy forbids it to fetch anything. Whatever comes from the
//! results is data that may hold anything, so it is escaped wherever it is put.

mod escape;
mod figures;
mod latency_tables;
mod machine_table;
mod markdown;
mod over_time;
mod page;
mod studies;
mod tables;

use std::path::Path;

use crate::results::{Error, Results, write_whole};

pub(crate) use escape::escape;
pub(crate) use latency_tables::latency_ratios;
pub(crate) use machine_table::disk_work;
pub use markdown::markdown;
pub use page::html;
pub(crate) use page::{NO_SCRIPT_POLICY, STYLE};
pub(crate) use tables::table;

/// Writes `report.html` and `summary.md` into `directory`, each whole or not at all.
///
/// # Errors
/// When a file cannot be written.
pub fn write(results: &Results, directory: &Path) -> Result<(), Error> {
    write_whole(&directory.join("report.html"), html(results).as_bytes())?;
    write_whole(&directory.join("summary.md"), markdown(results).as_bytes())
}
