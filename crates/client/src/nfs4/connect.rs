//! Reaching a path on a server, and leaving it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lru::LruCache;
use parking_lot::Mutex;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::{
    ClientId, ClientOwner, DestroyClientIdArgs, DestroySessionArgs, GetAttrArgs, LookupArgs, Operation,
    PROGRAM, SequenceId, Status, VERSION, Verifier,
};
use rpc_net::{Client, ClientOptions};
use tokio::sync::{Notify, Semaphore};

use super::callback::Callbacks;
use super::compound::status_of;
use super::core::{CLOSING_MAX, Core, Incarnation};
use super::establish::OVERHEAD_BYTES;
use super::lease::{Lease, spawn_keeper};
use super::owners::Owners;
use super::send::Kind;
use crate::call::{call_error, credentials, host_name};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::protocol::FoundObject;
use crate::server::Server;
use crate::shared::{Limits, Shared, size_limit};
use crate::tap::{Cost, Request, Tap};
use crate::transport_security;

/// A tree on a server that speaks NFSv4.1.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(super) core: Arc<Core>,
}

/// Names of the path in one request.
const NAMES_PER_REQUEST_MAX: usize = 8;

/// What is asked about the tree once.
const TREE_ATTRIBUTES: Bitmap = Bitmap::of(&[
    AttributeId::LeaseTime,
    AttributeId::MaxFileSize,
    AttributeId::MaxRead,
    AttributeId::MaxWrite,
]);

impl Mount {
    /// Reaches `path`.
    pub(crate) async fn connect(
        server: &Server,
        path: &[u8],
        minor_version: u32,
        options: &Options,
        tap: &Arc<Tap>,
    ) -> Result<(Self, FoundObject, Limits)> {
        let callbacks = Arc::new(Callbacks::default());
        let client_options = ClientOptions {
            credentials: credentials(options),
            call_timeout: options.timeout,
            retransmit: false,
            resolver: server.resolver(),
            tcp: options.tcp,
            upgrade: transport_security::demand(server, (PROGRAM, VERSION), options)?,
            ..ClientOptions::default()
        };
        let mut connections = Vec::new();
        for index in 0..options.connections.max(1) {
            let connection = match index {
                0 => {
                    let callbacks = Arc::clone(&callbacks);
                    Client::connect_with_callbacks(server.address, client_options.clone(), callbacks).await
                }
                _ => Client::connect(server.address, client_options.clone()).await,
            };
            connections.push(connection.map_err(|error| Error::Transport(error.to_string()))?);
        }
        let core = Arc::new(Core {
            minor_version,
            options: options.clone(),
            tap: Arc::clone(tap),
            connections,
            next_connection: AtomicUsize::new(0),
            owner: Mutex::new(client_owner()),
            incarnation: Mutex::new(Incarnation { client: ClientId(0), sequence: SequenceId(0) }),
            making: Mutex::new(None),
            kept: Mutex::new(None),
            reclaimed: Mutex::new((0, Instant::now())),
            session: Mutex::new(None),
            is_known_well: AtomicBool::new(false),
            notifies_locks: AtomicBool::new(false),
            fore_channel: Mutex::new(None),
            recovering: tokio::sync::Mutex::new(()),
            bound_generation: AtomicU64::new(u64::MAX),
            attention: Arc::new(Notify::new()),
            notices: AtomicU32::new(0),
            attending: tokio::sync::Mutex::new(()),
            lease: Arc::default(),
            owners: Mutex::new(Owners::default()),
            delegations: Mutex::new(LruCache::unbounded()),
            returning: Mutex::default(),
            early_recalls: Mutex::new(VecDeque::new()),
            closes: Mutex::default(),
            closing: Semaphore::new(CLOSING_MAX),
            callbacks: Arc::clone(&callbacks),
            shared: OnceLock::new(),
            ended: AtomicBool::new(false),
        });
        callbacks.attach(&core);
        let mount = Self { core };
        mount.core.session().await?;
        let root = mount.walk_from_root(path).await?;
        let limits = mount.agree(&root).await?;
        spawn_keeper(&mount.core);
        Ok((mount, root, limits))
    }

    pub(crate) fn lease(&self) -> Arc<Lease> {
        Arc::clone(&self.core.lease)
    }

    /// See [`crate::protocol::Protocol::incarnation`].
    pub(crate) fn incarnation(&self) -> u64 {
        self.core.epoch()
    }

    /// Waits until the server has answered within the lease, and what it may have given away meanwhile is
    /// known.
    pub(crate) async fn ensure_lease(&self) -> Result<()> {
        self.core.session().await?;
        self.core.ensure_lease().await
    }

    /// From here on callbacks find the objects that they are about.
    pub(crate) fn attach(&self, shared: &Arc<Shared>) {
        let _ = self.core.shared.set(Arc::downgrade(shared));
    }

    pub(crate) async fn null(&self) -> Result<()> {
        let sent = self.core.tap.send(Request::Nfs4Null);
        match self.core.connection().call(PROGRAM, VERSION, 0, |_| {}).await {
            Ok(reply) => {
                sent.answered(Cost::from(&reply));
                Ok(())
            }
            Err(error) => {
                sent.unanswered();
                Err(call_error("NULL", error, true))
            }
        }
    }

