//! Delegations: held within a bound, and given back when they are recalled, in the way, or too many (RFC 8881
//! §10.2–§10.4).

use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use proto::nfs4::{CloseArgs, DelegReturnArgs, Operation, StateId, Status};

use super::Mount;
use super::compound::{is_state_lost, status_of};
use super::core::{Core, EARLY_RECALLS_MAX};
use super::send::Kind;
use super::state::{Delegation, ServerOpen};
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::lock::LockKind;
use crate::node::Node;
use crate::protocol::Locking;

/// How many are given back at once.
const RETURNS_AT_ONCE: usize = 64;

/// How a delegation went back.
enum Returned {
    InTime,
    /// The server had ended it already: others may have used the file meanwhile.
    TooLate,
}

impl Mount {
    /// An object is about to be changed by other means than a file that is open: nothing of ours is to be in
    /// the way.
    pub(crate) async fn before_change(&self, node: &Arc<Node>) -> Result<()> {
        self.close_before(&node.handle).await;
        self.return_delegation(node).await
    }

    /// As [`Mount::before_change`], by a file that is open for it.
    pub(crate) async fn before_change_by_file(&self, node: &Arc<Node>) -> Result<()> {
        self.close_before(&node.handle).await;
        self.return_in_the_way_of_writing(node).await
    }

    /// An object is about to be opened for writing, or changed by a file of ours that is: a delegation for
    /// reading is given back first. One for writing is not in the way (RFC 8881 §10.4).
    pub(crate) async fn return_in_the_way_of_writing(&self, node: &Arc<Node>) -> Result<()> {
        if node.state.lock().is_write_delegated() {
            return Ok(());
        }
        self.return_delegation(node).await
    }

    /// Gives the delegation of an object back, if there is one, and waits until the server has it.
    pub(crate) async fn return_delegation(&self, node: &Arc<Node>) -> Result<()> {
        {
            let mut state = node.state.lock();
            match &mut state.delegation {
                Some(delegation) => delegation.returning = true,
                None => return Ok(()),
            }
        }
        // Half of it done would be worse than nothing: a caller who gives up does not stop it.
        let (core, node) = (Arc::clone(&self.core), Arc::clone(node));
        let giving_back = async move {
            let wait = core.options.waits.delegation;
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            core.give_back(&node).await
        };
        match tokio::spawn(giving_back).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Usage("the runtime is being shut down")),
        }
    }
}

impl Core {
    /// A delegation came with an open. `recalled` when the server wants it back at once.
    pub(super) fn hold_delegation(self: &Arc<Self>, node: &Arc<Node>, granted: Delegation, recalled: bool) {
        let early = {
            // Until it is held: a recall finds it, or is found here.
            let mut early_recalls = self.early_recalls.lock();
            let place = early_recalls.iter().position(|other| *other == granted.state_id.other);
            let early = place.map(|place| early_recalls.remove(place)).is_some();
            let mut state = node.state.lock();
            let held = state.delegation.filter(|held| held.epoch == granted.epoch);
            if held.is_some_and(|held| held.state_id.other != granted.state_id.other) {
                // Two opens at once got one each; one is enough.
                drop((state, early_recalls));
                self.spawn_return_unused(node, granted);
                return;
            }
            let returning = recalled || early || held.is_some_and(|held| held.returning);
            let since = held.map_or(granted.granted, |held| held.granted);
            state.delegation = Some(Delegation { returning, granted: since, ..granted });
            early
        };
        let surplus = {
            let mut held = self.delegations.lock();
            held.put(node.key, Arc::clone(node));
            let over = held.len() > self.options.delegations_max;
            if over { held.pop_lru().map(|(_, node)| node) } else { None }
        };
        if self.epoch() != granted.epoch {
            // The server has restarted since, and nobody has taken it back from there.
            let is_same = |held: &Delegation| held.state_id.other == granted.state_id.other;
            let is_held = node.state.lock().delegation.as_ref().is_some_and(is_same);
            if is_held {
                self.lose_delegation(node);
            }
            return;
        }
        if recalled || early {
            self.spawn_give_back(Arc::clone(node));
        }
        if let Some(surplus) = surplus {
            self.spawn_give_back(surplus);
        }
    }

