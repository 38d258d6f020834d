//! What is remembered, for people to look at.
//!
//! In pieces: a lock is held for one piece at a time, however long the whole is. What changes between two
//! pieces may be missed or seen twice in the whole; a single piece is as it was at one moment.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ClientId, SessionId, StateOther};

use crate::file::FileState;
use crate::range_table::{HeldRange, RangeCursor};
use crate::recallable::{GrantTable, Holder, Kind};
use crate::span_tree::OwnerId;
use crate::{Client, FileId, LockOwner, Now, Range, Session, ShareOwner, ShareReservation, State};

/// A client in a list.
#[derive(Debug, Clone)]
pub struct ListedClient {
    /// Which.
    pub client: Arc<Client>,
    /// It has made a session.
    pub confirmed: bool,
    /// Sessions that it has.
    pub sessions: usize,
    /// Its lease is over.
    pub lapsed: bool,
}

/// What somebody holds of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holding {
    /// An NFSv4 open.
    Open {
        /// Whose.
        client: ClientId,
        /// The open-owner.
        owner: Bytes,
        /// Bits of [`share`](proto::nfs4::share).
        access: u32,
        /// Bits of [`share`](proto::nfs4::share).
        deny: u32,
    },
    /// A locked range, of NFSv4 or NLM.
    Lock {
        /// Whose.
        owner: LockOwner,
        /// Where.
        range: Range,
        /// Nobody else may lock there.
        exclusive: bool,
    },
    /// A delegation, or another grant.
    Grant {
        /// The holder.
        client: ClientId,
        /// The kind.
        kind: &'static Kind,
        /// It was recalled.
        recalled: bool,
    },
    /// A share reservation of NLM.
    Share {
        /// Whose.
        owner: ShareOwner,
        /// Bits of [`share`](proto::nfs4::share).
        access: u32,
        /// Bits of [`share`](proto::nfs4::share).
        deny: u32,
    },
}

/// Where the next piece of a list of holdings begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HoldingsAfter {
    shard: usize,
    /// The file and the holding to go on with.
    file: Option<(FileId, Cursor)>,
}

/// A holding of a file, in the order in which they are listed. One that is gone stands for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    Open(StateOther),
    Lock(RangeCursor),
    Grant(Holder),
    Share(usize),
}

impl Cursor {
    const FIRST: Self = Self::Open(StateOther::ZEROS);
}

/// How much is held of all files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Opens of NFSv4.
    pub opens: usize,
    /// Locked ranges.
    pub locks: usize,
    /// Delegations, and other grants.
    pub delegations: usize,
    /// Share reservations of NLM.
    pub shares: usize,
}

impl State {
    /// At most `most` clients after `after`, in the order of their numbers.
    pub fn list_clients(&self, after: Option<ClientId>, most: usize, now: Now) -> Vec<ListedClient> {
        let table = self.clients.table.lock();
        let piece = table.records.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        let mut clients: Vec<_> = piece
            .take(most)
            .map(|(_, record)| ListedClient {
                client: Arc::clone(&record.client),
                confirmed: record.confirmed,
                sessions: 0,
                lapsed: self.has_lapsed(&record.client, now),
            })
            .collect();
        drop(table);
        for listed in &mut clients {
            listed.sessions = self.sessions.count_of_client(listed.client.id());
        }
        clients
    }

    /// At most `most` sessions after `after`, in the order of their ids.
    pub fn list_sessions(&self, after: Option<SessionId>, most: usize) -> Vec<Arc<Session>> {
        self.sessions.after(after, most)
    }

    /// How many clients and sessions there are.
    pub fn client_and_session_counts(&self) -> (usize, usize) {
        let clients = self.clients.table.lock().records.len();
        (clients, self.sessions.len())
    }

