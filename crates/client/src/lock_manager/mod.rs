//! The lock manager of this process, which servers of NFSv3 call when a lock is there that was waited for
//! (NLMPROC4_GRANTED, X/Open C702 §14.4).
//!
//! All mounts of the process share one for each address family. It runs on a thread of its own, since the
//! mounts may be on several runtimes. It starts when a caller has to wait, and ends with the last mount that
//! uses it.

mod listener;
mod publish;
mod service;
mod waits;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Weak, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tokio::sync::{Mutex, oneshot, watch};

pub(crate) use waits::{LockHolder, LockRequest, LockWait, Responder};
use waits::{ServerId, Waits};

/// How long a start may take.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How long the end of the process or of a mount is held up to unregister.
const END_LIMIT: Duration = Duration::from_secs(1);

/// The lock managers of this process.
static MANAGERS: Mutex<BTreeMap<Network, Slot>> = Mutex::const_new(BTreeMap::new());

/// A network namespace of Linux and an address family, with a port mapper of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Network {
    namespace: u64,
    is_ipv6: bool,
}

impl Network {
    /// The one by which this thread reaches `server`.
    fn of(server: IpAddr) -> Self {
        let namespace = std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |of| of.ino());
        Self { namespace, is_ipv6: server.is_ipv6() }
    }
}

#[derive(Debug)]
struct Slot {
    manager: Weak<LockManager>,
    /// Closed when the thread has ended.
    ended: watch::Receiver<()>,
}

/// A running lock manager that servers can find through the port mapper. Dropped, it unregisters and ends.
#[derive(Debug)]
pub(crate) struct LockManager {
    waits: Arc<Waits>,
    stop: Option<oneshot::Sender<()>>,
    thread: ThreadId,
    /// Disconnected when the thread has ended.
    ended: parking_lot::Mutex<mpsc::Receiver<()>>,
}

impl LockManager {
    /// The lock manager that `server` can call; started when there is none.
    ///
    /// # Errors
    /// When it cannot be started or found by servers: another program is the lock manager of this machine, or
    /// this process may neither register one nor listen at the port mapper's port.
    pub(crate) async fn for_server(server: IpAddr) -> io::Result<Arc<Self>> {
        let network = Network::of(server);
        let mut managers = MANAGERS.lock().await;
        if let Some(slot) = managers.get_mut(&network) {
            if let Some(manager) = slot.manager.upgrade() {
                return Ok(manager);
            }
            // Until it has unregistered, rpcbind would refuse another one.
            let _ = tokio::time::timeout(END_LIMIT, slot.ended.changed()).await;
        }
        managers.retain(|_, slot| slot.manager.strong_count() > 0);
        let (manager, ended) = start(network).await?;
        let manager = Arc::new(manager);
        managers.insert(network, Slot { manager: Arc::downgrade(&manager), ended });
        Ok(manager)
    }

    /// One that no port mapper knows, with its ports over UDP and TCP.
    #[cfg(test)]
    pub(crate) async fn unpublished() -> (Arc<Self>, [u16; 2]) {
        let waits = Arc::new(Waits::default());
        let (stream, datagrams) = listener::bind(false, 0).unwrap();
        let ports = [datagrams.local_addr().unwrap().port(), stream.local_addr().unwrap().port()];
        listener::serve_both(stream, datagrams, Arc::new(service::LockCallbacks(Arc::clone(&waits))));
        let (_, ended) = mpsc::channel();
        let thread = thread::current().id();
        (Arc::new(Self { waits, stop: None, thread, ended: parking_lot::Mutex::new(ended) }), ports)
    }

    /// Believes calls from `server` until the value is dropped; `respond` sends it the answers to
    /// GRANTED_MSG.
    pub(crate) fn attach(self: &Arc<Self>, server: IpAddr, respond: Responder) -> Attachment {
        let id = self.waits.add_server(server, respond);
        Attachment { manager: Arc::clone(self), server, id }
    }
}

impl Drop for LockManager {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The process may end right after this. The thread cannot wait for its own end.
        if thread::current().id() != self.thread {
            let _ = self.ended.get_mut().recv_timeout(END_LIMIT);
        }
    }
}

/// A server that is believed.
#[derive(Debug)]
pub(crate) struct Attachment {
    manager: Arc<LockManager>,
    server: IpAddr,
    id: ServerId,
}

impl Attachment {
    pub(crate) fn server(&self) -> IpAddr {
        self.server
    }

    /// Begins a wait for a lock of this server; `None` when there are too many.
    pub(crate) fn wait(&self, request: LockRequest, holder: Weak<dyn LockHolder>) -> Option<LockWait> {
        LockWait::begin(&self.manager.waits, self.server, request, holder)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.manager.waits.remove_server(self.server, self.id);
    }
}

async fn start(network: Network) -> io::Result<(LockManager, watch::Receiver<()>)> {
    let waits = Arc::new(Waits::default());
    let (stop, stopped) = oneshot::channel();
    let (ready, started) = oneshot::channel();
    let (thread_end, ended) = mpsc::channel::<()>();
    let (async_end, ended_async) = watch::channel(());
    let of_thread = Arc::clone(&waits);
    let thread = thread::Builder::new().name("lock-manager".to_owned()).spawn(move || {
        run(network.is_ipv6, &of_thread, ready, stopped);
        drop((thread_end, async_end));
    })?;
    let thread = thread.thread().id();
    started.await.map_err(|_| io::Error::other("the thread of the lock manager has ended"))??;
    let manager = LockManager { waits, stop: Some(stop), thread, ended: parking_lot::Mutex::new(ended) };
    Ok((manager, ended_async))
}

/// Serves until `stopped` is closed.
fn run(
    is_ipv6: bool,
    waits: &Arc<Waits>,
    ready: oneshot::Sender<io::Result<()>>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        // The starter may have gone.
        Err(error) => return drop(ready.send(Err(error))),
    };
    runtime.block_on(async {
        let starting = tokio::time::timeout(START_LIMIT, listener::Listener::start(is_ipv6, waits)).await;
        match starting.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(listener) => {
                if ready.send(Ok(())).is_ok() {
                    let _ = stopped.await;
                }
                listener.end().await;
            }
            Err(error) => drop(ready.send(Err(error))),
        }
    });
}
