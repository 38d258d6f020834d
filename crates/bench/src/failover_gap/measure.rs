//! Clients that work without a pause while their server is restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::Options;
use super::document::Gap;
use super::operation::Operation;
use crate::runner::{Arm, Error, Server, Stop};
use crate::terminal::Progress;
use crate::workload::{self, Habits, Mount};

/// Work before the restart: it shows how long operations take otherwise.
const BEFORE: Duration = Duration::from_secs(2);
/// Work after every kind of operation has gone on.
const AFTER: Duration = Duration::from_secs(1);
/// How often it is looked whether all have gone on.
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// The pause between two operations of one kind: what is measured is standing still, not speed.
const PAUSE: Duration = Duration::from_millis(1);
/// Failed operations are tried again after this pause.
const AFTER_ERROR: Duration = Duration::from_millis(50);
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(2);

/// When the operations of one client of one kind were done.
#[derive(Debug, Default)]
struct Times {
    last: Option<Instant>,
    /// The longest time between two, before the restart and from then on.
    longest: [Duration; 2],
    /// Operations done since the restart.
    since: u64,
    errors: u64,
}

impl Times {
    /// One is done. `is_after` says whether the restart has begun.
    fn done(&mut self, now: Instant, is_after: bool) {
        if let Some(last) = self.last {
            let longest = &mut self.longest[usize::from(is_after)];
            *longest = (*longest).max(now - last);
        }
        self.last = Some(now);
        self.since += u64::from(is_after);
    }
}

/// What the clients of one restart share.
#[derive(Debug, Default)]
struct Shared {
    restart_began: AtomicBool,
    is_over: AtomicBool,
    times: Mutex<Vec<(Operation, Arc<Mutex<Times>>)>>,
}

impl Shared {
    fn add(&self, operation: Operation) -> Arc<Mutex<Times>> {
        let times = Arc::<Mutex<Times>>::default();
        self.times.lock().push((operation, Arc::clone(&times)));
        times
    }

    /// Whether every client has done every kind of operation since the restart.
    fn all_go_on(&self) -> bool {
        self.times.lock().iter().all(|(_, times)| times.lock().since > 0)
    }
}

/// Restarts the server as often as asked for under the clients of each arm.
pub(super) async fn measure(
    options: &Options,
    arms: &[Arm],
    server: &mut Server,
    stop: &Stop,
) -> Result<Vec<Gap>, Error> {
    let mut progress = Progress::new((arms.len() as u32 * options.repeats).into());
    let mut gaps = Vec::new();
    for arm in arms {
        progress.step(&arm.name());
        for repeat in 0..options.repeats {
            gaps.extend(stop.or(Box::pin(restart(options, arm, server, repeat))).await?);
            progress.run_done();
        }
    }
    Ok(gaps)
}

/// One restart, and what each kind of operation stood still.
async fn restart(options: &Options, arm: &Arm, server: &mut Server, repeat: u32) -> Result<Vec<Gap>, Error> {
    let failed = |error: workload::Error| Error::workload("failover-gap", &arm.name(), &error);
    let shared = Arc::new(Shared::default());
    let mut working = JoinSet::new();
    for client in 0..options.clients {
        let habits = Habits { data_cache: false, readahead: false, ..arm.habits() };
        let mount = Mount::connect(&server.address, arm.version(), habits).await.map_err(failed)?;
        let directory = format!("{}/{}-{repeat}-{client}", server.directory, arm.version());
        mount.make_directory(&directory).await.map_err(failed)?;
        // Before the client starts: one that is not ready when the restart begins is waited for.
        let times = Operation::ALL.map(|operation| shared.add(operation));
        working.spawn(work(Arc::new(mount), directory, times, Arc::clone(&shared)));
    }
    let outcome = restarted(options, server, &shared, &mut working, &failed).await;
    shared.is_over.store(true, Ordering::Relaxed);
    // Clients that end give back what they hold: the clean-up would have to wait for it.
    let all = async { while working.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_WORDS_WITHIN * 2, all).await;
    working.shutdown().await;
    Ok(gaps(&shared, arm, repeat, outcome?))
}

