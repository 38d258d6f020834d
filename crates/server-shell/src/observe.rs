//! Looking at a running server without stopping it: in pieces, with a pause for others after each.

use server::exports::Exports;
use server::metrics::Gauges;
use server::services::StateService;
use state::{HoldingsAfter, Totals};
use tokio::task::yield_now;
use vfs::FileSystem;

use super::records::Health;

/// Entries of a table that are looked at while its lock is held.
pub(super) const PIECE: usize = 512;

/// Adds up what there is.
pub(super) async fn gauges<F: FileSystem>(
    services: &StateService,
    exports: &Exports<F>,
    records: Option<&Health>,
) -> Gauges {
    let counts = services.observe().counts();
    Gauges {
        exports: exports.load().iter().map(|export| (export.id(), path_text(export.path()))).collect(),
        clients: counts.clients as u64,
        sessions: counts.sessions as u64,
        slots_in_use: slots_in_use(services).await,
        reply_cache_bytes: counts.reply_cache_bytes,
        memory: rpc::MemoryUse::default(),
        held: held(services).await,
        in_grace: counts.in_grace,
        awaited_clients: counts.awaited_clients as u64,
        are_records_writable: records.is_none_or(|records| records.fault().is_none()),
        records_failures: records.map_or(0, Health::failures),
    }
}

/// What is held of all files together.
pub(super) async fn held(services: &StateService) -> Totals {
    let mut totals = Totals::default();
    let mut next = Some(HoldingsAfter::default());
    while let Some(after) = next {
        next = services.observe().add_holdings(after, PIECE, &mut totals);
        yield_now().await;
    }
    totals
}

async fn slots_in_use(services: &StateService) -> u64 {
    let (mut in_use, mut after) = (0, None);
    loop {
        // A session may have thousands of slots.
        let piece = services.observe().sessions(after, PIECE / 8);
        let Some(last) = piece.last() else { return in_use };
        after = Some(last.id());
        in_use += piece.iter().map(|session| session.slots_in_use() as u64).sum::<u64>();
        yield_now().await;
    }
}

/// A path for people; what is no text in it is replaced.
pub(super) fn path_text(path: &server::exports::ExportPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).into_owned()
}
