//! The runtime of a client for plain threads.

use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, Result};

/// Runs what the client does, as long as anything of it is used.
#[derive(Debug, Clone)]
pub(super) struct Driver(Arc<Own>);

#[derive(Debug)]
struct Own(Option<Runtime>);

impl Driver {
    pub(super) fn new() -> Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("nfs-client").enable_all().build();
        let runtime =
            runtime.map_err(|error| Error::Transport(format!("no thread can be started: {error}")))?;
        Ok(Self(Arc::new(Own(Some(runtime)))))
    }

    /// Waits for a future.
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime().block_on(future)
    }

    /// Waits for a future if this thread may wait, and leaves it to the runtime otherwise.
    pub(super) fn wait_if_possible(&self, future: impl Future<Output = ()> + Send + 'static) {
        match Handle::try_current() {
            Err(_) => self.wait(future),
            Ok(_) => drop(self.runtime().spawn(future)),
        }
    }

    fn runtime(&self) -> &Runtime {
        self.0.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Own {
    /// A runtime may not be waited for in async code, where this may be dropped by mistake.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
