//! What all handles of one client share, and the operations on objects that both versions have.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;
use proto::nfs4;
use tokio::sync::{Notify, Semaphore};

use crate::attributes::{Access, Attributes, SetAttributes};
use crate::cache::{DataCache, DataKey, NameCache, ServerClock};
use crate::error::{Error, Result, Status};
use crate::file::OpenFile;
use crate::name::Refusals;
use crate::node::{Node, NodeState, NodeTable};
use crate::options::{Options, Version};
use crate::protocol::{Effect, FoundObject, Protocol};
use crate::server::Server;
use crate::tap::Tap;
use crate::walk::Named;
use crate::watcher::Watcher;
use crate::writeback::Chunk;
use crate::writer::Writer;
use crate::{budget, permission};

/// Objects that are remembered.
const NODES_MAX: NonZeroUsize = NonZeroUsize::new(131_072).expect("not zero");
/// Names that are remembered.
const NAMES_MAX: usize = 262_144;

/// Transfer sizes that the server agrees to, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) read_bytes_max: u32,
    pub(crate) write_bytes_max: u32,
    /// The largest file on the file system of the root, in bytes (`maxfilesize`); `u64::MAX` when the
    /// server does not say.
    pub(crate) file_bytes_max: u64,
}

/// The limit of a size that a server names. A root without files of its own has none.
pub(crate) fn size_limit(file_bytes_max: u64) -> u64 {
    if file_bytes_max == 0 { u64::MAX } else { file_bytes_max }
}

/// A client.
pub(crate) struct Shared {
    pub(crate) options: Options,
    /// The version that is spoken.
    pub(crate) version: Version,
    pub(crate) tap: Arc<Tap>,
    /// Set once, right after the value is made: NFSv4's callbacks need to find their way back.
    protocol: OnceLock<Protocol>,
    limits: OnceLock<Limits>,
    pub(crate) nodes: NodeTable,
    pub(crate) names: Mutex<NameCache<Named>>,
    pub(crate) data: Mutex<DataCache>,
    /// Names that were left out of lists.
    pub(crate) refusals: Refusals,
    pub(crate) root: Arc<Node>,
    /// A permit for each [`budget::BUDGET_UNIT_BYTES`] that may be dirty.
    pub(crate) dirty_budget: Semaphore,
    /// How many wait for a permit.
    pub(crate) starving: AtomicUsize,
    /// Files with data that wait, for the task that sends them after a while.
    pub(crate) dirty_files: Mutex<BTreeMap<u64, Weak<Writer>>>,
    pub(crate) dirty_notice: Notify,
    /// Who is told when something that is known becomes void.
    pub(crate) watcher: OnceLock<Arc<dyn Watcher>>,
    pub(crate) clock: Mutex<ServerClock>,
    next_file: AtomicU64,
    shut_down: AtomicBool,
}

impl Shared {
    pub(crate) async fn connect(server: Server, path: &[u8], options: Options) -> Result<Arc<Self>> {
        let tap = Arc::new(Tap::default());
        let (version, (protocol, root, limits)) = negotiate(&server, path, &options, &tap).await?;
        let nodes = NodeTable::new(NODES_MAX, protocol.lease());
        let node = nodes.get(&root.handle);
        let shared = Arc::new(Self {
            tap,
            protocol: OnceLock::new(),
            limits: OnceLock::new(),
            names: Mutex::new(NameCache::new(NAMES_MAX)),
            data: Mutex::new(DataCache::new(options.data_cache_bytes_max)),
            refusals: Refusals::default(),
            dirty_budget: Semaphore::new(budget::budget_units(options.dirty_bytes_max)),
            starving: AtomicUsize::new(0),
            dirty_files: Mutex::default(),
            dirty_notice: Notify::new(),
            watcher: OnceLock::new(),
            clock: Mutex::new(ServerClock::new(Instant::now())),
            next_file: AtomicU64::new(1),
            shut_down: AtomicBool::new(false),
            nodes,
            root: node,
            version,
            options,
        });
        shared.learn_found(&root, Instant::now());
        let _ = shared.limits.set(limits);
        let _ = shared.protocol.set(protocol);
        match shared.protocol() {
            Protocol::V3(mount) => mount.attach(&shared),
            Protocol::V4(mount) => mount.attach(&shared),
        }
        budget::spawn_flusher(&shared);
        Ok(shared)
    }

