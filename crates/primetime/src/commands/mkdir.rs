//! `primetime mkdir`: makes directories.

use std::io::ErrorKind;

use clap::Args;
use client::{SetAttributes, Url};

use crate::failure::Failure;
use crate::remote::{Common, Session, Spot, remote_path, run};

/// The arguments of `mkdir`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  primetime mkdir nfs://fileserver/export/new
  primetime mkdir -p -m 750 nfs://fileserver/export/a/b/c

Exit codes: 0 good, 1 a directory could not be made, 3 wrong usage, or the server cannot be reached.")]
pub(crate) struct Arguments {
    /// Directories, nfs://HOST:PORT/PATH?OPTIONS
    #[arg(value_name = "URL", required = true, value_parser = remote_path::url)]
    urls: Vec<Url>,
    /// Make what is missing above them too; a directory that is there is good
    #[arg(short, long)]
    parents: bool,
    /// The permissions in octal digits, whatever the umask [default: 777 without the bits of the umask]
    #[arg(short, long, value_name = "MODE", value_parser = mode)]
    mode: Option<u32>,
    #[command(flatten)]
    common: Common,
}

fn mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| format!("`{text}` is no mode: up to four octal digits, such as 750"))
}

/// Runs `primetime mkdir`.
pub(crate) fn mkdir(arguments: &Arguments) -> Result<(), Failure> {
    run(&arguments.common, async |session| {
        for url in &arguments.urls {
            let spot = session.spot(url).await?;
            if let Err(error) = make(&session, &spot, arguments).await {
                session.failed("make the directory", url, &error);
            }
        }
        Ok(())
    })
}

async fn make(session: &Session, spot: &Spot, arguments: &Arguments) -> client::Result<()> {
    let usual = 0o777 & !session.umask;
    let Some(name) = remote_path::file_name(&spot.path) else {
        // The root of the server.
        return match arguments.parents {
            true => spot.client.metadata(&spot.path).await.map(drop),
            false => spot.client.create_dir(&spot.path, usual).await,
        };
    };
    let above = remote_path::above(&spot.path, name);
    if arguments.parents && remote_path::file_name(above).is_some() {
        // What is above must let its owner go on.
        spot.client.create_dir_all(above, usual | 0o300).await?;
    }
    match spot.client.create_dir(&spot.path, arguments.mode.unwrap_or(usual)).await {
        Err(error) if arguments.parents && error.kind() == ErrorKind::AlreadyExists => {
            match spot.client.metadata(&spot.path).await?.is_directory() {
                true => Ok(()),
                false => Err(error),
            }
        }
        Err(error) => Err(error),
        Ok(()) => match arguments.mode {
            // Some servers leave these bits out where a directory is made.
            Some(mode) if mode & 0o7000 != 0 => {
                let set = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
                spot.client.set_metadata(&spot.path, set).await
            }
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_octal() {
        assert_eq!(mode("750"), Ok(0o750));
        assert_eq!(mode("1777"), Ok(0o1777));
        assert!(mode("888").is_err() && mode("17777").is_err() && mode("u+x").is_err());
    }
}
