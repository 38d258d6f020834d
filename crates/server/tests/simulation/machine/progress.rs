//! How a job gets on: what a success gives it, and where it goes from there.

use proto::nfs4::{ClientId, Status};

use super::job::{Held, Job, Kind, Step};
use crate::action::{CELL_BYTES, Done, Life};
use crate::history::{Holding, What};

impl Job {
    /// What was held is held again, under another stateid.
    pub fn regained(&mut self, step: Step, done: &Done, life: Life, client: ClientId) -> What {
        self.unlocked = None;
        let held = if step == Step::Open { &mut self.open } else { &mut self.lock };
        let held = held.as_mut().expect("it was held before");
        held.state_id = done.state_id.expect("OPEN and LOCK give a stateid");
        let (hold, state_id) = (held.hold, held.state_id);
        What::Held { life, client, hold, state_id, holding: self.gained(step).expect("opened or locked") }
    }

    /// What a success of a step gives the client.
    pub fn gained(&self, step: Step) -> Option<Holding> {
        let (file, owner) = (self.cell.file.clone(), self.owner);
        match step {
            Step::Open => {
                let (access, deny) = self.share();
                Some(Holding::Share { file, owner, access, deny })
            }
            Step::Lock => {
                let (offset, exclusive) = (self.cell.offset, self.kind == Kind::Locks);
                Some(Holding::Lock { file, owner, offset, length: CELL_BYTES, exclusive })
            }
            _ => None,
        }
    }

    /// Goes on after a success; `hold` is the number of what was gained.
    pub fn advance(&mut self, done: &Done, hold: u64) {
        let held = || Held { hold, state_id: done.state_id.expect("OPEN and LOCK give a stateid") };
        self.step = match self.step {
            Step::Open => {
                self.handle.clone_from(&done.handle);
                self.open = Some(held());
                match self.kind {
                    Kind::Locks | Kind::Shares => Step::Lock,
                    Kind::Denies | Kind::Reads => Step::Read,
                    Kind::Peeks => Step::Close,
                    Kind::Names => Step::Write,
                }
            }
            Step::Lock => {
                self.lock = Some(held());
                Step::Read
            }
            Step::Read => {
                self.value = done.value;
                match self.kind {
                    Kind::Reads | Kind::Names => Step::Close,
                    Kind::Shares => Step::Unlock,
                    _ => Step::Write,
                }
            }
            Step::Write if self.kind == Kind::Locks => Step::Unlock,
            Step::Write if self.kind == Kind::Names => Step::Read,
            Step::Write => Step::Close,
            // Some lock once more, as the same owner.
            Step::Unlock if self.unlocked.is_none() && self.id.is_multiple_of(3) => {
                self.lock = None;
                self.unlocked = done.state_id;
                Step::Lock
            }
            Step::Unlock => {
                self.lock = None;
                Step::Close
            }
            Step::Close if self.kind == Kind::Names => {
                self.open = None;
                Step::Rename
            }
            Step::Rename => Step::Remove,
            Step::Close | Step::Peek | Step::Remove | Step::Steal | Step::Finished => Step::Finished,
        }
    }

    /// Goes on after a failure that is an answer: somebody else was quicker. False when it is none.
    pub fn yield_to_others(&mut self, status: Status) -> bool {
        self.step = match (self.kind, self.step, status) {
            (Kind::Names, Step::Open, Status::Exists) => Step::Steal,
            (Kind::Names, Step::Rename | Step::Remove | Step::Steal, Status::NoEntry) => Step::Finished,
            _ => return false,
        };
        true
    }
}