    /// At most `most` holdings from `after` on, in the order of the files' shards, ids and kinds; and where
    /// to go on, or `None` when these are the last.
    pub fn list_holdings(
        &self,
        after: HoldingsAfter,
        most: usize,
    ) -> (Vec<(FileId, Holding)>, Option<HoldingsAfter>) {
        let mut listed = Vec::new();
        let Some(shard) = self.files.shards().nth(after.shard) else { return (listed, None) };
        let files = shard.files.lock();
        let first = after.file.map_or(FileId(0, 0), |(file, _)| file);
        for (index, (file, state)) in files.range(first..).enumerate() {
            let begun = after.file.filter(|(begun, _)| begun == file).map_or(Cursor::FIRST, |(_, next)| next);
            // Of some files nothing is held: those count as well.
            if index >= most {
                return (listed, Some(HoldingsAfter { shard: after.shard, file: Some((*file, begun)) }));
            }
            for (cursor, holding) in state.holdings(begun) {
                if listed.len() >= most {
                    return (listed, Some(HoldingsAfter { shard: after.shard, file: Some((*file, cursor)) }));
                }
                listed.push((*file, holding));
            }
        }
        (listed, self.next_shard(after))
    }

    /// Adds up what is held of at most `most` files from `after` on; and where to go on.
    pub fn add_up(&self, after: HoldingsAfter, most: usize, totals: &mut Totals) -> Option<HoldingsAfter> {
        let shard = self.files.shards().nth(after.shard)?;
        let files = shard.files.lock();
        let first = after.file.map_or(FileId(0, 0), |(file, _)| file);
        for (index, (file, state)) in files.range(first..).enumerate() {
            if index >= most {
                return Some(HoldingsAfter { shard: after.shard, file: Some((*file, Cursor::FIRST)) });
            }
            totals.opens += state.opens.len();
            totals.locks += state.locks.ranges().len();
            totals.delegations += state.grants.len();
            totals.shares += state.shares.len();
        }
        self.next_shard(after)
    }

    fn next_shard(&self, after: HoldingsAfter) -> Option<HoldingsAfter> {
        let next = after.shard + 1;
        (next < self.files.shards().count()).then_some(HoldingsAfter { shard: next, file: None })
    }
}

impl FileState {
    /// The holdings, from one of them on.
    fn holdings(&self, from: Cursor) -> impl Iterator<Item = (Cursor, Holding)> {
        let opens = if let Cursor::Open(other) = from { Some(other) } else { None };
        let locks = match from {
            Cursor::Open(_) => Some((OwnerId(0), 0)),
            Cursor::Lock(cursor) => Some(cursor),
            Cursor::Grant(_) | Cursor::Share(_) => None,
        };
        let grants = match from {
            Cursor::Open(_) | Cursor::Lock(_) => Some(GrantTable::FIRST),
            Cursor::Grant(holder) => Some(holder),
            Cursor::Share(_) => None,
        };
        let shares_listed = if let Cursor::Share(index) = from { index } else { 0 };
        let opens = opens.into_iter().flat_map(|from| self.opens.list(from)).map(|open| {
            let (client, owner) = (open.client.id(), open.owner.clone());
            (Cursor::Open(open.other), Holding::Open { client, owner, access: open.access, deny: open.deny })
        });
        let locks = locks.into_iter().flat_map(|from| self.locks.ranges().list(from));
        let locks = locks.map(|(cursor, HeldRange { owner, range, exclusive })| {
            (Cursor::Lock(cursor), Holding::Lock { owner, range, exclusive })
        });
        let grants = grants.into_iter().flat_map(|from| self.grants.list(from)).map(|(holder, held)| {
            let (client, kind, recalled) = (held.client.id(), held.kind, held.is_recalled());
            (Cursor::Grant(holder), Holding::Grant { client, kind, recalled })
        });
        let shares = self.shares.iter().enumerate().skip(shares_listed).map(|(index, (owner, shares))| {
            let ShareReservation { access, deny } = *shares;
            let share = Holding::Share { owner: owner.clone(), access, deny };
            (Cursor::Share(index), share)
        });
        opens.chain(locks).chain(grants).chain(shares)
    }
}
