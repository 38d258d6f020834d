//! A server over memory behind a script.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::{ServerOptions, serve};
use server::dispatch::Programs;
use server::exports::{Export, ExportId, ExportPath, Exports, Rule, Squash};
use server::nfs4::{Nfs4, Nfs4Options, OwnerNames};
use server::nsm1::Nsm1;
use server::runtime::{BoxFuture, Runtime};
use server::services::StateService;
use state::{Limits, State};
use tokio::net::TcpListener;
use tokio::time::Instant;
use vfs::memory::{Memory, MemoryOptions};
use xdr::Encoder;

use super::script::{Script, Verdict};

struct World(Instant);

impl Runtime for World {
    fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }

    fn wall_clock(&self) -> vfs::Timestamp {
        vfs::Timestamp { seconds: 1_000_000 + self.0.elapsed().as_secs() as i64, nanoseconds: 0 }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn spawn(&self, task: BoxFuture<()>) {
        tokio::spawn(task);
    }

    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

struct Hostile {
    programs: Programs<Memory, StateService, StateService>,
    script: Mutex<Script>,
}

impl Service for Hostile {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let head_bytes = reply.len();
        let disposition = self.programs.call(call, reply).await?;
        let mut results = reply.as_slice()[head_bytes..].to_vec();
        let verdict = self.script.lock().unwrap_or_else(PoisonError::into_inner).apply(&mut results);
        reply.truncate(head_bytes);
        reply.buffer_mut().extend_from_slice(&results);
        match verdict {
            Verdict::Send => Ok(disposition),
            Verdict::Drop => Ok(Disposition::Drop),
            Verdict::Refuse => Err(Refusal::SystemError),
        }
    }
}

/// A server that serves until it is dropped with its runtime.
pub struct Server {
    address: SocketAddr,
    service: Arc<Hostile>,
}

impl Server {
    pub async fn start(script: Script) -> Self {
        let options = MemoryOptions {
            root_mode: 0o777,
            bytes_max: 1 << 20,
            objects_max: 256,
            ..MemoryOptions::default()
        };
        let memory = Memory::new(options).expect("memory");
        let rule = Rule { squash: Squash::NONE, ..Rule::default() };
        let exports = Arc::new(Exports::single(Export::new(ExportId(1), ExportPath::root(), memory, rule)));
        let state = Arc::new(State::new(Limits { clients_max: 8, ..Limits::default() }, 1));
        let recaller =
            StateService::new(state, Arc::new(World(Instant::now())), Arc::new(server::stable::Forgetful));
        let nfs4 = Nfs4::new(
            Arc::clone(&exports),
            recaller.clone(),
            Nfs4Options {
                delegations: true,
                identity: Bytes::from_static(b"fuzz"),
                owner_names: OwnerNames::Numeric,
            },
        );
        let programs = Programs::new(exports, recaller.clone(), recaller.clone())
            .with_nfs4(nfs4)
            .with_nsm1(Nsm1::new(recaller, 1));
        let service = Arc::new(Hostile { programs, script: Mutex::new(script) });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let options = ServerOptions { busy_poll_limit: Duration::ZERO, ..ServerOptions::default() };
        tokio::spawn(serve(listener, Arc::clone(&service), options, std::future::pending()));
        Self { address, service }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn altered(&self) -> u32 {
        self.service.script.lock().unwrap_or_else(PoisonError::into_inner).altered
    }
}
