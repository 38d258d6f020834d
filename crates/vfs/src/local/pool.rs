//! A few threads for calls that may wait for a disk, and the futures that wait for them.
//!
//! Jobs stand in the lines of their requests ([`crate::Line`]), and the lines take turns. Jobs without a
//! request stand in the line [`HOUSEKEEPING`].
//!
//! Needs no runtime and knows nothing of files.

mod phase;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::{Condvar, Mutex, MutexGuard};

use self::phase::Phase;
use super::health;
use crate::{Error, Result};

/// The line of jobs that no request asks for: closing, sweeping.
pub(super) const HOUSEKEEPING: u64 = 0;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started when work comes and stay until the pool is dropped.
pub(super) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    threads_max: usize,
    queue_max: usize,
}

#[derive(Default)]
struct Queue {
    lines: Lines,
    threads: usize,
    idle: usize,
    closed: bool,
}

#[derive(Default)]
struct Lines {
    /// Those that are not empty.
    jobs: HashMap<u64, VecDeque<Job>>,
    /// The same, in the order of their turns.
    turns: VecDeque<u64>,
    count: usize,
}

impl Lines {
    /// True while `line` may have one more, where about `count_max` are the most of all: one each is never
    /// too many.
    fn has_room(&self, line: u64, count_max: usize) -> bool {
        self.count < count_max || (count_max > 0 && !self.jobs.contains_key(&line))
    }

    fn push(&mut self, line: u64, job: Job) {
        let jobs = self.jobs.entry(line).or_default();
        if jobs.is_empty() {
            self.turns.push_back(line);
        }
        jobs.push_back(job);
        self.count += 1;
    }

    /// The first of the line whose turn it is.
    fn pop(&mut self) -> Option<Job> {
        let line = self.turns.pop_front()?;
        let jobs = self.jobs.get_mut(&line)?;
        let job = jobs.pop_front()?;
        self.count -= 1;
        if jobs.is_empty() {
            self.jobs.remove(&line);
        } else {
            self.turns.push_back(line);
        }
        Some(job)
    }
}

impl Pool {
    pub(super) fn new(threads_max: usize, queue_max: usize) -> Self {
        let shared = Shared { queue: Mutex::default(), work: Condvar::new(), threads_max, queue_max };
        Self { shared: Arc::new(shared) }
    }

    /// Runs `job` on one of the threads. When the lines are full and the caller's has jobs already, or no
    /// thread can be had, the caller runs it itself: a sender that asks for more than the disk gives waits.
    pub(super) fn run<T: Send + 'static>(
        &self,
        line: u64,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Task<T> {
        let (answer, task) = channel();
        self.execute(line, move || answer.send(job()));
        task
    }

    /// Like [`Pool::run`] for a job that answers in its own way.
    pub(super) fn execute(&self, line: u64, job: impl FnOnce() + Send + 'static) {
        if let Some(job) = self.shared.submit(line, Box::new(job)) {
            job();
        }
    }

    /// For who may outlive the pool.
    pub(super) fn handle(&self) -> Handle {
        Handle(Arc::downgrade(&self.shared))
    }
}

impl Pool {
    /// Polls `future` on the threads of the pool alone: it is for calls that may hang.
    ///
    /// # Errors
    /// [`Error::TryAgain`] when the caller's line has futures or jobs and all lines are full.
    pub(super) fn poll<T: Send + 'static>(
        &self,
        line: u64,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<Task<T>> {
        let (answer, task) = channel();
        let future = Box::pin(async move { answer.send(future.await) });
        let moved = Arc::new(Moved {
            future: Mutex::new(Some(future)),
            phase: Phase::queued(),
            shared: Arc::downgrade(&self.shared),
            line,
        });
        match self.shared.submit(line, Box::new(move || moved.run())) {
            None => Ok(task),
            Some(_refused) => Err(Error::TryAgain),
        }
    }
}

/// A future that only threads of the pool poll, since a poll may hang.
struct Moved {
    /// Locked by the thread that polls it.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    phase: Phase,
    shared: Weak<Shared>,
    line: u64,
}

impl Moved {
    fn run(self: Arc<Self>) {
        self.phase.begin();
        let mut future = self.future.lock();
        // Out of its place, where it is not found again after a panic.
        let Some(mut polled) = future.take() else { return };
        let waker = Waker::from(Arc::clone(&self));
        if polled.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            *future = Some(polled);
            drop(future);
            if self.phase.end() {
                self.queue();
            }
        }
    }

    fn queue(self: Arc<Self>) {
        if let Some(shared) = self.shared.upgrade() {
            let line = self.line;
            shared.submit_beyond(line, Box::new(move || self.run()));
        }
    }
}

