//! Calls to the file system of an export that may hang for ever: each on a thread of its own, and waited for
//! until a deadline.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;

/// How long the file system of an export may take for one step of a start or a reload. One that needs longer
/// is asked again later.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The file system gave no answer until the deadline.
#[derive(Debug, thiserror::Error)]
#[error("the file system has not answered for {} seconds", ANSWER_TIMEOUT.as_secs())]
struct NoAnswer;

/// The calls under way, at most one for each directory. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probes {
    running: Arc<Mutex<HashSet<PathBuf>>>,
}

/// A call under way, if it could begin.
pub(super) struct Probe<T>(io::Result<Receiver<T>>);

/// The end of the time for calls that begin now.
pub(super) fn deadline() -> Instant {
    Instant::now() + ANSWER_TIMEOUT
}

/// True for the error of a call that was not answered until its deadline.
pub(super) fn is_hung(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<NoAnswer>())
}

/// An error as that one.
pub(super) fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None if is_hung(error) => no_answer(),
        None => error.kind().into(),
    }
}

impl Probes {
    /// Begins `call`, which uses the file system of `directory`. While an earlier call for that directory
    /// hangs, no other one begins: so a dead file system holds one thread, however often it is asked.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        directory: &Path,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Probe<T> {
        if !self.running.lock().insert(directory.to_owned()) {
            return Probe(Err(no_answer()));
        }
        let running = Running { probes: self.clone(), directory: directory.to_owned() };
        let (sender, receiver) = channel();
        let runtime = Handle::try_current().ok();
        let begun = thread::Builder::new().name("export".into()).spawn(move || {
            let _runtime = runtime.as_ref().map(Handle::enter);
            let answer = call();
            // The next call may begin once this one's answer is there.
            drop(running);
            // Nobody waits any more after the deadline.
            let _ = sender.send(answer);
        });
        Probe(begun.map(|_| receiver))
    }
}

impl<T> Probe<T> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// See [`is_hung`]; or no thread could be started.
    pub(super) fn wait(self, deadline: Instant) -> io::Result<T> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.0?.recv_timeout(left).map_err(|_| no_answer())
    }
}

fn no_answer() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, NoAnswer)
}

/// A directory with a call under way.
struct Running {
    probes: Probes,
    directory: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.probes.running.lock().remove(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hung_file_system_holds_one_thread_and_is_asked_again_after_it() {
        let probes = Probes::default();
        let (at, other) = (Path::new("/a"), Path::new("/b"));
        let (release, held) = channel::<()>();
        let hung = probes.begin(at, move || held.recv().is_ok());
        let now = Instant::now();
        assert!(is_hung(&hung.wait(now).unwrap_err()));
        assert!(is_hung(&probes.begin(at, || ()).wait(deadline()).unwrap_err()), "the first still hangs");
        assert_eq!(probes.begin(other, || 7).wait(deadline()).unwrap(), 7);
        release.send(()).unwrap();
        while !probes.running.lock().is_empty() {
            thread::yield_now();
        }
        assert_eq!(probes.begin(at, || 7).wait(deadline()).unwrap(), 7);
    }

    #[test]
    fn call_that_panics_is_no_answer_and_leaves_room_for_the_next() {
        let probes = Probes::default();
        let at = Path::new("/a");
        assert!(is_hung(&probes.begin(at, || panic!("in a test")).wait(deadline()).unwrap_err()));
        assert_eq!(probes.begin(at, || 7).wait(deadline()).unwrap(), 7);
    }
}
