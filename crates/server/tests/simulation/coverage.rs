//! What a run has reached: many seeds together must reach everything, or the rules are not put to the test.

use std::collections::BTreeSet;

use proto::nfs4::{ClientId, DelegationType, FileHandle, Status};

use crate::action::{Action, Outcome, Request, STATELESS};
use crate::history::{History, What};
use crate::machine::{TOKEN, object};
use crate::plan::Fault;

/// Everything that [`reached`] can name.
pub const ALL: [&str; 36] = [
    "a request was sent again",
    "a reply was repeated",
    "a reply was not kept",
    "a retry came too soon",
    "a client lost its session",
    "a client came back to life",
    "the server remembered nothing",
    "the server remembered its clients",
    "the clock jumped",
    "the disk broke",
    "an open was reclaimed",
    "a lock was reclaimed",
    "a delegation was reclaimed",
    "a reclaim came too late",
    "a new open had to wait for the grace period",
    "an open was denied",
    "a lock was denied",
    "a delegation was recalled",
    "a delegation was revoked",
    "an open waited for a recall in vain",
    "a name was taken",
    "a file was used that somebody else had removed",
    "a client had several sessions",
    "a client without state counted",
    "a client without state was denied a lock",
    "a client without state had to wait for a recall",
    "a host waited for a lock",
    "a host was called with its lock",
    "a host did not want the lock that it was called with",
    "a call to a host was lost",
    "a host asked again and had its lock",
    "a host gave up waiting",
    "a host restarted",
    "a host that waited for a lock restarted",
    "a session died with its server",
    "a request was answered that the server before had carried out",
];

pub fn reached(history: &History) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    let (mut sent, mut answered) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = ObservedChange::default();
    // By the present server, and by those before.
    let (mut arrived, mut interrupted) = (BTreeSet::new(), BTreeSet::new());
    for entry in &history.entries {
        if matches!(entry.what, What::Boot { .. }) {
            interrupted.append(&mut arrived);
        }
        let what = match &entry.what {
            What::Sent { tag } if !sent.insert(*tag) => Some("a request was sent again"),
            What::Arrived { tag } if !arrived.insert(*tag) && !answered.contains(tag) => {
                Some("a retry came too soon")
            }
            What::Boot { remembers: false } => Some("the server remembered nothing"),
            What::Boot { remembers: true } if entry.at_ms > 0 => Some("the server remembered its clients"),
            What::Fault(Fault::Jump { .. }) => Some("the clock jumped"),
            What::Fault(Fault::BreakDisk { .. }) => Some("the disk broke"),
            What::Granted { accepted: true } => Some("a host was called with its lock"),
            What::Granted { accepted: false } => Some("a host did not want the lock that it was called with"),
            What::GrantedLost => Some("a call to a host was lost"),
            What::Recalled { .. } => Some("a delegation was recalled"),
            What::Held { life, .. } if life.life > 1 => Some("a client came back to life"),
            What::Answered { tag, outcome, .. } => {
                let again = !answered.insert(*tag) && matches!(outcome, Outcome::Done(_));
                reached.extend(again.then_some("a reply was repeated"));
                let is_late = interrupted.contains(tag) && matches!(outcome, Outcome::Done(_));
                reached.extend(
                    is_late.then_some("a request was answered that the server before had carried out"),
                );
                let (life, request) = &history.requests[tag];
                if let Request::InSession { action, .. } = request
                    && matches!(action, Action::Unlock { .. } | Action::Cancel { .. } | Action::Notify { .. })
                {
                    let waited = seen.blocked.remove(&life.machine);
                    let restarted = waited && matches!(action, Action::Notify { .. });
                    reached.extend(restarted.then_some("a host that waited for a lock restarted"));
                }
                if let Request::InSession { place, action: Action::Lock { .. }, .. } = request
                    && place.session == STATELESS
                {
                    let is_blocked = matches!(outcome, Outcome::Failed(Status::Locked));
                    let was_blocked = if is_blocked {
                        !seen.blocked.insert(life.machine)
                    } else {
                        seen.blocked.remove(&life.machine)
                    };
                    let is_done = was_blocked && matches!(outcome, Outcome::Done(_));
                    reached.extend(is_done.then_some("a host asked again and had its lock"));
                }
                if !again {
                    reached.extend(of_first_answer(&mut seen, &history.requests[tag].1, outcome));
                }
                of_answer(&history.requests[tag].1, outcome)
            }
            _ => None,
        };
        reached.extend(what);
    }
    reached
}