    pub(crate) fn protocol(&self) -> &Protocol {
        self.protocol.get().expect("it is set before anybody has the client")
    }

    pub(crate) fn limits(&self) -> Limits {
        *self.limits.get().expect("it is set before anybody has the client")
    }

    /// The largest size of this file, in bytes. Of other file systems than that of the root only the server
    /// knows it.
    pub(crate) fn file_bytes_max(&self, node: &Node) -> u64 {
        let fsid = |node: &Node| node.state.lock().known.last().map(|attributes| attributes.fsid);
        match fsid(node) {
            Some(of_file) if fsid(&self.root) == Some(of_file) => self.limits().file_bytes_max,
            _ => u64::MAX,
        }
    }

    /// Refuses what would make the file larger than its file system allows.
    pub(crate) fn check_size(&self, node: &Node, operation: &'static str, end: u64) -> Result<()> {
        // Nearly all ends are below: nothing is looked up for them.
        match end > self.limits().file_bytes_max && end > self.file_bytes_max(node) {
            true => Err(Error::server(operation, nfs4::Status::FileTooBig)),
            false => Ok(()),
        }
    }

    pub(crate) fn next_file_id(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.options.read_only {
            true => Err(Error::Usage("the address says that nothing is to be changed (`ro`)")),
            false => Ok(()),
        }
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.shut_down.load(Ordering::Relaxed)
    }

