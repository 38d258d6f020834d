//! `primetime cp`: copies files and trees to a server, from it, and between servers.

mod files;
mod side;
mod trees;

use std::collections::HashMap;
use std::io::ErrorKind;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use futures_util::stream::{self, TryStreamExt};

use crate::failure::Failure;
use crate::remote::{Common, CopyEnd, Session, Work, run};
use side::{Cause, Kind, ObjectSummary, Side};

/// Files that are copied at the same time.
const FILES_AT_ONCE: usize = 16;

/// The arguments of `cp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  primetime cp report.pdf nfs://fileserver/export/reports/
  primetime cp -rp nfs://fileserver/export/home ./backup
  primetime cp -r nfs://old/export/data nfs://new/export/

Where the target is a directory, the copy goes into it under the name of the source, as with cp(1). With -r \
symbolic links are
copied as such, otherwise they are followed. Over NFSv4.2 a server copies its own files itself. What a copy \
has written to a
server is on stable storage when the command ends.
Exit codes: 0 good, 1 something could not be copied, 3 wrong usage, or a server cannot be reached,
4 a server lists names that no file can have, which were left out.")]
pub(crate) struct Arguments {
    /// Sources, then the target: nfs://HOST:PORT/PATH?OPTIONS, or local paths; one of them at least is at a
    /// server
    #[arg(value_name = "SOURCE... TARGET", required = true, num_args = 2..,
          value_parser = OsStringValueParser::new().try_map(CopyEnd::parse))]
    places: Vec<CopyEnd>,
    /// Copy directories with everything in them
    #[arg(short, long, visible_short_alias = 'R')]
    recursive: bool,
    /// Keep permissions and times, and owners where this user is root
    #[arg(short, long)]
    preserve: bool,
    /// Replace what is there instead of writing into it; whoever has it open, or under another name, keeps
    /// the old content
    #[arg(short, long, conflicts_with = "no_clobber")]
    force: bool,
    /// Leave files alone that are there
    #[arg(short = 'n', long)]
    no_clobber: bool,
    /// Go on after something could not be copied, instead of stopping there
    #[arg(long)]
    continue_on_error: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs `primetime cp`.
pub(crate) fn cp(arguments: &Arguments) -> Result<(), Failure> {
    let (target, sources) = arguments.places.split_last().ok_or_else(|| Failure::set_up("name a target"))?;
    let is_local = |place: &CopyEnd| matches!(place, CopyEnd::Local(_));
    if let Some(source) = sources.iter().find(|source| is_local(source) && is_local(target)) {
        return Err(Failure::set_up(format_args!(
            "both {source} and {target} are local; use cp(1), or name a server as nfs://host/path"
        )));
    }
    run(&arguments.common, async |session| {
        let copy = Copy { session: &session, arguments };
        copy.all(sources, target).await
    })
}

/// A run of `cp`.
#[derive(Clone, Copy)]
struct Copy<'a> {
    session: &'a Session,
    arguments: &'a Arguments,
}

/// The kinds of the objects that this command makes, by address or path.
type Made = HashMap<String, Kind>;

/// A file to be copied.
struct Job {
    source: Side,
    found: ObjectSummary,
    target: Side,
}

impl Copy<'_> {
    async fn all(&self, sources: &[CopyEnd], target: &CopyEnd) -> Work {
        let target = Side::reach(self.session, target).await?;
        let into = match target.look(true).await {
            Ok(found) => matches!(found.kind, Kind::Directory),
            Err(cause) if cause.kind == ErrorKind::NotFound => false,
            Err(cause) => return Err(Failure::refused(cause.sentence("look at", &target)).into()),
        };
        if sources.len() > 1 && !into {
            return Err(Failure::refused(format_args!(
                "{target} is no directory, and several sources are to be copied; name a directory, or make \
                 it first"
            ))
            .into());
        }
        // A tree without a name of its own is copied into the target itself, and may put a symbolic link at
        // the name of another source. It comes last, so that no copy follows that link.
        let (named, unnamed): (Vec<_>, Vec<_>) =
            sources.iter().partition(|source| source.file_name().is_some());
        let mut made = Made::new();
        for sources in [named, unnamed] {
            let mut files = Vec::new();
            for source in sources {
                if self.has_to_stop() {
                    return Ok(());
                }
                let source = Side::reach(self.session, source).await?;
                let target = match source.place().file_name() {
                    Some(name) if into => target.below(name),
                    _ => target.clone(),
                };
                self.one(source, target, &mut made, &mut files).await;
            }
            self.files(files).await;
        }
        Ok(())
    }

    /// Copies files, several at the same time. Failures are reported.
    async fn files(&self, files: Vec<Job>) {
        let copied = stream::iter(files.into_iter().map(Ok))
            .try_for_each_concurrent(FILES_AT_ONCE, async |job| {
                self.file(&job).await;
                if self.has_to_stop() { Err(()) } else { Ok(()) }
            })
            .await;
        // The failure that stopped it has been reported.
        let _ = copied;
    }

    fn has_to_stop(&self) -> bool {
        self.session.has_failed() && !self.arguments.continue_on_error
    }

    /// Copies what is no file; files are gathered, to be copied at the same time.
    async fn one(&self, source: Side, target: Side, made: &mut Made, files: &mut Vec<Job>) {
        let found = match source.look(!self.arguments.recursive).await {
            Ok(found) => found,
            Err(cause) => return self.session.refused(cause.sentence("read", &source)),
        };
        // The object of an earlier source may be a symbolic link, which the next copy would follow.
        if let Some(before) = made.insert(target.to_string(), found.kind)
            && (before, found.kind) != (Kind::Directory, Kind::Directory)
        {
            return self.session.refused(format_args!(
                "cannot copy {source}: {target} is the copy of another source; copy them into different \
                 directories"
            ));
        }
        match &found.kind {
            Kind::File => files.push(Job { source, found, target }),
            // As with cp(1), -r does not read a pipe.
            Kind::Stream if !self.arguments.recursive => files.push(Job { source, found, target }),
            Kind::Directory if self.arguments.recursive => self.tree(&source, &found, &target).await,
            Kind::Directory => self.session.refused(format_args!(
                "cannot copy {source}: it is a directory; give -r to copy what is in it"
            )),
            Kind::Symlink => {
                if let Err(cause) = self.link(&source, &target).await {
                    self.session.refused(cause.sentence("copy the link to", &target));
                }
            }
            Kind::Stream | Kind::Other => self.session.refused(format_args!(
                "cannot copy {source}: it is a device, a pipe or a socket; leave it out; cp reads pipes \
                 without -r"
            )),
        }
    }

    async fn file(&self, job: &Job) {
        self.session.progress.begin(&job.source);
        let making = self.session.making(&job.target);
        match self.copy_file(job).await {
            Ok(()) => making.made(),
            Err(files::Trouble::Source(cause)) => self.session.refused(cause.sentence("read", &job.source)),
            Err(files::Trouble::Target(cause)) => self.session.refused(cause.sentence("write", &job.target)),
        }
    }

    async fn link(&self, source: &Side, target: &Side) -> Result<(), Cause> {
        let leads_to = source.read_link().await?;
        match target.symlink(&leads_to).await {
            Err(cause) if cause.kind == ErrorKind::AlreadyExists && self.arguments.no_clobber => Ok(()),
            Err(cause) if cause.kind == ErrorKind::AlreadyExists => {
                target.remove_file().await?;
                target.symlink(&leads_to).await
            }
            made => made,
        }
    }
}
