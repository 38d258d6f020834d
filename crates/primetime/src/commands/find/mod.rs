//! `primetime find`: what is in a tree and passes some tests.

mod tests_of;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use clap::Args;
use client::{Attributes, Batch, Descend, Time, TreeEntry, TreeOptions, Url};

use crate::failure::Failure;
use crate::remote::{Common, CopyEnd, End, Output, Session, Spot, Work, remote_path, run};
use tests_of::{Glob, Number, Size, Tests, Type};

/// Objects that are removed together.
const REMOVALS_PER_BATCH: usize = 4096;

/// The arguments of `find`.
#[derive(Debug, Args)]
#[command(after_help = "\
Tests may be written with one dash, as find(1) has them; an object is shown when it passes all of them.
Examples:
  primetime find nfs://fileserver/export -name '*.log' -size +10M
  primetime find nfs://fileserver/export/tmp -type f -mtime +30 -delete
  primetime find nfs://fileserver/export -newer ./stamp -print0 | xargs -0 primetime cat

What is found is shown as an address, with bytes that it cannot hold as %XX. Numbers: N exactly, +N more, -N \
less.
Exit codes: 0 good, 1 something could not be listed or removed, 3 wrong usage, or the server cannot be \
reached,
4 a server lists names that no file can have, which were left out.")]
pub(crate) struct Arguments {
    /// Where to begin, nfs://HOST:PORT/PATH?OPTIONS
    #[arg(value_name = "URL", required = true, value_parser = remote_path::url)]
    urls: Vec<Url>,
    /// The name matches: * any bytes, ? one, [a-z] one of these
    #[arg(long, value_name = "GLOB")]
    name: Option<Glob>,
    /// The type is: f file, d directory, l symbolic link; p fifo, s socket, b and c devices
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    kinds: Vec<Type>,
    /// The size, rounded up to units: c bytes, k KiB, M MiB, G GiB, none 512 bytes
    #[arg(long, value_name = "[+-]N[ckMG]", allow_hyphen_values = true)]
    size: Option<Size>,
    /// The data were changed that many days ago, rounded down
    #[arg(long, value_name = "[+-]N", allow_hyphen_values = true)]
    mtime: Option<Number>,
    /// The data were changed after those of this file
    #[arg(long, value_name = "URL|FILE")]
    newer: Option<OsString>,
    /// Go down no more than this many directories; 0 shows what was given alone
    #[arg(long, value_name = "N")]
    maxdepth: Option<usize>,
    /// End what is shown with a zero byte, not a new line
    #[arg(long)]
    print0: bool,
    /// Remove what is found instead of showing it, what is in a directory first
    #[arg(long, conflicts_with = "print0")]
    delete: bool,
    #[command(flatten)]
    common: Common,
}

/// The words of find(1) that have one dash; they get a second one.
const WORDS: [&str; 8] = ["name", "type", "size", "mtime", "newer", "maxdepth", "print0", "delete"];

/// The command line, of `find` with two dashes before every long word.
pub(crate) fn with_two_dashes(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_none_or(|command| command != "find") {
        return words;
    }
    for word in words.iter_mut().skip(2) {
        let known = word.to_str().and_then(|text| text.strip_prefix('-')).filter(|text| WORDS.contains(text));
        if let Some(text) = known {
            *word = format!("--{text}").into();
        }
    }
    words
}