    pub(crate) fn negotiated(&self) -> BTreeMap<&'static str, String> {
        let limits = self.limits();
        let mut all: BTreeMap<_, _> = self.protocol().negotiated().into_iter().collect();
        all.insert("version", self.version.to_string());
        all.insert("rsize", limits.read_bytes_max.to_string());
        all.insert("wsize", limits.write_bytes_max.to_string());
        all.insert("nconnect", self.options.connections.to_string());
        all
    }

    /// Remembers an object that a request sent at `asked` has found.
    pub(crate) fn learn_found(&self, found: &FoundObject, asked: Instant) -> Arc<Node> {
        let node = self.nodes.get(&found.handle);
        self.learn(&node, found.attributes, asked);
        node
    }

    /// Remembers attributes that came with the reply to a request sent at `asked`. Returns the epoch before
    /// and after.
    pub(crate) fn learn(&self, node: &Node, attributes: Attributes, asked: Instant) -> (u64, u64) {
        self.learn_and_forget(node, attributes, asked, false)
    }

    /// As [`Shared::learn`], of a request that opens the file: what is read from now on must be what was
    /// closed before, whatever times it has.
    pub(crate) fn learn_at_open(&self, node: &Node, attributes: Attributes, asked: Instant) {
        self.learn_and_forget(node, attributes, asked, true);
    }

    fn learn_and_forget(
        &self,
        node: &Node,
        attributes: Attributes,
        asked: Instant,
        at_open: bool,
    ) -> (u64, u64) {
        let now = Instant::now();
        let (before, after) = {
            let known = &mut node.state.lock().known;
            let mut clock = self.clock.lock();
            clock.saw(&attributes, now);
            let before = known.epoch();
            known.learn(attributes, (asked, now), &self.options.attribute_timeouts);
            // Names are believed for as long as the attributes say the same, and are asked for again once
            // those are certain.
            let is_certain =
                || attributes.is_directory() && clock.has_passed(&attributes, asked, wall_time(asked));
            if known.is_uncertain(&clock) && (at_open || is_certain()) {
                known.forget_content();
            }
            (before, known.epoch())
        };
        if before != after
            && let Some(watcher) = self.watcher.get()
        {
            watcher.changed(node.key);
        }
        (before, after)
    }

    /// See [`crate::cache::Known::is_uncertain`].
    pub(crate) fn is_uncertain(&self, state: &NodeState) -> bool {
        state.known.is_uncertain(&self.clock.lock())
    }

    /// What came with the reply to a request sent at `asked` is being cached.
    pub(crate) fn note_cached(&self, state: &mut NodeState, asked: Instant) {
        state.known.note_cached(&self.clock.lock(), asked, wall_time(asked));
    }

    /// Remembers what a request of ours, sent at `asked`, did to an object. True when no other change of ours
    /// was answered in between, which the server may have carried out before this one or after.
    pub(crate) fn learn_effect(&self, node: &Node, effect: Effect, asked: Instant) -> bool {
        self.see_clock(&effect);
        let mut state = node.state.lock();
        let alone = state.is_unchanged_since(asked);
        state.changed = Some(Instant::now());
        match effect {
            Effect::Around { before, after } => {
                let times = (asked, Instant::now());
                state.known.learn_own_change((before, after), times, &self.options.attribute_timeouts);
            }
            Effect::Change { atomic, before, after } => {
                state.known.learn_change_info((atomic, before, after), Instant::now());
            }
        }
        // In the same tick others may have changed it before or after.
        self.note_cached(&mut state, asked);
        alone
    }

    fn see_clock(&self, effect: &Effect) {
        if let Effect::Around { after: Some(after), .. } = effect {
            self.clock.lock().saw(after, Instant::now());
        }
    }

    /// As [`Shared::learn_effect`], of data that were written while nobody else could change the file.
    pub(crate) fn learn_lone_write(&self, node: &Node, effect: Effect, asked: Instant) {
        self.see_clock(&effect);
        let mut state = node.state.lock();
        let now = Instant::now();
        state.changed = Some(now);
        if let Effect::Around { after, .. } = effect {
            state.known.learn_lone_change(after, (asked, now), &self.options.attribute_timeouts);
        }
        self.note_cached(&mut state, asked);
    }

    /// The attributes, asked for unless they are still believed; with the data that are not at the server
    /// yet.
    pub(crate) async fn attributes(self: &Arc<Self>, node: &Arc<Node>) -> Result<Attributes> {
        // Times and size are the server's to say: it must have what was written.
        self.write_out(node).await;
        match self.known_attributes(node) {
            Some(attributes) => Ok(attributes),
            None => self.revalidate(node).await,
        }
    }

    /// The attributes as far as they need not be asked for.
    pub(crate) fn known_attributes(&self, node: &Node) -> Option<Attributes> {
        node.state.lock().believed(Instant::now()).copied()
    }

    /// Asks for the attributes.
    pub(crate) async fn revalidate(&self, node: &Arc<Node>) -> Result<Attributes> {
        let asked = Instant::now();
        let attributes = self.ask_attributes(node).await?;
        self.learn(node, attributes, asked);
        Ok(attributes)
    }

    /// As [`Shared::revalidate`], to open the file.
    pub(crate) async fn revalidate_at_open(&self, node: &Arc<Node>) -> Result<Attributes> {
        let asked = Instant::now();
        let attributes = self.ask_attributes(node).await?;
        self.learn_at_open(node, attributes, asked);
        Ok(attributes)
    }

    async fn ask_attributes(&self, node: &Arc<Node>) -> Result<Attributes> {
        let outcome = self.protocol().attributes(&node.handle).await;
        if let Err(error) = &outcome
            && error.kind() == std::io::ErrorKind::StaleNetworkFileHandle
        {
            self.nodes.remove(&node.handle);
        }
        outcome
    }

    pub(crate) async fn set_attributes(
        self: &Arc<Self>,
        node: &Arc<Node>,
        set: &SetAttributes,
        file: Option<&Arc<OpenFile>>,
    ) -> Result<()> {
        self.check_writable()?;
        if let Some(size) = set.size {
            self.check_size(node, "SETATTR", size)?;
        }
        self.settle(node).await;
        match file {
            Some(_) => self.protocol().before_change_by_file(node).await?,
            None => self.protocol().before_change(node).await?,
        }
        let asked = Instant::now();
        let effect = self.protocol().set_attributes(&node.handle, set, file.map(|file| &**file)).await?;
        self.learn_effect(node, effect, asked);
        if set.size.is_some() {
            node.state.lock().known.forget_content();
        }
        Ok(())
    }

    /// Which of the `wanted` permissions the caller has; the answer is remembered until the object changes.
    pub(crate) async fn access(&self, node: &Arc<Node>, wanted: Access) -> Result<Access> {
        {
            let state = node.state.lock();
            if let (Some((asked, granted, changed)), Some(attributes)) = (state.access, state.known.last())
                && asked.contains(wanted)
                && changed == attributes.changed
            {
                return Ok(Access(granted.0 & wanted.0));
            }
        }
        let asked = Instant::now();
        let everything = Access(wanted.0 | permission::OPENING.0);
        let (granted, attributes) = self.protocol().access(&node.handle, everything).await?;
        if let Some(attributes) = attributes {
            self.learn(node, attributes, asked);
        }
        let mut state = node.state.lock();
        state.access = state.known.last().map(|attributes| (everything, granted, attributes.changed));
        Ok(Access(granted.0 & wanted.0))
    }

    pub(crate) async fn shutdown(self: &Arc<Self>) -> Result<()> {
        if self.shut_down.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let mut outcome = Ok(());
        for writer in self.dirty() {
            writer.settle().await;
            outcome = outcome.and(writer.told_any());
        }
        self.dirty_notice.notify_one();
        outcome.and(self.protocol().shutdown().await)
    }

    /// The data of a range are void: they are about to be written, or were. A read under way meanwhile may
    /// bring either, and is not to be remembered.
    pub(crate) fn forget_data(&self, node: &Node, range: Range<u64>) {
        let key = {
            let mut state = node.state.lock();
            state.writes += 1;
            state.data_key(node.key)
        };
        self.data.lock().remove(key, range);
    }

    /// What was `sent` has taken the place of what was cached, and as much as has `arrived` is cached, unless
    /// the content was voided since it was sent, when its place was `place`.
    pub(crate) fn keep_written(&self, node: &Node, place: DataKey, sent: &Chunk, arrived: Option<&Chunk>) {
        self.forget_data(node, sent.range());
        let Some(arrived) = arrived.filter(|_| self.options.data_cache) else { return };
        if node.state.lock().data_key(node.key) != place {
            return;
        }
        let mut data = self.data.lock();
        let mut at = arrived.range().start;
        for piece in &arrived.pieces {
            data.insert(place, at, piece);
            at += piece.len() as u64;
        }
    }
}

