//! Calls of the server to the lock managers of hosts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use rpc::{BoxFuture, CallError};
use server::hosts::{CallHosts, HostRoute, ProcedureNumber};
use server::runtime::Runtime;

use super::world::World;
use super::{FromServer, Outbox};
use crate::promise::Promise;

type Answer = Promise<Result<Bytes, CallError>>;

pub struct HostCaller {
    world: Weak<World>,
    outbox: Outbox,
    calls_made: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Arc<Answer>>>,
}

impl HostCaller {
    pub fn new(world: &Arc<World>, outbox: &Outbox) -> Arc<Self> {
        let (world, outbox) = (Arc::downgrade(world), outbox.clone());
        Arc::new(Self { world, outbox, calls_made: AtomicU64::new(0), waiting: Mutex::default() })
    }

    pub fn answer(&self, call: u64, bytes: Bytes) {
        if let Some(answer) = self.waiting.lock().remove(&call) {
            answer.fulfil(Ok(bytes));
        }
    }
}

impl CallHosts for HostCaller {
    fn call(
        &self,
        _: HostRoute,
        _: ProcedureNumber,
        arguments: Vec<u8>,
        time_limit: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        let Some(world) = self.world.upgrade() else {
            return Box::pin(std::future::ready(Err(CallError::Disconnected)));
        };
        let (answer, call) = (Answer::new(), self.calls_made.fetch_add(1, Ordering::Relaxed));
        self.waiting.lock().insert(call, Arc::clone(&answer));
        self.outbox.lock().push(FromServer::HostCall { call, bytes: arguments.into() });
        let late = world.sleep(time_limit);
        Box::pin(async move {
            match select(answer.wait(), late).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(CallError::Timeout),
            }
        })
    }
}
