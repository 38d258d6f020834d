//! Tells the memory budget what all clients share: reply caches, and what they hold open.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rpc_net::memory::{MemoryBudget, Shared};
use server::dispatch::Programs;
use server::services::StateService;

use super::exports::Exported;
use super::observe;

/// How often the reply caches are looked at.
const TICK: Duration = Duration::from_secs(1);
/// State is looked at every so many ticks: all of it has to be gone through.
const STATE_TICKS: u64 = 16;
/// About what a client, a session, and an open, a lock or a delegation take, in bytes.
const CLIENT_BYTES: u64 = 2 << 10;
const SESSION_BYTES: u64 = 4 << 10;
const HELD_BYTES: u64 = 512;

/// Tells it for ever.
pub(super) async fn tell_forever(
    memory: Arc<MemoryBudget>,
    services: StateService,
    programs: Arc<Programs<Exported, StateService, StateService>>,
) -> Infallible {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for tick in 0u64.. {
        ticks.tick().await;
        let counts = services.observe().counts();
        memory.set_shared(Shared::ReplyCaches, counts.reply_cache_bytes + programs.retry_bytes());
        if tick.is_multiple_of(STATE_TICKS) {
            let held = observe::held(&services).await;
            let held = (held.opens + held.locks + held.delegations + held.shares) as u64;
            let (clients, sessions) = (counts.clients as u64, counts.sessions as u64);
            let bytes = clients * CLIENT_BYTES + sessions * SESSION_BYTES + held * HELD_BYTES;
            memory.set_shared(Shared::State, bytes);
        }
    }
    std::future::pending().await
}
