//! The copy of a tree.

use std::io::ErrorKind;

use client::{Existing, Location, TreeOptions};

use super::Copy;
use super::side::{Cause, Kind, ObjectSummary, Side, is_root};

impl Copy<'_> {
    /// Copies a directory with everything in it. Failures are told.
    pub(super) async fn tree(&self, source: &Side, found: &ObjectSummary, target: &Side) {
        self.session.progress.begin(source);
        let making = self.session.making(target);
        let made = match self.make_root(found, target).await {
            Ok(made) => made,
            Err(cause) => return self.session.refused(cause.sentence("make the directory", target)),
        };
        let options = self.options();
        let report = match (source, target) {
            (Side::Remote(from), Side::Remote(to)) => {
                from.client.copy_tree_to(&from.path, &to.client, &to.path, &options).await
            }
            (Side::Remote(spot), _) | (_, Side::Remote(spot)) => {
                spot.client.copy_tree(&location(source), &location(target), &options).await
            }
            (Side::Local(_), Side::Local(_)) => {
                Err(client::Error::Usage("one end of a copy must be at a server"))
            }
        };
        let mut report = match report {
            Ok(report) => report,
            Err(error) => {
                return self.session.refused(Cause::from(error).sentence("copy", source));
            }
        };
        if self.arguments.no_clobber {
            let before = report.failures.len();
            report.failures.retain(|failure| failure.error.kind() != ErrorKind::AlreadyExists);
            report.failures_total -= (before - report.failures.len()) as u64;
        }
        self.session.report("copy", &source.place(), &report);
        if report.failures_total > 0 && !self.arguments.continue_on_error {
            return;
        }
        let dressed = match (self.arguments.preserve, made) {
            (true, _) => target.dress(found).await,
            (false, true) => self.set_mode(found, target).await,
            (false, false) => Ok(()),
        };
        match dressed {
            Ok(()) => making.made(),
            Err(cause) => self.session.refused(cause.sentence("set the attributes of", target)),
        }
    }

    /// True when it was not there. Until the end its owner may write into it.
    async fn make_root(&self, found: &ObjectSummary, target: &Side) -> Result<bool, Cause> {
        match target.create_dir(found.mode & 0o777 & !self.session.umask | 0o700).await {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind == ErrorKind::AlreadyExists => match target.look(true).await?.kind {
                Kind::Directory => Ok(false),
                _ => Err(cause),
            },
            Err(cause) => Err(cause),
        }
    }

    async fn set_mode(&self, found: &ObjectSummary, target: &Side) -> Result<(), Cause> {
        let mode = found.mode & 0o777 & !self.session.umask;
        if mode & 0o700 == 0o700 {
            return Ok(());
        }
        target.set_mode(mode).await
    }

    fn options(&self) -> TreeOptions {
        TreeOptions {
            stop_on_error: !self.arguments.continue_on_error,
            existing: match (self.arguments.no_clobber, self.arguments.force) {
                (true, _) => Existing::Refuse,
                (_, true) => Existing::Replace,
                _ => Existing::Truncate,
            },
            modes: self.arguments.preserve,
            times: self.arguments.preserve,
            owners: self.arguments.preserve && is_root(),
            umask: self.session.umask,
            progress: self.session.progress.of_tree(),
            ..TreeOptions::default()
        }
    }
}

fn location(side: &Side) -> Location {
    match side {
        Side::Local(path) => Location::local(path),
        Side::Remote(spot) => Location::remote(&spot.path),
    }
}
