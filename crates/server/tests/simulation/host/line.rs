//! The server's end of a connection: carries callbacks.
//!
//! The double of the test kit would not do: the simulated network delivers callbacks and replies, late or
//! never.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use rpc::auth::Pass;
use rpc::{BoxFuture, CallError, Connection};
use server::runtime::Runtime;

use super::world::World;
use super::{FromServer, Outbox};
use crate::promise::Promise;

type Answer = Promise<Result<Bytes, CallError>>;

pub struct Line {
    id: u64,
    peer: SocketAddr,
    open: AtomicBool,
    world: Weak<World>,
    outbox: Outbox,
    calls_made: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Arc<Answer>>>,
}

impl Line {
    pub fn new((id, machine): (u64, usize), open: bool, world: &Arc<World>, outbox: &Outbox) -> Arc<Self> {
        Arc::new(Self {
            id,
            // Each machine has an address: NOTIFY is believed by it.
            peer: SocketAddr::from(([127, 0, 0, 1 + machine as u8], 900)),
            open: AtomicBool::new(open),
            world: Arc::downgrade(world),
            outbox: outbox.clone(),
            calls_made: AtomicU64::new(0),
            waiting: Mutex::default(),
        })
    }

    pub fn answer(&self, call: u64, bytes: Bytes) {
        if let Some(answer) = self.waiting.lock().remove(&call) {
            answer.fulfil(Ok(bytes));
        }
    }

    pub fn close(&self) {
        self.open.store(false, Ordering::Relaxed);
        for answer in std::mem::take(&mut *self.waiting.lock()).into_values() {
            answer.fulfil(Err(CallError::Disconnected));
        }
    }
}

impl Connection for Line {
    fn id(&self) -> u64 {
        self.id
    }

    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    fn call(
        &self,
        _: u32,
        _: u32,
        procedure: u32,
        _: Pass,
        bytes: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        let Some(world) = self.world.upgrade().filter(|_| self.is_open()) else {
            return Box::pin(std::future::ready(Err(CallError::Disconnected)));
        };
        let call = self.calls_made.fetch_add(1, Ordering::Relaxed);
        let answer = Promise::new();
        self.waiting.lock().insert(call, Arc::clone(&answer));
        let bytes = Bytes::from(bytes);
        self.outbox.lock().push(FromServer::Callback { connection: self.id, call, procedure, bytes });
        let late = world.sleep(timeout);
        Box::pin(async move {
            match select(answer.wait(), late).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) => Err(CallError::Timeout),
            }
        })
    }
}
