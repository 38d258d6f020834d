//! A value that a task waits for.

use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::Mutex;

#[derive(Debug)]
pub struct Promise<T>(Mutex<Slot<T>>);

#[derive(Debug)]
struct Slot<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

impl<T: Send + 'static> Promise<T> {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Slot { value: None, waker: None })))
    }

    pub fn fulfil(&self, value: T) {
        let mut slot = self.0.lock();
        slot.value = Some(value);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }

    pub fn wait(self: Arc<Self>) -> rpc::BoxFuture<T> {
        Box::pin(std::future::poll_fn(move |context| {
            let mut slot = self.0.lock();
            if let Some(value) = slot.value.take() {
                return Poll::Ready(value);
            }
            slot.waker = Some(context.waker().clone());
            Poll::Pending
        }))
    }
}
