//! `primetime stat`: everything that a server says of an object.

use clap::Args;
use client::{FileType, Url};
use jiff::tz::TimeZone;

use super::ls::{Entry, json};
use crate::failure::Failure;
use crate::remote::text::{escaped, mode_string, type_name};
use crate::remote::time::full;
use crate::remote::{Common, Output, Session, Spot, Work, remote_path, run};

/// The arguments of `stat`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  primetime stat nfs://fileserver/export/data
  primetime stat --json nfs://fileserver/export/data | jq .change

A symbolic link is shown itself, unless -L is given.
Exit codes: 0 good, 1 something could not be looked at, 3 wrong usage, or the server cannot be reached.")]
pub(crate) struct Arguments {
    /// Objects, nfs://HOST:PORT/PATH?OPTIONS
    #[arg(value_name = "URL", required = true, value_parser = remote_path::url)]
    urls: Vec<Url>,
    /// Show each as a JSON object in a line of its own
    #[arg(long)]
    json: bool,
    /// Follow symbolic links
    #[arg(short = 'L', long)]
    dereference: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs `primetime stat`.
pub(crate) fn stat(arguments: &Arguments) -> Result<(), Failure> {
    run(&arguments.common, async |session| {
        let mut output = Output::new();
        for url in &arguments.urls {
            let spot = session.spot(url).await?;
            if let Some(entry) = look_at(&session, spot, arguments.dereference).await {
                show(&entry, arguments.json, &mut output)?;
            }
        }
        output.flush()
    })
}

async fn look_at(session: &Session, spot: Spot, follow: bool) -> Option<Entry> {
    let found = match follow {
        true => spot.client.metadata(&spot.path).await,
        false => spot.client.symlink_metadata(&spot.path).await,
    };
    let target = match found {
        Ok(found) if found.kind == FileType::Symlink => spot.client.read_link(&spot.path).await.map(Some),
        _ => Ok(None),
    };
    match (found, target) {
        (Ok(attributes), Ok(target)) => {
            let name = remote_path::file_name(spot.url.path()).unwrap_or(b"/").to_vec().into();
            Some(Entry::given(name, spot.url, attributes, target))
        }
        (Err(error), _) | (_, Err(error)) => {
            session.failed("look at", &spot.url, &error);
            None
        }
    }
}

fn show(entry: &Entry, as_json: bool, output: &mut Output) -> Work {
    if as_json {
        return output.line(&json(entry)?);
    }
    let Some(known) = &entry.attributes else { return Ok(()) };
    let zone = TimeZone::system();
    let target = entry.target.as_ref().map(|target| format!(" -> {}", escaped(target))).unwrap_or_default();
    output.line(&format!("  File: {}{target}", entry.url()))?;
    output.line(&format!("  Type: {}", type_name(known.kind)))?;
    output.line(&format!("  Size: {} bytes, {} in use", known.size, known.used))?;
    output.line(&format!("  Mode: {:04o} {}", known.mode, mode_string(known.kind, known.mode)))?;
    output.line(&format!(" Owner: {}:{}", known.uid, known.gid))?;
    output.line(&format!(" Links: {}", known.links))?;
    if matches!(known.kind, FileType::Block | FileType::Character) {
        output.line(&format!("Device: {}, {}", known.device.0, known.device.1))?;
    }
    output.line(&format!("Fileid: {} on file system {:#x}", known.fileid, known.fsid))?;
    if let Some(change) = known.change {
        output.line(&format!("Change: {change}"))?;
    }
    output.line(&format!("Access: {}", full(known.accessed, &zone)))?;
    output.line(&format!("Modify: {}", full(known.modified, &zone)))?;
    output.line(&format!(" Inode: {}", full(known.changed, &zone)))
}
