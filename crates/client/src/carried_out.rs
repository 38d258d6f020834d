//! What goes on when nobody waits for it any more: half of it done would leave something at the server of
//! which nobody knows.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Carries `work` out to its end once it is begun. Who drops the returned future stops waiting, and what came
/// of the work is dropped where it ends.
pub(crate) fn carried_out<W>(work: W) -> CarriedOut<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    CarriedOut { work: Some(Box::pin(work)), begun: false }
}

/// See [`carried_out`].
pub(crate) struct CarriedOut<W: Future<Output: Send> + Send + 'static> {
    work: Option<Pin<Box<W>>>,
    begun: bool,
}

impl<W: Future<Output: Send> + Send + 'static> Future for CarriedOut<W> {
    type Output = W::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<W::Output> {
        self.begun = true;
        let Some(work) = &mut self.work else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<W: Future<Output: Send> + Send + 'static> Drop for CarriedOut<W> {
    fn drop(&mut self) {
        let Some(work) = self.work.take().filter(|_| self.begun) else { return };
        // Without a runtime nothing can go on, and the connection is gone.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { drop(work.await) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn started_job_ends_and_cancelled_job_never_starts() {
        let (go, gone) = oneshot::channel::<()>();
        let (done, ended) = oneshot::channel();
        let result = Arc::new(());
        let kept = Arc::clone(&result);
        let work = carried_out(async move {
            gone.await.unwrap();
            done.send(()).unwrap();
            kept
        });
        assert!(tokio::time::timeout(Duration::from_millis(1), work).await.is_err());
        go.send(()).unwrap();
        ended.await.unwrap();
        while Arc::strong_count(&result) > 1 {
            tokio::task::yield_now().await;
        }

        let (done, ended) = oneshot::channel::<()>();
        drop(carried_out(async move { done.send(()) }));
        assert!(ended.await.is_err(), "nobody has begun it");
        assert_eq!(carried_out(async { 7 }).await, 7);
    }
}
