//! What an NFSv4.1 server remembers: clients and their leases, sessions with their reply caches, opens,
//! byte-range locks and delegations. NFSv3's locks are in the same table.
//!
//! Pure: `now` and randomness are arguments, nothing here does I/O, waits, or iterates in random order, so a
//! run can be repeated from its inputs. Methods take `&self`; each lock inside is held for a few
//! instructions, and there is none that every request takes: a request locks its slot and, where it is about
//! state, its client and the shard of its file.

#![forbid(unsafe_code)]

mod accounts;
mod channel;
mod client;
mod clients;
mod create_session;
mod dead;
mod exchange_id;
mod expel;
mod file;
mod files;
mod grace;
mod holdings;
mod io;
mod kept;
mod limits;
mod listing;
mod lock_table;
mod locks;
mod lost;
mod name_changes;
mod nameless;
mod nlm_locks;
mod obstacles;
mod open_table;
mod opens;
mod range_table;
mod ranges;
pub mod recallable;
mod reply_memory;
mod revoke;
mod session;
mod sessions;
mod share_counts;
mod share_reservation;
mod shares;
mod slots;
mod small_map;
mod span_tree;
mod standing;
mod state_ids;
mod steps;
mod ticking;
mod time;
mod users;

pub use accounts::ClientAddress;
pub use channel::{CALLBACK_OPERATIONS, ChannelLimits, Channels, negotiate_channels};
pub use client::{Client, record_name};
pub use create_session::{CreateSession, Creation, SessionCreated};
pub use dead::{CachedReply, DEAD_SESSIONS_MAX, DeadSession, DeadSlot};
pub use exchange_id::{ExchangeId, ExchangedId, Principal};
pub use file::FileId;
pub use holdings::{fits_share, share_address};
pub use io::Io;
pub use limits::Limits;
pub use listing::{Holding, HoldingsAfter, ListedClient, Totals};
pub use locks::{Denied, LockError, LockRequest, Locker};
pub use lost::Lost;
pub use name_changes::NameChange;
pub use nameless::{Keeping, RetainedFile};
pub use nlm_locks::HeldBefore;
pub use obstacles::{Blocked, Obstacles, Recall};
pub use opens::{GrantedDelegation, Open, OpenClaim, Opened, Reservation};
pub use ranges::{ByteRangeLock, LockOwner, Range};
pub use recallable::{Changing, DelegationKind, Overdue, Using, WriteHeld};
pub use revoke::Revoked;
pub use session::{Begin, Completed, ConnectionId, SequenceRequest, Session, SlotTicket};
pub use share_reservation::ShareReservation;
pub use shares::ShareOwner;
pub use time::Now;
pub use users::{KnownUsers, Users};

use accounts::Accounts;
use clients::Clients;
use dead::DeadSessions;
use files::Files;
use grace::Grace;
use holdings::Holdings;
use sessions::Sessions;

/// Everything that the server remembers.
#[derive(Debug)]
pub struct State {
    limits: Limits,
    /// Tells stateids and client ids of this incarnation from those of earlier ones.
    boot: u32,
    clients: Clients,
    accounts: Accounts,
    sessions: Sessions,
    dead: DeadSessions,
    files: Files,
    holdings: Holdings,
    grace: Grace,
}

impl State {
    /// An empty memory. `boot` must differ from that of every earlier incarnation that clients may remember.
    pub fn new(limits: Limits, boot: u32) -> Self {
        let sessions = Sessions::new(limits.session_bytes_max);
        Self {
            limits,
            boot,
            clients: Clients::default(),
            accounts: Accounts::new(std::sync::Arc::clone(&sessions.memory)),
            sessions,
            dead: DeadSessions::default(),
            files: Files::new(boot),
            holdings: Holdings::default(),
            grace: Grace::default(),
        }
    }

    /// The bounds.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}