/// What answers have said.
#[derive(Default)]
struct ObservedChange {
    /// That have a session.
    clients: BTreeSet<ClientId>,
    /// Hosts whose last LOCK was blocked.
    blocked: BTreeSet<usize>,
    /// The file of the name that everybody makes and removes.
    named: Option<FileHandle>,
}

fn of_first_answer(seen: &mut ObservedChange, request: &Request, outcome: &Outcome) -> Option<&'static str> {
    let Outcome::Done(done) = outcome else { return None };
    let action = match request {
        Request::CreateSession { client, .. } => {
            return (!seen.clients.insert(*client)).then_some("a client had several sessions");
        }
        Request::InSession { action, .. } => action,
        _ => return None,
    };
    match action {
        Action::Open { file, .. } if file == TOKEN => seen.named.clone_from(&done.handle),
        Action::Remove { name: file } | Action::Rename { from: file, .. } if file == TOKEN => {
            seen.named = None;
        }
        Action::Write { cell, handle, .. } | Action::Read { cell, handle, .. }
            if cell.file == object(handle) && seen.named.as_ref() != Some(handle) =>
        {
            return Some("a file was used that somebody else had removed");
        }
        _ => {}
    }
    None
}

fn of_answer(request: &Request, outcome: &Outcome) -> Option<&'static str> {
    use Outcome::{Done, Failed, Refused};
    let Request::InSession { place, action, .. } = request else { return None };
    if place.session == STATELESS {
        return Some(match (action, outcome) {
            (Action::Write { .. }, Done(_)) => "a client without state counted",
            (Action::Lock { .. }, Failed(Status::Denied)) => "a client without state was denied a lock",
            (Action::Lock { .. }, Failed(Status::Locked)) => "a host waited for a lock",
            (Action::Cancel { .. }, Done(_)) => "a host gave up waiting",
            (Action::Notify { .. }, Done(_)) => "a host restarted",
            (_, Failed(Status::Delay)) => "a client without state had to wait for a recall",
            _ => return None,
        });
    }
    Some(match (action, outcome) {
        (_, Refused(Status::BadSession)) => "a client lost its session",
        (_, Refused(Status::DeadSession)) => "a session died with its server",
        (_, Failed(Status::RetryUncachedReply)) => "a reply was not kept",
        (_, Failed(Status::NoGrace)) => "a reclaim came too late",
        (Action::ReclaimOpen { delegation, .. }, Done(done)) => {
            if *delegation == DelegationType::None {
                "an open was reclaimed"
            } else {
                done.delegation.map(|_| "a delegation was reclaimed")?
            }
        }
        (Action::Lock { reclaim: true, .. }, Done(_)) => "a lock was reclaimed",
        (Action::Open { .. }, Failed(Status::Grace)) => "a new open had to wait for the grace period",
        (Action::Open { .. }, Failed(Status::ShareDenied)) => "an open was denied",
        (Action::Open { .. }, Failed(Status::Delay)) => "an open waited for a recall in vain",
        (Action::Open { .. }, Failed(Status::Exists)) => "a name was taken",
        (Action::Lock { .. }, Failed(Status::Denied)) => "a lock was denied",
        (Action::Free { .. }, Done(_)) => "a delegation was revoked",
        _ => return None,
    })
}
