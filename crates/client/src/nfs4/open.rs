//! OPEN (RFC 8881 §18.16): one request, or none where a delegation allows it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::{
    ClientId, CloseArgs, CreateHow, LockResult, OpenArgs, OpenClaim, OpenDelegation, OpenResult, Operation,
    ReadArgs, ReadResult, SetAttrArgs, StateId, StateOwner, Status, Verifier, open_result, share,
};

use super::access::SetAttrWith;
use super::compound::{Results, status_of};
use super::convert::effect;
use super::prefetch::Prefetch;
use super::send::Kind;
use super::state::{Delegation, FileState, ServerOpen, newest};
use super::{Mount, ahead, exclusive};
use crate::attributes::FileType;
use crate::error::Result;
use crate::node::Node;
use crate::open::{OpenOptions, Opened, Outcome, check_type};
use crate::options::WriteDelegations;
use crate::protocol::FoundObject;
use crate::shared::Shared;

/// Opens `name` in `dir`.
pub(crate) async fn open(
    shared: &Arc<Shared>,
    mount: &Mount,
    (dir, name): (&Arc<Node>, &Bytes),
    options: &OpenOptions,
    file_id: u64,
) -> Result<Outcome> {
    let remembered = shared.remembered_name(dir, name).flatten();
    if let Some(node) = remembered.as_ref().filter(|_| !options.exclusive) {
        if shared.delegated_name(dir, name).is_some_and(|delegated| Arc::ptr_eq(&delegated, node)) {
            let gate = Arc::clone(&node.gate).lock_owned().await;
            if let Some(v4) = open_alone(node, options) {
                let node = Arc::clone(node);
                return Ok(Outcome::Opened(Opened { node, v4, gate: Some(gate) }));
            }
        }
        if options.modifies() {
            mount.return_in_the_way_of_writing(node).await?;
        }
        mount.close_before(&node.handle).await;
    }
    let prefetch = Prefetch::plan(shared, remembered.as_ref(), options);
    let ahead = ahead::Plan::make(shared, remembered.as_ref(), options, file_id);
    let along = Along { read: prefetch.map(|prefetch| prefetch.count), lock: ahead.as_ref() };
    let owner = mount.core.owners.lock().take();
    let asked = Instant::now();
    let wish = wish(mount, options, remembered.as_deref());
    let sent = send_open(mount, (dir, name), options, (owner, wish), along).await;
    let Answer { opened, described, lock, data, epoch } = match sent {
        Ok(answer) => answer,
        Err(error) => {
            mount.core.owners.lock().give_back(owner);
            return match status_of(&error) {
                Some(Status::Symlink | Status::WrongType) => Ok(Outcome::Symlink),
                _ if options.create => shared.or_forget(dir, name, Err(error)),
                _ => Err(error),
            };
        }
    };
    let state_id = newest(opened.state_id);
    let open = ServerOpen { owner, state_id, read: options.read, write: options.write, epoch };
    let found = match described {
        Ok(found) => found,
        Err(error) => {
            // It is open at the server, and of no use here.
            mount.close_later(None, open).await;
            return Err(error);
        }
    };
    if options.create {
        shared.learn_effect(dir, effect(&opened.change), asked);
    }
    let node = match options.truncate {
        true => shared.learn_overwritten(dir, name, &found, asked),
        false => shared.learn_opened(dir, name, &found, asked),
    };
    if let Err(error) = check_type(found.attributes.kind) {
        mount.close_later(Some(&node.handle), open).await;
        return if found.attributes.kind == FileType::Symlink { Ok(Outcome::Symlink) } else { Err(error) };
    }
    if let (Some(prefetch), Some(data)) = (prefetch, &data) {
        shared.tap.data_read(data.len());
        prefetch.keep(shared, &node, &found, data, asked);
    }
    mount.learn_flags(opened.flags);
    mount.accept_delegation(&node, &opened.delegation, epoch);
    let granted = granted_delegation(&opened.delegation).map(|(state_id, ..)| state_id);
    shared.learn_delegated_name((dir, name), &node, asked, granted);
    let ahead = ahead.filter(|_| lock.is_some()).map(|plan| plan.granted(epoch));
    let v4 = FileState { open: Some(open), lock, ahead, lost_locks: false };
    Ok(Outcome::Opened(Opened { node, v4, gate: None }))
}

