//! `primetime tar`: archives unpacked onto a server, and made of what is on one.

mod create;
mod extract;

use std::path::PathBuf;

use clap::Args;
use client::Url;

use crate::failure::Failure;
use crate::remote::{Common, remote_path, run};

/// The arguments of `tar`.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true).args(["extract", "create"]),
    after_help = "\
Examples:
  primetime tar -x -f sources.tar.gz -C nfs://fileserver/export/src
  tar -c . | primetime tar -x -C nfs://fileserver/export/backup
  primetime tar -c -C nfs://fileserver/export/src | zstd > src.tar.zst

Archives that gzip or zstd has compressed are recognised; others are decompressed by a command in front. \
What is made is not
compressed. Nothing is written outside of the directory, whatever an archive says.
Exit codes: 0 good, 1 something could not be packed or unpacked, 3 wrong usage, or the server cannot be \
reached,
4 a server lists names that no file can have, which were left out."
)]
pub(crate) struct Arguments {
    /// Unpack an archive
    #[arg(short = 'x', long)]
    extract: bool,
    /// Make an archive
    #[arg(short = 'c', long)]
    create: bool,
    /// The archive; - is standard input or output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// The directory to unpack into, which is made if it is not there, or to pack,
    /// nfs://HOST:PORT/PATH?OPTIONS
    #[arg(short = 'C', long, value_name = "URL", value_parser = remote_path::url, required = true)]
    directory: Option<Url>,
    /// Keep the permissions of the archive with set-id bits, as root always does, and ignore the umask
    #[arg(short = 'p', long, visible_alias = "same-permissions", conflicts_with = "create")]
    preserve_permissions: bool,
    /// Keep the owners of the archive; servers let only root do that
    #[arg(long, conflicts_with = "create")]
    same_owner: bool,
    /// Go on after something could not be unpacked, instead of stopping there
    #[arg(long, conflicts_with = "create")]
    continue_on_error: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs `primetime tar`.
pub(crate) fn tar(arguments: &Arguments) -> Result<(), Failure> {
    let url = arguments.directory.as_ref().ok_or_else(|| Failure::set_up("name a directory with -C"))?;
    run(&arguments.common, async |session| {
        let spot = session.spot(url).await?;
        session.progress.begin(url);
        match arguments.create {
            true => create::create(&session, arguments, &spot).await,
            false => extract::extract(&session, arguments, &spot).await,
        }
    })
}

impl Arguments {
    fn is_standard(&self) -> bool {
        self.file.as_os_str() == "-"
    }
}