    /// The server recalls a delegation: it goes back as soon as what was decided by it is known to the
    /// server.
    pub(super) fn recall(self: &Arc<Self>, node: Option<Arc<Node>>, state_id: &StateId) -> Status {
        let mut early = self.early_recalls.lock();
        if let Some(node) = node {
            let mut state = node.state.lock();
            match &mut state.delegation {
                Some(delegation) if delegation.state_id.other == state_id.other => {
                    let again = std::mem::replace(&mut delegation.returning, true);
                    if delegation.write {
                        state.write_habit.recalled();
                    }
                    drop((state, early));
                    if !again {
                        self.spawn_give_back(node);
                    }
                    return Status::Ok;
                }
                _ => {}
            }
        }
        // The reply that brings it may still be on its way (RFC 8881 §2.10.6.3).
        if early.len() >= EARLY_RECALLS_MAX {
            early.pop_front();
        }
        early.push_back(state_id.other);
        Status::Ok
    }

    /// Gives back all but the `keep` that were granted last.
    pub(super) fn recall_any(self: &Arc<Self>, keep: usize) {
        loop {
            let oldest = {
                let mut held = self.delegations.lock();
                if held.len() <= keep {
                    return;
                }
                held.pop_lru().map(|(_, node)| node)
            };
            let Some(node) = oldest else { return };
            self.spawn_give_back(node);
        }
    }

    /// Gives all back, and waits for those that are on their way.
    pub(super) async fn return_all_delegations(self: &Arc<Self>) {
        let mut nodes: Vec<_> = {
            let mut held = self.delegations.lock();
            let nodes = held.iter().map(|(_, node)| Arc::clone(node)).collect();
            held.clear();
            nodes
        };
        nodes.extend(self.returning.lock().values().cloned());
        stream::iter(nodes)
            .for_each_concurrent(RETURNS_AT_ONCE, |node| async move {
                if let Some(delegation) = &mut node.state.lock().delegation {
                    delegation.returning = true;
                }
                if let Err(error) = self.give_back(&node).await {
                    tracing::debug!(%error, "giving a delegation back");
                }
            })
            .await;
    }

