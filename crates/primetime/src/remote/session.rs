//! The run of a command: its servers, what went wrong, what is said at the end, and the exit code.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use client::{TreeReport, Url};
use tokio::signal::unix::{SignalKind, signal};

use super::progress::Progress;
use super::remote_path::CopyEnd;
use super::sentence::sentence;
use super::servers::{Servers, Spot};
use super::text::{escaped, human_size};
use crate::failure::Failure;

/// What every command on addresses understands.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Tell at the end how many requests and round trips it took, how many bytes and how long
    #[arg(short, long)]
    verbose: bool,
    /// Show no progress; it is shown only where standard error is a terminal
    #[arg(long)]
    no_progress: bool,
}

/// Why work ends before it is done.
#[derive(Debug)]
pub(crate) enum End {
    /// Whoever reads standard output has seen enough.
    ReaderGone,
    /// It cannot go on.
    Failed(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What a command's work ends with.
pub(crate) type Work = Result<(), End>;

/// What belongs to the run of a command.
pub(crate) struct Session {
    servers: Servers,
    pub(crate) progress: Progress,
    failures: AtomicU64,
    refused_names: AtomicBool,
    /// What is being made and is not whole yet.
    unfinished: Mutex<BTreeSet<String>>,
    /// The bits that files and directories made here do not get.
    pub(crate) umask: u32,
}

impl Session {
    /// Reaches what an address names.
    ///
    /// # Errors
    /// When its server cannot be reached: that is the end of the command.
    pub(crate) async fn spot(&self, url: &Url) -> Result<Spot, Failure> {
        self.servers.spot(url).await
    }

    /// Something could not be done at a server; the rest goes on.
    pub(crate) fn failed(&self, doing: &str, what: impl Display, error: &client::Error) {
        self.refused(sentence(doing, what, error.kind(), error));
    }

    /// What could not be done of the work on a tree.
    pub(crate) fn report(&self, doing: &str, tree: &CopyEnd, report: &TreeReport) {
        for failure in &report.failures {
            self.failed(doing, tree.below(&failure.path), &failure.error);
        }
        let untold = report.failures_total.saturating_sub(report.failures.len() as u64);
        if untold > 0 {
            self.refused(format_args!(
                "cannot {doing} {untold} more objects; mend the first ones and try again"
            ));
        }
    }

    /// Something could not be done, for this reason; the rest goes on.
    pub(crate) fn refused(&self, sentence: impl Display) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.progress.say(&format!("primetime: {sentence}"));
    }

    /// Something is being made; whoever interrupts it is told that it is not whole. Until the result is
    /// dropped.
    pub(crate) fn making(&self, what: impl Display) -> Making<'_> {
        let what = what.to_string();
        self.unfinished().insert(what.clone());
        Making { session: self, what }
    }

    /// True when something could not be done.
    pub(crate) fn has_failed(&self) -> bool {
        self.failures.load(Ordering::Relaxed) > 0
    }

    /// True when a server sent names that no file can have and the warning was printed.
    fn has_refused_names(&self) -> bool {
        self.refused_names.load(Ordering::Relaxed)
    }

    async fn tell_refused_names(&self) {
        for (server, names) in self.servers.refused_names().await {
            self.refused_names.store(true, Ordering::Relaxed);
            self.progress.say(&format!(
                "primetime: {server} lists {} names that no file can have, the first of them `{}`; they were \
                 left out, and nothing was done with them: see whether somebody changes what the server \
                 sends",
                names.count,
                escaped(&names.first)
            ));
        }
    }

    fn unfinished(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn tell_cost(&self, elapsed: Duration) {
        let (cost, versions) = self.servers.cost().await;
        let mut kinds = String::new();
        for (name, stats) in &cost.requests {
            // A String takes everything.
            let _ = write!(kinds, "{}{name} {}", if kinds.is_empty() { "" } else { ", " }, stats.requests);
        }
        let versions: Vec<_> = versions.iter().map(|version| format!("NFSv{version}")).collect();
        self.progress.say(&format!(
            "primetime: {} requests over {} ({kinds}) in {} round trips, {} sent, {} received, {:.3} s",
            cost.requests_total(),
            versions.join(" and "),
            cost.round_trips,
            human_size(cost.bytes_sent()),
            human_size(cost.bytes_received()),
            elapsed.as_secs_f64()
        ));
    }
}

/// See [`Session::making`].
pub(crate) struct Making<'a> {
    session: &'a Session,
    what: String,
}

impl Making<'_> {
    /// It is whole.
    pub(crate) fn made(self) {
        self.session.unfinished().remove(&self.what);
    }
}

/// Does the work of a command, takes leave of the servers, and tells what came of it.
pub(crate) fn run<F>(common: &Common, work: impl FnOnce(Arc<Session>) -> F) -> Result<(), Failure>
where
    F: Future<Output = Work>,
{
    let session = Arc::new(Session {
        servers: Servers::default(),
        progress: Progress::new(!common.no_progress),
        failures: AtomicU64::new(0),
        refused_names: AtomicBool::new(false),
        unfinished: Mutex::default(),
        umask: umask(),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Failure::set_up(format_args!("cannot start threads: {error}; raise the limit of processes"))
    })?;
    let begun = Instant::now();
    let outcome = runtime.block_on(async {
        let outcome = tokio::select! {
            outcome = work(Arc::clone(&session)) => outcome,
            ended = interrupted() => Err(End::Failed(ended.unwrap_or_else(|| session.interruption()))),
        };
        session.progress.clear();
        session.tell_refused_names().await;
        session.servers.leave().await;
        if common.verbose {
            session.tell_cost(begun.elapsed()).await;
        }
        outcome
    });
    // A thread may wait for input that never comes.
    runtime.shutdown_background();
    match outcome {
        Err(End::Failed(failure)) => Err(failure),
        Ok(()) | Err(End::ReaderGone) if session.has_refused_names() => Err(Failure::names_refused()),
        Ok(()) | Err(End::ReaderGone) if session.has_failed() => Err(Failure::told()),
        Ok(()) | Err(End::ReaderGone) => Ok(()),
    }
}

impl Session {
    fn interruption(&self) -> Failure {
        let unfinished: Vec<_> = self.unfinished().iter().cloned().collect();
        match unfinished.is_empty() {
            true => Failure::interrupted("interrupted; everything that was begun is complete"),
            false => {
                Failure::interrupted(format_args!("interrupted; not complete: {}", unfinished.join(", ")))
            }
        }
    }
}

/// Waits for SIGINT or SIGTERM; `Some` when it cannot.
async fn interrupted() -> Option<Failure> {
    let cannot_wait = |error| Some(Failure::set_up(format_args!("cannot wait for signals: {error}")));
    let (mut interrupt, mut terminate) =
        match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
            (Ok(interrupt), Ok(terminate)) => (interrupt, terminate),
            (Err(error), _) | (_, Err(error)) => return cannot_wait(error),
        };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    None
}

/// The process's own; there is no way but to set it.
fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    mask.as_raw_mode() & 0o777
}