/// Restarts the server, and returns how long it took until all went on, or were waited for.
async fn restarted(
    options: &Options,
    server: &mut Server,
    shared: &Shared,
    working: &mut JoinSet<Result<(), workload::Error>>,
    failed: &impl Fn(workload::Error) -> Error,
) -> Result<Duration, Error> {
    let ended = |ended: Option<Result<Result<(), workload::Error>, tokio::task::JoinError>>| match ended {
        Some(Ok(Err(error))) => Err(failed(error)),
        Some(Err(error)) => Err(failed(workload::Error::Thread(error.to_string()))),
        _ => Ok(()),
    };
    tokio::select! {
        () = tokio::time::sleep(BEFORE) => {}
        early = working.join_next() => ended(early)?,
    }
    shared.restart_began.store(true, Ordering::Relaxed);
    match &options.command {
        None => server.kill_and_restart().await?,
        Some(command) => run_command(command).await?,
    }
    let limit = Duration::from_secs(options.seconds_max.into());
    let begun = Instant::now();
    while !shared.all_go_on() && begun.elapsed() < limit {
        tokio::time::sleep(LOOKS_EVERY).await;
    }
    let waited = begun.elapsed();
    tokio::time::sleep(AFTER).await;
    Ok(waited)
}

/// For each kind of operation the longest standstill of all clients.
fn gaps(shared: &Shared, arm: &Arm, repeat: u32, waited: Duration) -> Vec<Gap> {
    let all = shared.times.lock();
    let of_kind = |operation: Operation| {
        let own = || all.iter().filter(move |(kind, _)| *kind == operation).map(|(_, times)| times.lock());
        let longest = |part: usize| own().map(|times| times.longest[part]).max().unwrap_or_default();
        let went_on = own().all(|times| times.since > 0);
        Gap {
            version: arm.version().to_owned(),
            operation,
            repeat,
            went_on,
            standstill_ms: ms(if went_on { longest(1) } else { longest(1).max(waited) }),
            before_ms: ms(longest(0)),
            errors: own().map(|times| times.errors).sum(),
        }
    };
    Operation::ALL.map(of_kind).into()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// All kinds of operations of one client side by side, until it is over.
async fn work(
    mount: Arc<Mount>,
    directory: String,
    times: [Arc<Mutex<Times>>; Operation::ALL.len()],
    shared: Arc<Shared>,
) -> Result<(), workload::Error> {
    let mut loops = JoinSet::new();
    for (operation, times) in Operation::ALL.into_iter().zip(times) {
        let mut prepared = operation.prepare(&mount, &directory).await?;
        let (mount, shared) = (Arc::clone(&mount), Arc::clone(&shared));
        loops.spawn(async move {
            while !shared.is_over.load(Ordering::Relaxed) {
                match prepared.again(&mount).await {
                    Ok(()) => {
                        times.lock().done(Instant::now(), shared.restart_began.load(Ordering::Relaxed));
                        tokio::time::sleep(PAUSE).await;
                    }
                    Err(_) => {
                        times.lock().errors += 1;
                        tokio::time::sleep(AFTER_ERROR).await;
                    }
                }
            }
            let _ = tokio::time::timeout(LAST_WORDS_WITHIN, prepared.end()).await;
        });
    }
    while loops.join_next().await.is_some() {}
    let _ = tokio::time::timeout(LAST_WORDS_WITHIN, mount.shut_down()).await;
    Ok(())
}

/// Runs the command that restarts the server.
async fn run_command(command: &str) -> Result<(), Error> {
    let failed = |cause: String| Error::Usage(format!("`{command}` did not restart the server: {cause}"));
    let status = Command::new("sh").args(["-c", command]).kill_on_drop(true).status().await;
    let status = status.map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standstill_is_the_longest_time_between_operations_at_a_restart() {
        let (mut times, start) = (Times::default(), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        times.done(at(0), false);
        times.done(at(5), false);
        times.done(at(1005), true);
        times.done(at(1010), true);
        assert_eq!(times.longest, [Duration::from_millis(5), Duration::from_secs(1)]);
        assert_eq!(times.since, 2);
    }
}
