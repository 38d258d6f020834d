//! What the service needs of the world around it: a clock, randomness, and a place for work that outlives a
//! request.
//!
//! The shell implements it on tokio; a simulator implements it on its own executor.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{MaybeDone, maybe_done};

use vfs::Timestamp;

/// A boxed future, for the rare paths that need one.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The world around the service.
pub trait Runtime: Send + Sync + 'static {
    /// Milliseconds on a clock that never goes back; where it starts does not matter.
    fn now_ms(&self) -> u64;

    /// The time of day, by the clock that the file system gives its times by.
    fn wall_clock(&self) -> Timestamp;

    /// Ends after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<()>;

    /// Runs `task` to its end, beside the request that started it.
    fn spawn(&self, task: BoxFuture<()>);

    /// Fills `bytes` with randomness that cannot be guessed.
    fn random(&self, bytes: &mut [u8]);
}

/// A future that has been begun.
pub(crate) struct StartedFuture<F: Future>(Pin<Box<MaybeDone<F>>>);

/// Begins `future`: what it has others do is done while the caller goes on, who finishes it or drops it.
pub(crate) async fn begin<F: Future>(future: F) -> StartedFuture<F> {
    let mut begun = Box::pin(maybe_done(future));
    poll_fn(|context| Poll::Ready(_ = begun.as_mut().poll(context))).await;
    StartedFuture(begun)
}

impl<F: Future> StartedFuture<F> {
    pub(crate) async fn finish(mut self) -> F::Output {
        self.0.as_mut().await;
        self.0.as_mut().take_output().expect("it has ended, and was not asked before")
    }
}

/// Lets others have their turn, tasks of the thread and threads of its core: is ready at the second poll,
/// which it asks for.
pub(crate) async fn give_way() {
    let mut given = false;
    poll_fn(|context| {
        if std::mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        std::thread::yield_now();
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
