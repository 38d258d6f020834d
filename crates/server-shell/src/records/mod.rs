//! The names of clients, the hosts that lock through NLM and the persistent sessions in a file of the state
//! directory, see [`server::stable`].
//!
//! A thread of its own writes all tables; changes that come while it writes share the next commit. It holds a
//! copy of the records, and opens the file again when it fails, see [`store`].

mod change;
mod clients;
mod contents;
mod epoch;
mod fault;
mod hosts;
mod medium;
mod reserve;
mod sessions;
mod store;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{ClientId, SessionId, SlotId};
use server::host_monitor::Restart;
use server::runtime::BoxFuture;
use server::stable::{StableRecords, StoredHost, StoredSession};
use state::Lost;
use tokio::sync::oneshot;

use change::Change;
pub(super) use fault::Health;
use medium::{Medium, StateDirectory};
use store::Store;

use super::state_files::StateFiles;

/// The most changes in one commit.
const BATCH_MAX: usize = 1024;

/// How long a change that can wait waits for others to share its commit.
const SOON: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug)]
pub(super) struct Records {
    /// `None` once it is closed.
    changes: Mutex<Option<Sender<PendingChange>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    keeps_sessions: bool,
    health: Arc<Health>,
}

/// What a server finds that starts.
#[derive(Debug, Default)]
pub(super) struct RecoveredRecords {
    /// The owners that may reclaim: those that held state when the server ended, and those of before that
    /// were still waited for then.
    pub(super) owners: Vec<(Bytes, Lost)>,
    /// The persistent sessions of all servers before.
    pub(super) sessions: Vec<StoredSession>,
    /// The hosts that lock through NLM.
    pub(super) restart: Restart,
}

/// A change, and whom to tell when it is on stable storage.
type PendingChange = (Change, oneshot::Sender<io::Result<()>>);

impl Records {
    /// Opens the records. New sessions are kept when `keeps_sessions`; those that were kept before are found
    /// in any case.
    ///
    /// # Errors
    /// When the file cannot be used: another server has it open, it is damaged, or the disk fails.
    pub(super) fn open(
        files: &Arc<StateFiles>,
        keeps_sessions: bool,
    ) -> io::Result<(Self, RecoveredRecords)> {
        Self::open_on(StateDirectory::new(Arc::clone(files)), keeps_sessions)
    }

    fn open_on(mut medium: impl Medium, keeps_sessions: bool) -> io::Result<(Self, RecoveredRecords)> {
        let database = medium.open().map_err(io::Error::other)?;
        let owners = clients::begin(&database).map_err(io::Error::other)?;
        let sessions = sessions::begin(&database).map_err(io::Error::other)?;
        let restart = hosts::begin(&database).map_err(io::Error::other)?;
        let health = Arc::<Health>::default();
        let mut store = Store::new(medium, database, Arc::clone(&health)).map_err(io::Error::other)?;
        let (changes, receiver) = channel();
        let writer =
            thread::Builder::new().name("records".into()).spawn(move || write_all(&mut store, &receiver))?;
        let (changes, writer) = (Mutex::new(Some(changes)), Mutex::new(Some(writer)));
        Ok((Self { changes, writer, keeps_sessions, health }, RecoveredRecords { owners, sessions, restart }))
    }

    /// Whether the records can be written.
    pub(super) fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Waits until what was asked for is written and the file is closed: another server may open it then.
    /// Later changes fail.
    pub(super) fn close(&self) {
        *self.changes.lock() = None;
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            // A writer that has panicked has closed the file as well.
            let _ = writer.join();
        }
    }

    fn change(&self, change: Change) -> BoxFuture<io::Result<()>> {
        let (done, outcome) = oneshot::channel();
        let sent = self.changes.lock().as_ref().is_some_and(|changes| changes.send((change, done)).is_ok());
        Box::pin(async move {
            if !sent {
                return Err(ended());
            }
            outcome.await.map_err(|_| ended())?
        })
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        self.close();
    }
}

impl StableRecords for Records {
    fn add(&self, client: ClientId, owner: Bytes, lost: Lost) -> BoxFuture<io::Result<()>> {
        self.change(Change::Add(client, owner, lost))
    }

    fn remove(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::Remove(client, owner))
    }

    fn forget(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::Forget(client, owner))
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        self.change(Change::EndGrace)
    }

    fn keeps_hosts(&self) -> bool {
        true
    }

    fn add_host(&self, host: StoredHost) -> BoxFuture<io::Result<()>> {
        self.change(Change::AddHost(host))
    }

    fn remove_host(&self, name: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::RemoveHost(name))
    }

    fn host_told(&self, name: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::HostTold(name))
    }

    fn keeps_sessions(&self) -> bool {
        self.keeps_sessions
    }

    fn add_session(&self, id: SessionId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::AddSession(id, record))
    }

    fn set_slot(&self, session: SessionId, slot: SlotId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::SetSlot(session, slot, record))
    }

    fn set_slot_soon(&self, session: SessionId, slot: SlotId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::SetSlotSoon(session, slot, record))
    }

    fn remove_session(&self, id: SessionId) -> BoxFuture<io::Result<()>> {
        self.change(Change::RemoveSession(id))
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that writes them has ended")
}