/// Makes an empty file, which must not exist: OPEN and CLOSE in one request. Nothing is remembered of it:
/// what the caller does not want to have need not be asked for, not even the handle.
pub(crate) async fn create_file(
    shared: &Arc<Shared>,
    mount: &Mount,
    dir: &Arc<Node>,
    name: &Bytes,
    mode: u32,
) -> Result<()> {
    let options = OpenOptions::new().write(true).mode(mode);
    let owner = mount.core.owners.lock().take();
    // The slot's reply cache knows a repetition; only a server that has lost the session does not, and then
    // the outcome is uncertain. A verifier would cost the server a change of the times.
    let set = AttributeValues { mode: Some(mode), ..AttributeValues::default() };
    let args = OpenArgs {
        create: Some(Box::new(CreateHow::Guarded(set))),
        ..open_args(name, &options, owner, share::WANT_NO_DELEGATION)
    };
    let asked = Instant::now();
    let sent = mount
        .core
        .compound(Kind::once(Operation::Open), |operations| {
            operations
                .put_fh(&dir.handle)
                .put(Operation::Open, &args)
                .put(Operation::Close, &CloseArgs { sequence: 0, state_id: StateId::CURRENT });
        })
        .await;
    let mut results = shared.or_forget(dir, name, sent)?;
    let opened = read_open(&mut results);
    let opened = match shared.or_forget(dir, name, opened) {
        Ok(opened) => opened,
        Err(error) => {
            mount.core.owners.lock().give_back(owner);
            return Err(error);
        }
    };
    shared.learn_effect(dir, effect(&opened.change), asked);
    shared.forget_name(dir, name);
    match results.get::<StateId>(Operation::Close) {
        Ok(_) => mount.core.owners.lock().give_back(owner),
        Err(_) => {
            let (state_id, epoch) = (newest(opened.state_id), results.epoch);
            let open = ServerOpen { owner, state_id, read: false, write: true, epoch };
            // CLOSE needs the handle. Where the name stands for another file by now, only the lease ends the
            // open.
            let made = mount.look_up(&dir.handle, std::slice::from_ref(name)).await.0.pop();
            mount.close_later(made.as_ref().map(|made| &made.handle), open).await;
        }
    }
    Ok(())
}

/// Opens under a delegation, without the server.
pub(super) fn open_alone(node: &Node, options: &OpenOptions) -> Option<FileState> {
    let mut state = node.state.lock();
    let delegation = state.delegation.filter(|delegation| !delegation.returning)?;
    if options.truncate || (options.write && !delegation.write) {
        return None;
    }
    let open = match state.parked {
        Some(parked) if parked.write || !options.write => state.parked.take(),
        _ => None,
    };
    Some(FileState { open, ..FileState::default() })
}

/// What came of an OPEN that succeeded.
struct Answer {
    opened: OpenResult,
    described: Result<FoundObject>,
    /// The state of the lock that was asked for along.
    lock: Option<StateId>,
    /// What was read along.
    data: Option<Bytes>,
    /// The incarnation of the client that it is of.
    epoch: u64,
}

/// What is asked for along with an OPEN.
#[derive(Debug, Clone, Copy)]
struct Along<'a> {
    lock: Option<&'a ahead::Plan>,
    /// This many bytes from the beginning.
    read: Option<u32>,
}

async fn send_open(
    mount: &Mount,
    (dir, name): (&Node, &Bytes),
    options: &OpenOptions,
    (owner, wish): (u64, u32),
    along: Along<'_>,
) -> Result<Answer> {
    let mut args = open_args(name, options, owner, wish);
    let empty = AttributeValues { size: Some(0), ..AttributeValues::default() };
    let truncate = options.truncate && !options.create;
    let mut set = truncate.then_some((StateId::CURRENT, empty));
    if options.exclusive {
        set = Some((StateId::ANONYMOUS, exclusive::times()));
    }
    let lock = along.lock.map(ahead::Plan::args);
    let mut attempt = exclusive::Attempt::new(options);
    let (mut results, opened) = loop {
        let sent = mount.core.compound(attempt.kind(), |operations| {
            operations.put_fh(&dir.handle).put(Operation::Open, &args);
            if let Some((state_id, values)) = &set {
                let args = SetAttrWith(SetAttrArgs { state_id: *state_id }, values);
                operations.put(Operation::SetAttr, &args);
            }
            operations.describe();
            if let Some(args) = &lock {
                // Only what is known after it is as new as the lock.
                operations.put(Operation::Lock, args).get_attr();
            }
            if let Some(count) = along.read {
                let args = ReadArgs { state_id: StateId::CURRENT, offset: 0, count };
                operations.put(Operation::Read, &args);
            }
        });
        let sent = sent.await.and_then(|mut results| {
            let opened = read_open(&mut results)?;
            Ok((results, opened))
        });
        match sent {
            Ok(answer) => break answer,
            Err(error) => attempt.after(error, &mut args, &mut set)?,
        }
    };
    let mut described = match set.is_some() {
        true => results.get::<Bitmap>(Operation::SetAttr).and_then(|_| results.found()),
        false => results.found(),
    };
    let mut state = None;
    if lock.is_some() && described.is_ok() {
        match results.get::<LockResult>(Operation::Lock) {
            Ok(granted) => {
                state = Some(newest(granted.state_id));
                described = described
                    .and_then(|found| Ok(FoundObject { attributes: results.attributes()?, ..found }));
            }
            // Somebody else has it: nothing behind it was looked at.
            Err(_) => return Ok(Answer { opened, described, lock: None, data: None, epoch: results.epoch }),
        }
    }
    let wanted = along.read.is_some() && described.is_ok();
    let data =
        wanted.then(|| results.get::<ReadResult>(Operation::Read).ok()).flatten().map(|read| read.data);
    Ok(Answer { opened, described, lock: state, data, epoch: results.epoch })
}

