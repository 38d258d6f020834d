//! A request is carried out once (RFC 8881 §2.10.6): however often it arrives, every answer that gets past
//! SEQUENCE is the first one, byte for byte, or says that it was not kept.

use std::collections::BTreeMap;

use bytes::Bytes;
use proto::nfs4::Status;

use crate::action::{Action, Outcome, Request};
use crate::history::{History, Violation, What};

pub fn check(history: &History) -> Result<(), Violation> {
    let mut first: BTreeMap<u64, (&Bytes, u32)> = BTreeMap::new();
    let mut places = BTreeMap::new();
    let mut boots = 0;
    for entry in &history.entries {
        boots += u32::from(matches!(entry.what, What::Boot { .. }));
        let What::Answered { tag, reply, outcome } = &entry.what else { continue };
        let (_, request) = &history.requests[tag];
        let Request::InSession { place, cache_this, action } = request else { continue };
        if matches!(outcome, Outcome::Refused(_)) {
            continue;
        }
        if *places.entry(*place).or_insert(*tag) != *tag {
            return Err(Violation(format!("#{tag}: another request was carried out as {place:?}")));
        }
        let Some(before) = first.get(tag) else {
            first.insert(*tag, (reply, boots));
            continue;
        };
        let (before, boot) = *before;
        // A persistent session repeats what was done, in a reply that may be made anew (RFC 8881 §2.10.6.5).
        if boot != boots && matches!(outcome, Outcome::Done(_)) {
            continue;
        }
        // A lone SEQUENCE has nothing to repeat.
        let lost = *outcome == Outcome::Failed(Status::RetryUncachedReply) || *action == Action::Nothing;
        if before != reply && (*cache_this || !lost) {
            return Err(Violation(format!("#{tag}: a retry was answered otherwise: {outcome:?}")));
        }
    }
    Ok(())
}