fn write_all<M: Medium>(store: &mut Store<M>, changes: &Receiver<PendingChange>) {
    loop {
        let first = match changes.recv_timeout(store.patience()) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                store.look();
                continue;
            }
            // No further changes can arrive.
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let batch = batch(first, changes);
        let written = store.write(&batch.iter().map(|(change, _)| change).collect::<Vec<_>>());
        for (_, done) in batch {
            // Whoever asked may have gone away.
            let _ = done.send(written.clone().map_err(io::Error::other));
        }
    }
}

/// The changes of the next commit, in the order of their arrival.
fn batch(first: PendingChange, changes: &Receiver<PendingChange>) -> Vec<PendingChange> {
    let mut batch = vec![first];
    let deadline = Instant::now() + SOON;
    while batch.last().is_some_and(|(change, _)| matches!(change, Change::SetSlotSoon(..)))
        && batch.len() < BATCH_MAX
    {
        match changes.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(asked) => batch.push(asked),
            // The moment is over, or nobody can ask any more.
            Err(_) => break,
        }
    }
    batch.extend(changes.try_iter().take(BATCH_MAX - batch.len()));
    batch
}

#[cfg(test)]
mod fault_tests;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use state::FileId;

    use super::*;

    pub(super) fn open(directory: &Path, keeps_sessions: bool) -> io::Result<(Records, RecoveredRecords)> {
        Records::open(&Arc::new(StateFiles::new(directory)), keeps_sessions)
    }

    fn owners(directory: &Path) -> Vec<Bytes> {
        open(directory, false).unwrap().1.owners.into_iter().map(|(owner, _)| owner).collect()
    }

    pub(super) fn wait(change: BoxFuture<io::Result<()>>) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(change).unwrap();
    }

    #[test]
    fn holder_reclaims_until_the_grace_period_ends() {
        let directory = tempfile::tempdir().unwrap();
        let (records, found) = open(directory.path(), false).unwrap();
        assert!(found.owners.is_empty(), "nobody was here before");
        for (id, owner) in [(1, "a"), (2, "b"), (3, "c")] {
            wait(records.add(ClientId(id), owner.into(), Lost::default()));
        }
        wait(records.remove(ClientId(2), "b".into()));
        drop(records);
        assert_eq!(owners(directory.path()), ["a", "c"]);
        // A second crash, within the grace period: nobody has reclaimed, everybody still may.
        let (records, found) = open(directory.path(), false).unwrap();
        assert_eq!(found.owners, ["a", "c"].map(|owner| (owner.into(), Lost::default())));
        wait(records.add(ClientId(9), "a".into(), Lost::default()));
        wait(records.end_grace());
        drop(records);
        assert_eq!(owners(directory.path()), ["a"], "c has not reclaimed in its time (RFC 8881 §8.4.3)");
    }

    #[test]
    fn of_an_owner_there_is_one_record_the_last() {
        let directory = tempfile::tempdir().unwrap();
        let (records, _) = open(directory.path(), false).unwrap();
        for (id, owner) in [(1, "a"), (2, "a"), (3, "b"), (4, "b")] {
            wait(records.add(ClientId(id), owner.into(), Lost::default()));
        }
        wait(records.remove(ClientId(2), "a".into()));
        wait(records.remove(ClientId(3), "b".into()));
        drop(records);
        assert_eq!(
            owners(directory.path()),
            ["b"],
            "the client with a's name before its restart is gone too"
        );
    }

    #[test]
    fn losses_of_a_client_are_kept_through_two_restarts() {
        let directory = tempfile::tempdir().unwrap();
        let found = || open(directory.path(), false).unwrap();
        let lost = |numbers: &[u64]| numbers.iter().map(|number| FileId(*number, 7)).collect::<Lost>();
        let (records, _) = found();
        for (owner, lost) in [("a", lost(&[1])), ("b", Lost::everything()), ("c", lost(&[3]))] {
            wait(records.add(ClientId(1), owner.into(), lost));
        }
        wait(records.add(ClientId(1), "c".into(), Lost::default()));
        drop(records);
        let (records, known) = found();
        let expected = [("a", lost(&[1])), ("b", Lost::everything()), ("c", Lost::default())];
        assert_eq!(known.owners, expected.map(|(owner, lost)| (owner.into(), lost)));
        for (owner, lost) in [("a", lost(&[2])), ("b", Lost::default()), ("c", Lost::default())] {
            wait(records.add(ClientId(2), owner.into(), lost));
        }
        drop(records);
        let (records, known) = found();
        let expected = [("a", lost(&[1, 2])), ("b", Lost::everything()), ("c", Lost::default())];
        assert_eq!(known.owners, expected.map(|(owner, lost)| (owner.into(), lost)));
        wait(records.add(ClientId(3), "a".into(), Lost::default()));
        wait(records.end_grace());
        drop(records);
        assert_eq!(
            found().1.owners,
            [("a".into(), Lost::default())],
            "it has reclaimed, and lost nothing since"
        );
    }

    #[test]
    fn client_with_unrecorded_losses_lost_everything() {
        let directory = tempfile::tempdir().unwrap();
        drop(open(directory.path(), false).unwrap());
        clients::add_without_files(directory.path(), b"a");
        let (_, found) = open(directory.path(), false).unwrap();
        assert_eq!(found.owners, [("a".into(), Lost::everything())]);
    }

    #[test]
    fn a_directory_has_one_server_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let (records, _) = open(directory.path(), false).unwrap();
        assert!(open(directory.path(), false).is_err());
        drop(records);
        assert_eq!(owners(directory.path()), Vec::<Bytes>::new());
    }
}
