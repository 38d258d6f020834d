//! `primetime rm`: removes files, and trees with everything in them.

use clap::Args;
use client::{TreeOptions, Url};

use crate::failure::Failure;
use crate::remote::{Common, CopyEnd, Session, Spot, remote_path, run};

/// The arguments of `rm`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  primetime rm nfs://fileserver/export/old.log
  primetime rm -r nfs://fileserver/export/build

Symbolic links are removed, not followed. Nobody is asked anything.
Exit codes: 0 good, 1 something could not be removed, 3 wrong usage, or the server cannot be reached,
4 a server lists names that no file can have, which were left out.")]
pub(crate) struct Arguments {
    /// What to remove, nfs://HOST:PORT/PATH?OPTIONS
    #[arg(value_name = "URL", required = true, value_parser = remote_path::url)]
    urls: Vec<Url>,
    /// Remove directories with everything in them
    #[arg(short, long, visible_short_alias = 'R')]
    recursive: bool,
    /// What is not there is no failure
    #[arg(short, long)]
    force: bool,
    /// Remove everything in the root of a server, an export or a file system, too
    #[arg(long)]
    no_preserve_root: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs `primetime rm`.
pub(crate) fn rm(arguments: &Arguments) -> Result<(), Failure> {
    run(&arguments.common, async |session| {
        for url in &arguments.urls {
            let spot = session.spot(url).await?;
            session.progress.begin(url);
            match remove(&session, &spot, arguments).await {
                Err(error) if arguments.force && error.is_not_found() => {}
                Err(error) => session.failed("remove", url, &error),
                Ok(()) => {}
            }
        }
        Ok(())
    })
}

async fn remove(session: &Session, spot: &Spot, arguments: &Arguments) -> client::Result<()> {
    let found = spot.client.symlink_metadata(&spot.path).await?;
    if !found.is_directory() {
        return spot.client.remove_file(&spot.path).await;
    }
    if !arguments.recursive {
        session.refused(format_args!("cannot remove {}: it is a directory; give -r to remove it", spot.url));
        return Ok(());
    }
    if !arguments.no_preserve_root && is_root(spot, found.fsid).await? {
        session.refused(format_args!(
            "{} is the root of a server, an export or a file system; give --no-preserve-root to remove \
             everything in it",
            spot.url
        ));
        return Ok(());
    }
    let _unfinished = session.making(format_args!("removing {}", spot.url));
    let options = TreeOptions { progress: session.progress.of_tree(), ..TreeOptions::default() };
    let report = spot.client.remove_tree(&spot.path, &options).await?;
    session.report("remove", &CopyEnd::Remote(spot.url.clone()), &report);
    Ok(())
}

/// True for what has nothing above it, or something of another file system.
async fn is_root(spot: &Spot, fsid: u64) -> client::Result<bool> {
    let Some(name) = remote_path::file_name(&spot.path) else { return Ok(true) };
    let above = remote_path::above(&spot.path, name);
    Ok(spot.client.metadata(above).await?.fsid != fsid)
}
