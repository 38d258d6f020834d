//! A view of the shared state for an administrator: counts and lists, without a change to anything.
//!
//! A list is read in pieces of a length that the caller chooses, because a table is locked while a piece is
//! read. Entries that appear or end between two pieces may be missing.

use std::sync::Arc;

use proto::nfs4::{ClientId, SessionId};
use state::{FileId, Holding, HoldingsAfter, ListedClient, Session, State, Totals};

use super::StateService;

/// The view, from [`StateService::observe`].
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    services: &'a StateService,
}

/// Totals that the tables keep themselves, so that none is walked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateCounts {
    /// NFSv4 clients, confirmed or not.
    pub clients: usize,
    /// Sessions of NFSv4.1 and later.
    pub sessions: usize,
    /// Bytes that slots and cached replies of the sessions may take; at most
    /// [`state::Limits::session_bytes_max`].
    pub reply_cache_bytes: u64,
    /// True in the grace period (RFC 8881 §8.4.2.1).
    pub in_grace: bool,
    /// Clients that held state before the restart and have not completed their reclaims.
    pub awaited_clients: usize,
}

impl StateService {
    /// The view of clients, sessions, opens, locks and delegations.
    pub fn observe(&self) -> Observation<'_> {
        Observation { services: self }
    }
}

impl<'a> Observation<'a> {
    fn state(self) -> &'a State {
        self.services.state()
    }

    /// Returns the totals.
    pub fn counts(self) -> StateCounts {
        let state = self.state();
        let (clients, sessions) = state.client_and_session_counts();
        StateCounts {
            clients,
            sessions,
            reply_cache_bytes: state.session_bytes(),
            in_grace: state.in_grace(),
            awaited_clients: state.awaited_clients(),
        }
    }

    /// Returns at most `most` clients with ids above `after`, in ascending order.
    pub fn clients(self, after: Option<ClientId>, most: usize) -> Vec<ListedClient> {
        self.state().list_clients(after, most, self.services.now())
    }

    /// Returns the seconds since a client last renewed its lease, rounded down.
    pub fn silent_seconds(self, client: &state::Client) -> u64 {
        self.services.now().since_ms(client.renewed()) / 1000
    }

    /// Returns at most `most` sessions with ids above `after`, in ascending order.
    pub fn sessions(self, after: Option<SessionId>, most: usize) -> Vec<Arc<Session>> {
        self.state().list_sessions(after, most)
    }

    /// True when a session has an open connection for callbacks, and the client has answered one there.
    pub fn answers_callbacks(self, session: SessionId) -> bool {
        self.services.callbacks().backchannels().get(session).is_some_and(|channel| channel.works())
    }

    /// Returns at most `most` opens, locks, share reservations and delegations from `after` on, and the start
    /// of the next piece: `None` at the end.
    pub fn holdings(
        self,
        after: HoldingsAfter,
        most: usize,
    ) -> (Vec<(FileId, Holding)>, Option<HoldingsAfter>) {
        self.state().list_holdings(after, most)
    }

    /// Adds the holdings of at most `most` files from `after` on to `totals`. Returns the start of the next
    /// piece, `None` at the end.
    pub fn add_holdings(
        self,
        after: HoldingsAfter,
        most: usize,
        totals: &mut Totals,
    ) -> Option<HoldingsAfter> {
        self.state().add_up(after, most, totals)
    }
}
