//! `primetime cat`: the contents of files, one after the other.

use clap::Args;
use client::{OpenOptions, Url};

use crate::failure::Failure;
use crate::remote::{Common, Output, Session, Spot, Work, remote_path, run};

/// How much is asked for at a time, in bytes; the client reads ahead of it.
const PART_BYTES: usize = 1 << 20;

/// The arguments of `cat`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  primetime cat nfs://fileserver/export/notes.txt
  primetime cat nfs://fileserver/export/part1 nfs://fileserver/export/part2 | tar -t

Exit codes: 0 good, 1 a file could not be read, 3 wrong usage, or the server cannot be reached.")]
pub(crate) struct Arguments {
    /// Files, nfs://HOST:PORT/PATH?OPTIONS; bytes of a name that an address cannot hold are written %XX
    #[arg(value_name = "URL", required = true, value_parser = remote_path::url)]
    urls: Vec<Url>,
    #[command(flatten)]
    common: Common,
}

/// Runs `primetime cat`.
pub(crate) fn cat(arguments: &Arguments) -> Result<(), Failure> {
    run(&arguments.common, async |session| {
        let mut output = Output::new();
        for url in &arguments.urls {
            let spot = session.spot(url).await?;
            session.progress.begin(url);
            show(&session, &spot, &mut output).await?;
        }
        output.flush()
    })
}

async fn show(session: &Session, spot: &Spot, output: &mut Output) -> Work {
    let file = match spot.client.open(&spot.path, OpenOptions::new().read(true)).await {
        Ok(file) => file,
        Err(error) => {
            session.failed("read", &spot.url, &error);
            return Ok(());
        }
    };
    let mut offset = 0;
    let read = loop {
        match file.read_at(offset, PART_BYTES).await {
            Ok(data) if data.is_empty() => break Ok(()),
            Ok(data) => {
                offset += data.len() as u64;
                session.progress.add_bytes(data.len() as u64);
                output.write(&data)?;
            }
            Err(error) => break Err(error),
        }
    };
    if let Err(error) = read.and(file.close().await) {
        session.failed("read", &spot.url, &error);
    }
    Ok(())
}