impl Wake for Moved {
    fn wake(self: Arc<Self>) {
        if self.phase.wake() {
            self.queue();
        }
    }
}

/// A pool that may be gone: then, as when its queue is full, the caller runs the job.
#[derive(Clone)]
pub(super) struct Handle(Weak<Shared>);

impl Handle {
    pub(super) fn execute(&self, job: impl FnOnce() + Send + 'static) {
        let job: Job = Box::new(job);
        let refused = match self.0.upgrade() {
            Some(shared) => shared.submit(HOUSEKEEPING, job),
            None => Some(job),
        };
        if let Some(job) = refused {
            job();
        }
    }

    /// Runs a job that may hang: never on the caller's thread, however many wait. What may be many is to be
    /// bounded by the caller.
    pub(super) fn execute_elsewhere(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(shared) = self.0.upgrade() {
            shared.submit_beyond(HOUSEKEEPING, Box::new(job));
        }
    }
}

impl Shared {
    /// Queues the job, or gives it back.
    fn submit(self: &Arc<Self>, line: u64, job: Job) -> Option<Job> {
        let queue = self.queue.lock();
        if queue.closed || !queue.lines.has_room(line, self.queue_max) {
            return Some(job);
        }
        self.push(queue, line, job)
    }

    /// Queues the job, however full the queue is. Where no thread can be had it is dropped.
    fn submit_beyond(self: &Arc<Self>, line: u64, job: Job) {
        // Dropped outside the lock.
        let _refused = self.push(self.queue.lock(), line, job);
    }

    fn push(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>, line: u64, job: Job) -> Option<Job> {
        if queue.idle <= queue.lines.count && queue.threads < self.threads_max {
            let shared = self.clone();
            let thread = std::thread::Builder::new().name("vfs-disk".into());
            match thread.spawn(move || work(&shared)) {
                Ok(_) => queue.threads += 1,
                Err(_) if queue.threads == 0 => return Some(job),
                Err(_) => {}
            }
        }
        queue.lines.push(line, job);
        self.work.notify_one();
        None
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.work.notify_all();
    }
}

fn work(shared: &Shared) {
    health::join_pool();
    let mut queue = shared.queue.lock();
    loop {
        if let Some(job) = queue.lines.pop() {
            drop(queue);
            // A job that panics loses its answer, which its task notices; the thread goes on.
            drop(catch_unwind(AssertUnwindSafe(job)));
            queue = shared.queue.lock();
        } else if queue.closed {
            queue.threads -= 1;
            return;
        } else {
            queue.idle += 1;
            shared.work.wait(&mut queue);
            queue.idle -= 1;
        }
    }
}

/// Waits for one answer.
pub(super) struct Task<T>(Arc<Mutex<Slot<T>>>);

/// Gives one answer. Dropped without, the task ends with an I/O error.
pub(super) struct Answer<T>(Arc<Mutex<Slot<T>>>);

struct Slot<T> {
    value: Option<Result<T>>,
    waker: Option<Waker>,
}

/// The two ends of one answer.
pub(super) fn channel<T>() -> (Answer<T>, Task<T>) {
    let slot = Arc::new(Mutex::new(Slot { value: None, waker: None }));
    (Answer(slot.clone()), Task(slot))
}

impl<T> Answer<T> {
    pub(super) fn send(self, value: Result<T>) {
        self.set(value);
    }

