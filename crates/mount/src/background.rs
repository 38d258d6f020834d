//! Work that goes on when the kernel has its answer, or that it does not wait for. The mount does not end
//! before it.

use tokio::runtime::Handle;
use tokio::sync::watch;

/// What goes on in the background.
#[derive(Debug)]
pub(crate) struct Background {
    runtime: Handle,
    under_way: watch::Sender<usize>,
}

/// A piece of work, until it is dropped.
struct Counted(watch::Sender<usize>);

impl Background {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, under_way: watch::Sender::new(0) }
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.under_way.send_modify(|count| *count += 1);
        let counted = Counted(self.under_way.clone());
        self.runtime.spawn(async move {
            work.await;
            drop(counted);
        });
    }

    /// Waits until nothing is under way.
    pub(crate) async fn ended(&self) {
        // The sender is here, so it is not gone.
        let _ = self.under_way.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_has_ended_when_all_of_it_has() {
        let background = Background::new(Handle::current());
        background.ended().await;
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        let (started, mut running) = tokio::sync::mpsc::channel(1);
        background.spawn(async move {
            started.send(()).await.unwrap();
            let _ = gone.await;
        });
        running.recv().await.unwrap();
        let mut ended = std::pin::pin!(background.ended());
        tokio::select! {
            biased;
            () = &mut ended => panic!("it is under way"),
            () = tokio::task::yield_now() => {}
        }
        drop(go);
        ended.await;
    }
}
