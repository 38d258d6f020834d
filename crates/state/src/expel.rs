//! How a client that has been silent for longer than its lease ends (RFC 8881 §8.3, §8.4.3).
//!
//! It keeps its state as long as that is in nobody's way. To be expelled takes three steps, since what it
//! held must not be given away before it is written down that the client may not reclaim it:
//!
//! ```text
//!   lapsed ──begin_expel──▶ gone ──(record removed from stable storage)──▶ finish_expel: state discarded
//!      └── renewed ──▶ alive
//! ```

use std::sync::Arc;

use crate::{Client, Now, State};

impl State {
    /// Takes a lapsed client's sessions and number away; its state still stands. False when it has renewed
    /// its lease in the meantime. May be called again for a client that is gone.
    pub fn begin_expel(&self, client: &Client, now: Now) -> bool {
        if !client.is_gone() {
            let mut table = self.clients.table.lock();
            if !self.has_lapsed(client, now) {
                return false;
            }
            client.leave();
            table.remove(client.id());
        }
        self.sessions.remove_of_client(client.id());
        true
    }

    /// Discards what a client held that is gone.
    pub fn finish_expel(&self, client: &Client) {
        self.files.discard_states(client);
    }

    /// Lapsed clients whose time is up altogether: those without state, those silent for too long, and, of
    /// more than the limit allows, those silent the longest. All of them when the table of state is nearly
    /// full.
    pub fn overdue_clients(&self, now: Now) -> Vec<Arc<Client>> {
        let table = self.clients.table.lock();
        let mut lapsed: Vec<Arc<Client>> = table
            .records
            .values()
            .filter(|record| self.has_lapsed(&record.client, now))
            .map(|record| Arc::clone(&record.client))
            .collect();
        drop(table);
        lapsed.sort_by_key(|client| (client.renewed(), client.id()));
        let beyond = lapsed.len().saturating_sub(self.limits.lapsed_clients_max);
        let courtesy_ms = u64::from(self.limits.courtesy_seconds) * 1000 + self.limits.lease_ms();
        let is_full = self.accounts.total() >= self.limits.states_max / 8 * 7;
        let mut index = 0;
        lapsed.retain(|client| {
            index += 1;
            is_full || index <= beyond || !client.has_state() || now.since_ms(client.renewed()) > courtesy_ms
        });
        lapsed
    }
}
