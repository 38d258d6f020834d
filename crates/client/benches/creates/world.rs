//! A server in the same thread, with files in memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use server::dispatch::Programs;
use server::exports::{Export, ExportId, ExportPath, Exports, Rule, Squash};
use server::nfs4::{Nfs4, Nfs4Options, OwnerNames};
use server::retries::{Retries, RetryLimits};
use server::runtime::{BoxFuture, Runtime};
use server::services::StateService;
use server::stable::Forgetful;
use state::{Limits, State};
use tokio::net::TcpListener;
use vfs::Timestamp;
use vfs::memory::{Memory, MemoryOptions};

/// Serves until the runtime ends.
pub async fn serve() -> SocketAddr {
    serve_with(|_| {}).await
}

/// As [`serve`], with other limits.
pub async fn serve_with(change: impl FnOnce(&mut Limits)) -> SocketAddr {
    let mut limits = Limits::default();
    change(&mut limits);
    let memory = Memory::new(MemoryOptions::default()).unwrap();
    let rule = Rule { squash: Squash::NONE, ..Rule::default() };
    let exports = Arc::new(Exports::single(Export::new(ExportId(1), ExportPath::root(), memory, rule)));
    let world: Arc<dyn Runtime> = Arc::new(World(Instant::now(), AtomicU64::new(1)));
    let state = Arc::new(State::new(limits, 1));
    let recaller = StateService::new(state, Arc::clone(&world), Arc::new(Forgetful));
    let options =
        Nfs4Options { delegations: true, identity: "creates".into(), owner_names: OwnerNames::Numeric };
    let nfs4 = Nfs4::new(Arc::clone(&exports), recaller.clone(), options);
    let retries = Retries::new(RetryLimits::default(), world, Arc::clone(recaller.events()));
    let programs = Programs::new(exports, recaller.clone(), recaller).with_nfs4(nfs4).with_retries(retries);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let net = rpc_net::ServerOptions::default();
    tokio::spawn(rpc_net::serve(listener, Arc::new(programs), net, std::future::pending()));
    address
}

/// Has the real clock and the tasks of the thread, unlike the double of the test kit: a benchmark measures
/// time. Holds its start and the number of draws.
struct World(Instant, AtomicU64);

impl Runtime for World {
    fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }

    fn wall_clock(&self) -> Timestamp {
        Timestamp { seconds: 0, nanoseconds: 0 }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn spawn(&self, task: BoxFuture<()>) {
        tokio::spawn(task);
    }

    fn random(&self, bytes: &mut [u8]) {
        let number = self.1.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        bytes.iter_mut().zip(number.iter().rev().cycle()).for_each(|(byte, part)| *byte = *part);
    }
}
