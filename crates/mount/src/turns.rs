//! Work that is done in the order in which the kernel asks for it, though each request has a task of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// Lets one after the other do something.
#[derive(Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<()>>);

/// A place in the line; the turn itself once it is awaited.
pub(crate) type Turn = Pin<Box<dyn Future<Output = OwnedMutexGuard<()>> + Send>>;

impl Turns {
    /// Stands in line from now on, and not only from when a task gets to wait.
    pub(crate) fn queue(&self) -> Turn {
        let mut turn: Turn = Box::pin(Arc::clone(&self.0).lock_owned());
        match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(guard) => Box::pin(std::future::ready(guard)),
            Poll::Pending => turn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queue_serves_in_order_of_arrival() {
        let turns = Turns::default();
        let (first, mut second, mut third) = (turns.queue().await, turns.queue(), turns.queue());
        let poll = |turn: &mut Turn| turn.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll(&mut third).is_pending());
        drop(first);
        assert!(poll(&mut third).is_pending());
        let Poll::Ready(guard) = poll(&mut second) else { panic!("it is its turn") };
        drop(guard);
        assert!(poll(&mut third).is_ready());
    }
}