/// Runs `primetime find`.
pub(crate) fn find(arguments: &Arguments) -> Result<(), Failure> {
    run(&arguments.common, async |session| {
        let newer = match &arguments.newer {
            Some(word) => Some(modified(&session, word).await?),
            None => None,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let tests = Tests {
            name: arguments.name.clone(),
            kinds: arguments.kinds.clone(),
            size: arguments.size,
            mtime: arguments.mtime,
            newer,
            now_seconds: now,
        };
        let mut output = Output::new();
        for url in &arguments.urls {
            let spot = session.spot(url).await?;
            session.progress.begin(url);
            search(&session, &spot, arguments, &tests, &mut output).await?;
        }
        output.flush()
    })
}

/// When the data of a file were changed.
async fn modified(session: &Session, word: &OsString) -> Result<Time, End> {
    let failed = |cause: &dyn std::fmt::Display| {
        Failure::set_up(format_args!("cannot look at {}: {cause}; name a file that is there", word.display()))
    };
    match CopyEnd::parse(word.clone()).map_err(Failure::set_up)? {
        CopyEnd::Remote(url) => {
            let spot = session.spot(&url).await?;
            Ok(spot.client.metadata(&spot.path).await.map_err(|error| failed(&error))?.modified)
        }
        CopyEnd::Local(path) => Ok(local_time(&path).map_err(|error| failed(&error))?),
    }
}

fn local_time(path: &PathBuf) -> std::io::Result<Time> {
    use std::os::unix::fs::MetadataExt;
    let of = std::fs::metadata(path)?;
    Ok(Time { seconds: of.mtime(), nanoseconds: u32::try_from(of.mtime_nsec()).unwrap_or(0) })
}

/// What passed the tests and is to be removed: its path, and whether it is a directory.
type Doomed = Vec<(Bytes, bool)>;

async fn search(
    session: &Session,
    spot: &Spot,
    arguments: &Arguments,
    tests: &Tests,
    output: &mut Output,
) -> Work {
    let attributes = match spot.client.symlink_metadata(&spot.path).await {
        Ok(attributes) => attributes,
        Err(error) => {
            session.failed("search", &spot.url, &error);
            return Ok(());
        }
    };
    let mut doomed = Doomed::new();
    let mut found = |path: &Bytes, name: &[u8], known: Option<Attributes>| -> Work {
        if !tests.pass(name, known) {
            return Ok(());
        }
        if arguments.delete {
            let is_directory = known.is_some_and(|known| known.is_directory());
            doomed.push((path.clone(), is_directory));
            return Ok(());
        }
        output.write(remote_path::below(&spot.url, path).to_string().as_bytes())?;
        output.write(if arguments.print0 { b"\0" } else { b"\n" })
    };
    let name = remote_path::file_name(spot.url.path()).unwrap_or(b"/");
    found(&Bytes::new(), name, Some(attributes))?;
    if attributes.is_directory() && arguments.maxdepth != Some(0) {
        let depth_max = arguments.maxdepth.unwrap_or(usize::MAX);
        let options = TreeOptions { progress: session.progress.of_tree(), ..TreeOptions::default() };
        let mut shown: Work = Ok(());
        let visit = |TreeEntry { path, entry }: TreeEntry| {
            if shown.is_ok() {
                shown = found(&path, &entry.name, entry.attributes);
            }
            let depth = 1 + path.iter().filter(|byte| **byte == b'/').count();
            if shown.is_ok() && depth < depth_max { Descend::Into } else { Descend::Not }
        };
        let listed = spot.client.list_tree(&spot.path, &options, visit).await;
        shown?;
        match listed {
            Ok(report) => session.report("search", &CopyEnd::Remote(spot.url.clone()), &report),
            Err(error) => session.failed("search", &spot.url, &error),
        }
    }
    remove(session, spot, doomed).await;
    Ok(())
}

/// Directories come before what is in them, and are removed after it.
async fn remove(session: &Session, spot: &Spot, mut doomed: Doomed) {
    doomed.reverse();
    let parts = |path: &[u8]| path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).count();
    doomed.sort_by_key(|(path, _)| std::cmp::Reverse(parts(path)));
    for doomed in doomed.chunks(REMOVALS_PER_BATCH) {
        let mut batch = Batch::new();
        for (path, is_directory) in doomed {
            let path = remote_path::join(&spot.path, path);
            match is_directory {
                true => batch.remove_dir(path),
                false => batch.remove_file(path),
            };
        }
        for ((path, _), result) in doomed.iter().zip(spot.client.run(batch).await) {
            if let Err(error) = result {
                session.failed("remove", remote_path::below(&spot.url, path), &error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_find_get_a_second_dash() {
        let words = |line: &str| {
            let words = with_two_dashes(line.split(' ').map(OsString::from));
            words.join(" ".as_ref()).into_string().unwrap()
        };
        assert_eq!(
            words("primetime find nfs://h -name -x -size -1k -v"),
            "primetime find nfs://h --name -x --size -1k -v"
        );
        assert_eq!(words("primetime ls -name"), "primetime ls -name");
    }
}