    fn set(&self, value: Result<T>) {
        let waker = {
            let mut slot = self.0.lock();
            slot.value = Some(value);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        // Alone means that the task was dropped or has taken the answer already.
        if Arc::strong_count(&self.0) > 1 && self.0.lock().value.is_none() {
            self.set(Err(Error::Io(std::io::Error::other("a worker thread gave no answer"))));
        }
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let mut slot = self.0.lock();
        if let Some(value) = slot.value.take() {
            return Poll::Ready(value);
        }
        match &mut slot.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use pollster::block_on;

    use super::*;

    #[test]
    fn every_job_runs_once_and_answers() {
        let pool = Pool::new(3, 4);
        let ran = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<Task<usize>> = (0..100)
            .map(|i| {
                let ran = ran.clone();
                pool.run(0, move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    Ok(i)
                })
            })
            .collect();
        for (i, task) in tasks.into_iter().enumerate() {
            assert_eq!(block_on(task).unwrap(), i);
        }
        assert_eq!(ran.load(Ordering::Relaxed), 100);
        assert!(pool.shared.queue.lock().threads <= 3);
    }

    #[test]
    fn a_line_of_many_jobs_does_not_make_the_others_wait_for_all_of_them() {
        let pool = Pool::new(1, 100);
        let (begun, go) = (Arc::new(std::sync::Barrier::new(2)), Arc::new(std::sync::Barrier::new(2)));
        let order = Arc::new(Mutex::new(Vec::new()));
        let hold = {
            let (begun, go) = (begun.clone(), go.clone());
            pool.run(0, move || {
                begun.wait();
                go.wait();
                Ok(())
            })
        };
        begun.wait();
        let submit = |line: u64| {
            let order = order.clone();
            pool.run(line, move || {
                order.lock().push(line);
                Ok(())
            })
        };
        let tasks: Vec<_> = [1, 1, 1, 1, 2, 3, 3].map(submit).into();
        go.wait();
        block_on(hold).unwrap();
        tasks.into_iter().for_each(|task| block_on(task).unwrap());
        assert_eq!(*order.lock(), [1, 2, 3, 1, 3, 1, 1]);
        assert!(pool.shared.queue.lock().lines.jobs.is_empty());
    }

    #[test]
    fn full_lines_have_room_for_the_first_of_another() {
        let mut lines = Lines::default();
        let job = || -> Job { Box::new(|| {}) };
        assert!(!lines.has_room(1, 0));
        for _ in 0..2 {
            assert!(lines.has_room(1, 2));
            lines.push(1, job());
        }
        assert!(!lines.has_room(1, 2));
        assert!(lines.has_room(2, 2));
        lines.push(2, job());
        assert!(!lines.has_room(2, 2));
        assert_eq!(std::iter::from_fn(|| lines.pop()).count(), 3);
        assert!(lines.has_room(1, 2) && lines.pop().is_none());
    }

    #[test]
    fn a_full_queue_makes_the_caller_run_the_job() {
        let pool = Pool::new(1, 0);
        let here = std::thread::current().id();
        let task = pool.run(0, move || Ok(std::thread::current().id() == here));
        assert!(block_on(task).unwrap());
    }

    #[test]
    fn moved_future_is_polled_by_the_pool_alone() {
        let pool = Pool::new(2, 4);
        let here = std::thread::current().id();
        let (answer, inner) = channel::<u32>();
        let polled_here = Arc::new(AtomicUsize::new(0));
        let seen = polled_here.clone();
        let task = pool.poll(0, async move {
            let mut inner = inner;
            std::future::poll_fn(move |context| {
                seen.fetch_add(usize::from(std::thread::current().id() == here), Ordering::Relaxed);
                Pin::new(&mut inner).poll(context)
            })
            .await
        });
        answer.send(Ok(7));
        assert_eq!(block_on(task.unwrap()).unwrap(), 7);
        assert_eq!(polled_here.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn full_queue_refuses_futures_and_runs_none_here() {
        let pool = Pool::new(1, 0);
        assert!(matches!(pool.poll(0, async { Ok(()) }), Err(Error::TryAgain)));
        let (answer, task) = channel();
        pool.handle().execute_elsewhere(move || answer.send(Ok(std::thread::current().id())));
        assert_ne!(block_on(task).unwrap(), std::thread::current().id());
    }

    #[test]
    fn moved_future_that_panics_is_an_error() {
        let pool = Pool::new(1, 10);
        let task: Task<()> = pool.poll(0, async { panic!("expected by the test") }).unwrap();
        assert!(matches!(block_on(task), Err(Error::Io(_))));
        assert_eq!(block_on(pool.poll(0, async { Ok(5) }).unwrap()).unwrap(), 5);
    }

    #[test]
    fn a_pool_that_is_gone_makes_the_caller_run_the_job() {
        let pool = Pool::new(1, 10);
        let handle = pool.handle();
        let (here, gone) = (channel(), channel());
        handle.execute(move || here.0.send(Ok(std::thread::current().id())));
        assert_ne!(block_on(here.1).unwrap(), std::thread::current().id());
        drop(pool);
        handle.execute(move || gone.0.send(Ok(std::thread::current().id())));
        assert_eq!(block_on(gone.1).unwrap(), std::thread::current().id());
    }

    #[test]
    fn a_job_that_panics_is_an_error_and_the_thread_goes_on() {
        let pool = Pool::new(1, 10);
        let task: Task<()> = pool.run(0, || panic!("expected by the test"));
        assert!(matches!(block_on(task), Err(Error::Io(_))));
        assert_eq!(block_on(pool.run(0, || Ok(5))).unwrap(), 5);
    }
}
