//! Many items of a batch in one COMPOUND (RFC 8881 §16.2): put together within the limits of the session,
//! sent once, and taken apart again. It ends at the first operation that fails: what came before has its
//! result, what comes after goes into another one.

mod act;
mod outcome;
mod plan;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use proto::nfs4::{LookupArgs, Operation};

use self::plan::{Amount, Ends, Plan, PlannedPath, Spot, Step};
use super::Mount;
use super::open::owner_of;
use super::send::Kind;
use crate::error::{Error, Result};
use crate::items::{End, Entry, Ground, Item, Names};

/// What the call, SEQUENCE and the ends of both take of a request, in bytes.
const REQUEST_OVERHEAD_BYTES: usize = 1280;
/// The same of a reply, with some room that servers want to see left.
const REPLY_OVERHEAD_BYTES: usize = 512;
/// The longest request, whatever the session allows, in bytes: several then share the way.
const REQUEST_BYTES_MAX: usize = 512 << 10;
/// The longest reply, for the same reason, in bytes.
const REPLY_BYTES_MAX: usize = 512 << 10;

/// The most operations for a server of others, SEQUENCE among them: NFS-Ganesha agrees to more and refuses
/// them.
const FOREIGN_OPERATIONS_MAX: u32 = 100;
/// The most that stands before the last result in the reply of a server of others, in bytes: what leads to
/// that result and what the call needs stay within one page with it. Linux (6.1) writes the status of a
/// result to a wrong place where the end of a page comes between the number of its operation and that status.
const FOREIGN_REPLY_BYTES_MAX: usize = 2800;

/// Whether an item goes with those that were taken before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Taken,
    /// With others of its kind.
    Later,
    /// No more of them fit.
    Full,
    /// By calls of its own.
    Alone,
}

/// Items that are to go together.
pub(crate) struct Group {
    plan: Plan,
    /// All of them change something, or none does. Replies to the former are kept by the server, and so are
    /// shorter.
    modifies: Option<bool>,
    limits: (Amount, usize),
    /// Data, names and targets may stand anywhere in it. A server of others is sent data with the first item
    /// only, since Linux (6.1) writes other bytes where they begin behind the first page of the request, and
    /// answers with them behind everything else.
    in_any_place: bool,
    /// Nothing may follow any more.
    is_closed: bool,
}

impl Mount {
    /// A group without items.
    pub(crate) fn group(&self) -> Group {
        let channel = self.core.fore_channel.lock();
        let bytes = |all: u32, overhead: usize| (all as usize).saturating_sub(overhead);
        let limit = |limit: fn(&proto::nfs4::ChannelAttributes) -> u32| channel.as_ref().map_or(0, limit);
        let in_any_place = self.core.is_known_well.load(Ordering::Relaxed);
        let operations_max = if in_any_place { u32::MAX } else { FOREIGN_OPERATIONS_MAX };
        let limits = Amount {
            operations: limit(|c| c.operations_max).min(operations_max).saturating_sub(1),
            request_bytes: bytes(limit(|c| c.request_bytes_max), REQUEST_OVERHEAD_BYTES)
                .min(REQUEST_BYTES_MAX),
            reply_bytes: bytes(limit(|c| c.response_bytes_max), REPLY_OVERHEAD_BYTES).min(REPLY_BYTES_MAX),
        };
        let cached_bytes = bytes(limit(|c| c.cached_response_bytes_max), REPLY_OVERHEAD_BYTES);
        Group {
            plan: Plan::default(),
            modifies: None,
            limits: (limits, cached_bytes),
            in_any_place,
            is_closed: false,
        }
    }
}

impl Group {
    /// Takes an item, if it fits.
    pub(crate) fn offer(&mut self, ground: &Ground, item: &Item) -> Fit {
        let (Some(amount), Some(way)) = (act::amount(item), way(ground, item)) else { return Fit::Alone };
        let modifies = item.modifies();
        let first = self.modifies.is_none();
        if !first && self.modifies != Some(modifies) {
            return Fit::Later;
        }
        let out_of_place = !first && !self.in_any_place && item.sends_data();
        if self.is_closed || out_of_place {
            return Fit::Full;
        }
        if !self.plan.add(&way, amount, self.limits_for(item, modifies)) {
            return if first { Fit::Alone } else { Fit::Full };
        }
        self.modifies = Some(modifies);
        self.is_closed = !self.in_any_place && item.is_answered_at_length();
        match item {
            Item::Remove { at, directory: true } => unlearn(ground, at),
            Item::Rename { from, to } => {
                unlearn(ground, from);
                unlearn(ground, to);
            }
            _ => {}
        }
        Fit::Taken
    }

    /// What all of them may take when `item` is the last.
    fn limits_for(&self, item: &Item, modifies: bool) -> Amount {
        let (limits, cached_bytes) = self.limits;
        let mut reply_bytes = limits.reply_bytes;
        if modifies {
            reply_bytes = reply_bytes.min(cached_bytes);
        }
        if !self.in_any_place && !item.is_answered_at_length() {
            reply_bytes = reply_bytes.min(FOREIGN_REPLY_BYTES_MAX);
        }
        Amount { reply_bytes, ..limits }
    }
}

