//! Begins futures in the order in which they were given, and then lets each run for itself: tasks that are
//! spawned one after the other begin in any order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

/// Those that have not begun.
#[derive(Default)]
pub(crate) struct InTurn {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<BoxFuture<'static, ()>>,
    /// A task is at it; there is never more than one.
    beginning: bool,
}

impl InTurn {
    /// Runs `future` up to where it waits for the first time, when those given before have come as far, and
    /// then to its end. All of it in the background.
    pub(crate) fn begin(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state.lock();
        state.waiting.push_back(future.boxed());
        if std::mem::replace(&mut state.beginning, true) {
            return;
        }
        drop(state);
        let in_turn = Arc::clone(self);
        tokio::spawn(async move {
            while let Some(mut next) = in_turn.next() {
                if (&mut next).now_or_never().is_none() {
                    tokio::spawn(next);
                }
            }
        });
    }

    fn next(&self) -> Option<BoxFuture<'static, ()>> {
        let mut state = self.state.lock();
        let next = state.waiting.pop_front();
        state.beginning = next.is_some();
        next
    }
}

impl fmt::Debug for InTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InTurn").field("waiting", &self.state.lock().waiting.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    const COUNT: usize = 200;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn they_begin_in_order_and_end_each_in_its_own_time() {
        let (in_turn, begun) = (Arc::new(InTurn::default()), Arc::new(Mutex::new(Vec::new())));
        let (go_on, ended) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let given = tokio::spawn({
            let (begun, go_on, ended) = (Arc::clone(&begun), Arc::clone(&go_on), Arc::clone(&ended));
            async move {
                for number in 0..COUNT {
                    let (begun, go_on, ended) = (Arc::clone(&begun), Arc::clone(&go_on), Arc::clone(&ended));
                    in_turn.begin(async move {
                        begun.lock().push(number);
                        // The first would hold up all others if they ended in turn as well.
                        if number == 0 {
                            let _permit = go_on.acquire().await;
                        } else {
                            tokio::task::yield_now().await;
                        }
                        ended.add_permits(1);
                    });
                }
            }
        });
        given.await.unwrap();
        let _others = ended.acquire_many(COUNT as u32 - 1).await.unwrap();
        assert_eq!(*begun.lock(), (0..COUNT).collect::<Vec<_>>());
        go_on.add_permits(1);
        let _first = ended.acquire().await.unwrap();
    }
}
