//! Where a thread of a workload runs: on the runtime when its client's calls do not block, else on a thread
//! of its own, as an application's would.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{Error, Mount};

/// Deep enough for every workload; thousands of threads have one each.
const STACK_BYTES: usize = 1 << 20;

/// What `work` gives, which calls `mount`. When the result is dropped, `work` ends with the call under way.
pub(crate) async fn run<T: Send + 'static>(
    mount: &Mount,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let work = Box::pin(work);
    if !mount.blocks() {
        return work.await;
    }
    let failed = |cause: String| Error::Thread(cause);
    let runtime = Handle::current();
    let (mut sender, receiver) = oneshot::channel();
    let body = move || {
        runtime.block_on(async move {
            tokio::select! {
                biased;
                () = sender.closed() => {}
                done = work => {
                    // Nobody is there any more who would want it.
                    let _ = sender.send(done);
                }
            }
        });
    };
    std::thread::Builder::new()
        .name("workload".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(body)
        .map_err(|error| failed(format!("it cannot be started: {error}")))?;
    receiver.await.map_err(|_| failed("it panicked".to_owned()))?
}