    /// Nobody uses the mount any more: tasks that wait for its server give up.
    pub(crate) fn abandon(&self) {
        self.core.ended.store(true, Ordering::SeqCst);
        self.core.attention.notify_one();
    }

    /// Gives back delegations and opens, the session and the client; but a server that does not answer is
    /// left alone.
    pub(crate) async fn shutdown(&self) -> Result<()> {
        let core = &self.core;
        let given_back = tokio::time::timeout(core.options.timeout, async {
            core.return_all_delegations().await;
            core.send_waiting_closes().await;
            // All closes are answered when all permits can be had.
            core.closing.acquire_many(CLOSING_MAX as u32).await.is_ok()
        });
        if given_back.await.is_err() {
            tracing::warn!("the server does not answer; what it holds for this client ends with the lease");
        }
        let session = core.session.lock().take();
        self.abandon();
        let mut outcome = Ok(());
        if let Some(session) = session {
            session.close();
            let args = DestroySessionArgs { session: session.id };
            outcome = core.raw::<()>(&core.connections[0], Operation::DestroySession, &args).await;
            let is_unbound = |error: &Error| status_of(error) == Some(Status::ConnectionNotBoundToSession);
            // The connection may have been made again since the last request (RFC 8881 §18.37.3).
            if outcome.as_ref().is_err_and(is_unbound) && core.bind(session.id).await.is_ok() {
                outcome = core.raw::<()>(&core.connections[0], Operation::DestroySession, &args).await;
            }
            let args = DestroyClientIdArgs { client: core.incarnation.lock().client };
            let destroyed = core.raw::<()>(&core.connections[0], Operation::DestroyClientId, &args).await;
            if let Err(error) = destroyed {
                // Files that were left open keep it alive; the lease ends that.
                tracing::debug!(%error, "taking leave of the server");
            }
        }
        for connection in &core.connections {
            connection.disconnect();
        }
        outcome
    }

    pub(crate) fn negotiated(&self) -> Vec<(&'static str, String)> {
        let slots = self.core.session.lock().as_ref().map_or(0, |session| session.slots());
        vec![
            ("slots", slots.to_string()),
            ("lease_seconds", self.core.lease.duration().as_secs().to_string()),
            ("delegations", u32::from(self.core.options.delegations).to_string()),
        ]
    }

    async fn walk_from_root(&self, path: &[u8]) -> Result<FoundObject> {
        let names: Vec<Bytes> = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty() && *name != b".")
            .map(Bytes::copy_from_slice)
            .collect();
        let mut chunks = names.chunks(NAMES_PER_REQUEST_MAX);
        let first = chunks.next().unwrap_or_default();
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::PutRootFh), |operations| {
                operations.put(Operation::PutRootFh, &());
                for name in first {
                    operations.put(Operation::Lookup, &LookupArgs { name: name.clone() });
                }
                operations.describe();
            })
            .await?;
        results.done(Operation::PutRootFh)?;
        for _ in first {
            results.done(Operation::Lookup)?;
        }
        let mut found = results.found()?;
        for chunk in chunks {
            let (more, outcome) = self.look_up(&found.handle, chunk).await;
            outcome?;
            found = more.into_iter().next_back().ok_or(Error::Usage("the path is empty"))?;
        }
        Ok(found)
    }

    /// Transfer sizes and the lease.
    async fn agree(&self, root: &FoundObject) -> Result<Limits> {
        let options = &self.core.options;
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::GetAttr), |operations| {
                operations
                    .put_fh(&root.handle)
                    .put(Operation::GetAttr, &GetAttrArgs { wanted: TREE_ATTRIBUTES });
            })
            .await?;
        results.done(Operation::PutFh)?;
        let tree: AttributeValues = results.get(Operation::GetAttr)?;
        if let Some(seconds @ 1..) = tree.lease_time {
            self.core.lease.set_duration(Duration::from_secs(seconds.into()));
        }
        let channel = self.core.fore_channel.lock().clone();
        let agreed = |wanted: u32, record: Option<u32>, server: Option<u64>| {
            let record = record.map_or(wanted, |bytes| bytes.saturating_sub(OVERHEAD_BYTES));
            let server =
                server.filter(|max| *max > 0).map_or(wanted, |max| u32::try_from(max).unwrap_or(u32::MAX));
            wanted.min(record).min(server).max(512)
        };
        let (response, request) =
            channel.map_or((None, None), |c| (Some(c.response_bytes_max), Some(c.request_bytes_max)));
        Ok(Limits {
            read_bytes_max: agreed(options.read_bytes_max, response, tree.max_read),
            write_bytes_max: agreed(options.write_bytes_max, request, tree.max_write),
            file_bytes_max: tree.max_file_size.map_or(u64::MAX, size_limit),
        })
    }
}

/// Another client than any other on this host, in every process and for every mount.
fn client_owner() -> ClientOwner {
    let host = host_name();
    let mut id = b"primetime ".to_vec();
    id.extend_from_slice(&host);
    id.extend_from_slice(format!(" {} {:016x}", std::process::id(), rand::random::<u64>()).as_bytes());
    ClientOwner { verifier: Verifier(rand::random()), id: id.into() }
}
