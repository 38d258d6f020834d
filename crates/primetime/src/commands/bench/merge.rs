//! `primetime bench merge`: several results in one report.

use std::path::PathBuf;
use std::str::FromStr;

use bench::compare::merge;
use bench::report;
use bench::results::write_csv;
use bench::terminal::{Style, summary};
use clap::Args;

use super::{load, print};
use crate::failure::Failure;

/// Arguments of `primetime bench merge`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Where the report and results.json of all together go
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// Results, a directory or a file, and the name that tells them from the others: a server's, or a
    /// client's
    #[arg(value_name = "NAME=DIR", required = true)]
    parts: Vec<Part>,
}

/// One of the results.
#[derive(Debug, Clone)]
struct Part {
    name: String,
    path: PathBuf,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(Self { name: name.to_owned(), path: path.into() })
            }
            _ => Err("give results a name, as in knfsd=DIR".to_owned()),
        }
    }
}

/// Puts results together, and writes everything that follows from them.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut parts = Vec::new();
    for part in &arguments.parts {
        parts.push((part.name.clone(), load(&part.path)?));
    }
    let results = merge(parts).map_err(Failure::set_up)?;
    let out = &arguments.out;
    std::fs::create_dir_all(out).map_err(|error| {
        Failure::set_up(format!("cannot make the directory {}: {error}; name another", out.display()))
    })?;
    results.save(&out.join("results.json")).map_err(Failure::set_up)?;
    write_csv(&results, out).map_err(Failure::set_up)?;
    report::write(&results, out).map_err(Failure::set_up)?;
    let page = out.join("report.html");
    print(&format!("{}\nThe report is {}\n", summary(&results, Style::of_stdout()), page.display()))
}