/// What the clock of this machine showed at `asked`.
fn wall_time(asked: Instant) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(asked.elapsed()).unwrap_or(now)
}

/// The first of the wanted versions that the server offers, with the tree reached over it.
async fn negotiate(
    server: &Server,
    path: &[u8],
    options: &Options,
    tap: &Arc<Tap>,
) -> Result<(Version, (Protocol, FoundObject, Limits))> {
    for (index, version) in options.versions.iter().enumerate() {
        match Protocol::connect(server, path, *version, options, tap).await {
            Ok(reached) => return Ok((*version, reached)),
            Err(error) if !is_version_missing(&error) => return Err(error),
            Err(error) if index + 1 == options.versions.len() => {
                tracing::debug!(%error, "the last version to try");
            }
            Err(error) => tracing::debug!(%error, %version, "trying another version"),
        }
    }
    match &options.versions[..] {
        [] => Err(Error::Usage("no version of NFS will do")),
        all => {
            let names: Vec<_> = all.iter().map(|version| format!("NFSv{version}")).collect();
            Err(Error::NotOffered(names.join(" or ")))
        }
    }
}

/// How servers say that they do not have a version: in the RPC, or in the COMPOUND.
fn is_version_missing(error: &Error) -> bool {
    use proto::nfs4::Status as S;
    match error {
        Error::NotOffered(_) => true,
        Error::Server { status: Status::Nfs4(status), .. } => *status == S::MinorVersionMismatch,
        _ => false,
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(Protocol::V4(mount)) = self.protocol.get() {
            mount.abandon();
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}