/// What is at `at` is about to be something else: who comes after looks it up.
fn unlearn(ground: &Ground, at: &Names) {
    ground.forget(at);
    if let Some((dir, name)) = at.split_last()
        && let (node, rest) = ground.nearest(&dir)
        && rest.is_empty()
    {
        ground.shared.forget_name(&node, &name);
    }
}

/// How a COMPOUND comes to the place of an item; `None` when it goes alone.
fn way(ground: &Ground, item: &Item) -> Option<PlannedPath> {
    let spot = |dir: &Names| {
        let (node, names) = ground.nearest(dir);
        Spot { base: node.handle.clone(), names }
    };
    let parent = |at: &Names| at.split_last().map(|(dir, _)| spot(&dir));
    Some(match item {
        Item::Read { at, .. }
        | Item::Write { at, .. }
        | Item::WriteRange { at, .. }
        | Item::Attributes { at }
        | Item::SetAttributes { at, .. }
        | Item::Symlink { at, .. }
        | Item::ReadLink { at } => PlannedPath::At(parent(at)?, Ends::Elsewhere),
        Item::MakeDirectory { at, .. } => PlannedPath::At(parent(at)?, Ends::In(act::last(at))),
        Item::Remove { at, .. } => PlannedPath::At(parent(at)?, Ends::There),
        Item::Rename { from, to } => PlannedPath::Between(parent(from)?, parent(to)?),
        Item::Link { source, at, .. } => {
            PlannedPath::FromObject(parent(source)?, act::last(source), parent(at)?)
        }
        Item::List { at } => PlannedPath::At(spot(at), Ends::There),
        Item::Copy { .. } | Item::Fill { .. } | Item::Drain { .. } => return None,
    })
}

/// Sends a group, and tells how it ended for each of its items.
pub(crate) async fn send_group(ground: Arc<Ground>, group: Group, entries: Vec<Entry>) -> Vec<End> {
    let Some(mount) = ground.shared.protocol().as_v4() else { return Vec::new() };
    let modifies = group.modifies == Some(true);
    let Some(first) = entries.first() else { return Vec::new() };
    let principal = act::principal(&first.item);
    if let Err(error) = prepare(&ground, &entries).await {
        return all(entries, &error);
    }
    let opens = entries.iter().any(|entry| act::principal(&entry.item) == Operation::Open);
    let number = opens.then(|| mount.core.owners.lock().take());
    let owner = owner_of(number.unwrap_or(0));
    let kind = if modifies { Kind::once(principal) } else { Kind::repeatable(principal) };
    let (epoch, asked) = (mount.core.epoch(), Instant::now());
    let sent = mount
        .core
        .carry_out(kind, |operations| {
            for (item, step) in group.plan.steps() {
                match step {
                    Step::PutFh(handle) => operations.put_fh(handle),
                    Step::Lookup(name) => {
                        operations.put(Operation::Lookup, &LookupArgs { name: name.clone() })
                    }
                    Step::SaveFh => operations.put(Operation::SaveFh, &()),
                    Step::RestoreFh => operations.put(Operation::RestoreFh, &()),
                    Step::Act => {
                        act::put(operations, &entries[*item].item, &owner);
                        continue;
                    }
                };
            }
        })
        .await;
    let results = match sent {
        Ok(results) => results,
        Err(error) => {
            for entry in &entries {
                outcome::forget(&ground, &entry.item);
            }
            return all(entries, &error);
        }
    };
    let reading = outcome::Reading { ground: &ground, mount, asked, owner: (number, epoch) };
    reading.take_apart(results, group.plan.steps(), entries).await
}

/// What we have of the objects must be where the server sees it, and what it lent us for them with it.
async fn prepare(ground: &Ground, entries: &[Entry]) -> Result<()> {
    let known = |at: &Names| {
        let (dir, name) = at.split_last()?;
        let (dir, rest) = ground.nearest(&dir);
        rest.is_empty().then(|| ground.shared.remembered_name(&dir, &name).flatten()).flatten()
    };
    let mut all_written_out = false;
    for entry in entries {
        let names = entry.item.touches();
        let nodes: Vec<_> = names.iter().filter_map(|(at, _)| known(at)).collect();
        if nodes.len() < names.len() && !all_written_out {
            // A name that is not known, or no longer, may be that of any file.
            ground.shared.write_out_all().await;
            all_written_out = true;
        }
        for node in nodes {
            ground.shared.write_out(&node).await;
            if entry.item.modifies() {
                ground.shared.protocol().before_change(&node).await?;
                node.state.lock().known.doubt(Instant::now());
            }
        }
    }
    Ok(())
}

/// The same for all of them; of what only looks it is never uncertain what it did.
fn all(entries: Vec<Entry>, error: &Error) -> Vec<End> {
    entries.into_iter().map(|entry| End::Done(entry.id, Err(error.clone()))).collect()
}
