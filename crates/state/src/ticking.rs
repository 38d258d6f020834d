//! What happens by itself as time goes by.

use std::sync::Arc;

use crate::{Client, Now, State};

impl State {
    /// Clients that have held nothing for a while, each once: their names are to be removed from stable
    /// storage. To be called every second or so.
    pub fn idle_clients(&self) -> Vec<Arc<Client>> {
        let table = self.clients.table.lock();
        table.records.values().map(|record| &record.client).filter(|c| c.is_long_idle()).cloned().collect()
    }

    /// To be called every second or so: forgets old recalls and dead sessions.
    pub fn tick(&self, now: Now) {
        self.files.forget_recalls(now, self.limits.recall_pause_ms);
        self.forget_dead_sessions(now);
        self.accounts.forget_unused();
    }
}