/// Which delegation is wanted with an open of what is known as `node`.
pub(super) fn wish(mount: &Mount, options: &OpenOptions, node: Option<&Node>) -> u32 {
    if !mount.core.options.delegations {
        return share::WANT_NO_DELEGATION;
    }
    if !options.write {
        return share::WANT_READ_DELEGATION;
    }
    let wanted = match mount.core.options.write_delegations {
        WriteDelegations::Never => false,
        WriteDelegations::Likely => node.is_some_and(|node| node.state.lock().write_habit.goes_on()),
        WriteDelegations::Always => true,
    };
    if wanted { share::WANT_WRITE_DELEGATION } else { share::WANT_NO_DELEGATION }
}

pub(super) fn read_open(results: &mut Results) -> Result<OpenResult> {
    results.done(Operation::PutFh)?;
    results.get(Operation::Open)
}

pub(super) fn open_args(name: &Bytes, options: &OpenOptions, owner: u64, wish: u32) -> OpenArgs {
    let read = if options.read { share::READ } else { 0 };
    let write = if options.write { share::WRITE } else { 0 };
    let create = options.create.then(|| {
        let set = AttributeValues {
            mode: Some(options.mode),
            size: (options.truncate && !options.exclusive).then_some(0),
            ..AttributeValues::default()
        };
        Box::new(match options.exclusive {
            // With a verifier of its own the server knows a repetition (RFC 8881 §18.16.3).
            true => CreateHow::Exclusive41(Verifier(rand::random()), set),
            false => CreateHow::Unchecked(set),
        })
    });
    OpenArgs {
        sequence: 0,
        share_access: read | write | wish,
        share_deny: 0,
        owner: owner_of(owner),
        create,
        claim: OpenClaim::Null(name.clone()),
    }
}

/// An open-owner or lock-owner. The client in it is told by the session (RFC 8881 §18.16.3).
pub(super) fn owner_of(number: u64) -> StateOwner {
    StateOwner { client: ClientId(0), owner: Bytes::copy_from_slice(&number.to_be_bytes()) }
}

/// The delegation that came with an open: its stateid, whether it is for writing, and whether it is recalled
/// already.
pub(super) fn granted_delegation(granted: &OpenDelegation) -> Option<(StateId, bool, bool)> {
    match granted {
        OpenDelegation::Read(read) => Some((read.state_id, false, read.recall)),
        OpenDelegation::Write(write) => Some((write.state_id, true, write.recall)),
        // Times are not asked for: those of RFC 9754 never come.
        OpenDelegation::ReadAttributes(_) | OpenDelegation::WriteAttributes(_) => None,
        OpenDelegation::None | OpenDelegation::NoneExt(_) => None,
    }
}

impl Mount {
    /// Opens a file by a delegation that is being given back (CLAIM_DELEG_CUR_FH, RFC 8881 §10.2.1).
    pub(super) async fn open_delegated(
        &self,
        node: &Node,
        delegation: &Delegation,
        write: bool,
    ) -> Result<ServerOpen> {
        let owner = self.core.owners.lock().take();
        let access = if write { share::BOTH } else { share::READ };
        let args = OpenArgs {
            sequence: 0,
            share_access: access | share::WANT_NO_DELEGATION,
            share_deny: 0,
            owner: owner_of(owner),
            create: None,
            claim: OpenClaim::DelegateCurrentHandle(delegation.state_id),
        };
        let opened = async {
            let mut results = self
                .core
                .compound(Kind::repeatable(Operation::Open).in_epoch(delegation.epoch), |operations| {
                    operations.put_fh(&node.handle).put(Operation::Open, &args);
                })
                .await?;
            read_open(&mut results)
        };
        match opened.await {
            Ok(opened) => {
                let state_id = newest(opened.state_id);
                Ok(ServerOpen { owner, state_id, read: true, write, epoch: delegation.epoch })
            }
            Err(error) => {
                self.core.owners.lock().give_back(owner);
                Err(error)
            }
        }
    }

    /// Learns what an OPEN says of the server.
    pub(super) fn learn_flags(&self, flags: u32) {
        if flags & open_result::MAY_NOTIFY_LOCK != 0 {
            self.core.notifies_locks.store(true, Ordering::Relaxed);
        }
    }

    /// The delegation that came with an open.
    pub(super) fn accept_delegation(&self, node: &Arc<Node>, granted: &OpenDelegation, epoch: u64) {
        let Some((state_id, write, recalled)) = granted_delegation(granted) else { return };
        let delegation =
            Delegation { state_id, write, returning: false, ending: false, epoch, granted: Instant::now() };
        self.core.hold_delegation(node, delegation, recalled);
    }
}