    pub(super) fn spawn_give_back(self: &Arc<Self>, node: Arc<Node>) {
        if let Some(delegation) = &mut node.state.lock().delegation {
            delegation.returning = true;
        }
        self.returning.lock().insert(node.key, Arc::clone(&node));
        let core = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = core.give_back(&node).await {
                tracing::debug!(%error, "giving a delegation back");
            }
            core.returning.lock().remove(&node.key);
        });
    }

    pub(super) fn spawn_return_unused(self: &Arc<Self>, node: &Arc<Node>, delegation: Delegation) {
        let (core, node) = (Arc::clone(self), Arc::clone(node));
        tokio::spawn(async move {
            if let Err(error) = core.send_return(&node, &delegation, None).await {
                tracing::debug!(%error, "giving a delegation back");
            }
        });
    }

    /// Tells the server what was decided without it, and gives the delegation back.
    async fn give_back(self: &Arc<Self>, node: &Node) -> Result<()> {
        let _gate = node.gate.lock().await;
        loop {
            // While a server that has restarted is told what is held, nothing is given back.
            let epoch = self.session().await?.epoch();
            let (delegation, files) = {
                let mut state = node.state.lock();
                let files = state.open_files();
                let Some(delegation) = &mut state.delegation else { return Ok(()) };
                // It may be another one than the caller has seen, granted while the caller waited for the
                // gate. Whatever was decided by it after this moment would not be told to the server.
                delegation.returning = true;
                (*delegation, files)
            };
            if delegation.epoch == epoch {
                let outcome = self.give_back_held(node, delegation, files).await;
                if epoch == self.epoch() {
                    node.state.lock().delegation = None;
                    return outcome;
                }
                // The server has restarted meanwhile: what was taken back from it is given back again.
            } else if epoch == self.epoch() {
                // Of an earlier incarnation: there is nothing to give back.
                self.lose_delegation(node);
            }
        }
    }

    async fn give_back_held(
        self: &Arc<Self>,
        node: &Node,
        delegation: Delegation,
        files: Vec<Arc<OpenFile>>,
    ) -> Result<()> {
        let mount = Mount { core: Arc::clone(self) };
        for file in &files {
            if file.v4.lock().open.is_none() {
                match mount.open_delegated(node, &delegation, file.writable).await {
                    Ok(open) => file.v4.lock().open = Some(open),
                    // The server has ended it already. Who asked for the locks now might get them after
                    // somebody else.
                    Err(error) if status_of(&error).is_some_and(is_state_lost) => break,
                    // The file learns it with its next request.
                    Err(error) => tracing::debug!(%error, "opening by a delegation"),
                }
            }
            let held: Vec<_> = node.state.lock().locks.of(file.id).cloned().collect();
            for lock in held {
                let kind = if lock.exclusive { LockKind::Exclusive } else { LockKind::Shared };
                match mount.lock(file, (lock.range.start, lock.length()), kind, false).await {
                    Ok(Locking::Granted(_)) => {}
                    Ok(Locking::Denied | Locking::Queued) | Err(_) => self.lose_locks(file),
                }
            }
        }
        if delegation.write
            && let Some(writer) = node.writer()
        {
            // Whoever wants the file must find at the server what was written by it (RFC 8881 §10.4.4).
            writer.settle().await;
        }
        self.announce_return(node).await;
        let parked = {
            let mut state = node.state.lock();
            if let Some(held) = &mut state.delegation {
                held.ending = true;
            }
            // What is told from here on may be of changes by others.
            state.known.doubt(Instant::now());
            state.parked.take()
        };
        let outcome = self.send_return(node, &delegation, parked).await;
        self.delegations.lock().pop(&node.key);
        // It was the delegation that they were believed by.
        node.state.lock().known.doubt(Instant::now());
        if matches!(outcome, Ok(Returned::TooLate)) && self.epoch() == delegation.epoch {
            // A lock that came with an open is the server's: it is not lost with the delegation, and has to
            // go back.
            let has_locks = |file: &&Arc<OpenFile>| !node.state.lock().locks.holds_nothing(file.id);
            files.iter().filter(has_locks).for_each(|file| self.lose_locks(file));
        }
        outcome.map(drop)
    }

    /// Whoever keeps what the delegation made sure of drops it before another may change it.
    async fn announce_return(&self, node: &Node) {
        let watcher = self.shared().and_then(|shared| shared.watcher.get().cloned());
        if let Some(watcher) = watcher {
            watcher.returning(node.key).await;
        }
    }

    /// DELEGRETURN, with the CLOSE of an open that was kept, in one request.
    async fn send_return(
        self: &Arc<Self>,
        node: &Node,
        delegation: &Delegation,
        parked: Option<ServerOpen>,
    ) -> Result<Returned> {
        let parked = parked.filter(|parked| parked.epoch == delegation.epoch);
        let mut results = self
            .compound(Kind::repeatable(Operation::DelegReturn).in_epoch(delegation.epoch), |operations| {
                operations.put_fh(&node.handle);
                if let Some(parked) = &parked {
                    let args = CloseArgs { sequence: 0, state_id: parked.state_id };
                    operations.put(Operation::Close, &args);
                }
                operations.put(Operation::DelegReturn, &DelegReturnArgs { state_id: delegation.state_id });
            })
            .await?;
        results.done(Operation::PutFh)?;
        if let Some(parked) = &parked {
            match results.get::<StateId>(Operation::Close) {
                Ok(_) => self.owners.lock().give_back(parked.owner),
                Err(error) if status_of(&error).is_some_and(is_state_lost) => {
                    return Box::pin(self.send_return(node, delegation, None)).await;
                }
                Err(error) => return Err(error),
            }
        }
        match results.done(Operation::DelegReturn) {
            Err(error) if status_of(&error) == Some(Status::DelegationRevoked) => {
                tracing::warn!("the server took a delegation away before it was given back");
                self.free_state(delegation.state_id, delegation.epoch).await.map(|()| Returned::TooLate)
            }
            // It is gone, which is what was wanted.
            Err(error) if status_of(&error).is_some_and(is_state_lost) => Ok(Returned::TooLate),
            other => other.map(|()| Returned::InTime),
        }
    }
}
