//! What a machine does with delegations: reads from its memory, gives them back when it is told to, or does
//! not care.

use bytes::Bytes;
use proto::nfs4::{DelegationType, FileHandle, StateId, Status, callback_procedure, sequence_flags, share};

use super::slots::KEEPER;
use super::{Effect, Machine, Out, Phase, Wake};
use crate::action::{Action, Cell, Done, Outcome};
use crate::history::{Holding, What};
use crate::wire;

#[derive(Debug, Clone)]
pub(super) struct Delegation {
    pub(super) hold: u64,
    pub(super) file: String,
    pub(super) handle: FileHandle,
    pub(super) state_id: StateId,
    pub(super) write: bool,
    returning: bool,
    /// A number that was read under it.
    cached: Option<(Cell, u64)>,
}

/// Work of the last slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Chore {
    Return(u64),
    /// A READ under it.
    Use(u64),
    Test(u64),
    Free(StateId),
    Close(FileHandle, StateId),
}

impl Machine {
    /// An OPEN brought a delegation.
    pub(super) fn delegated(&mut self, file: &str, done: &Done, out: &mut Out<'_>) {
        let Some((state_id, write)) = done.delegation else { return };
        let hold = out.number();
        self.hold_delegation(hold, file, state_id, write, out);
        let handle = done.handle.clone().expect("OPEN by name gives it");
        let file = file.to_owned();
        let new = Delegation { hold, file, handle, state_id, write, returning: false, cached: None };
        self.delegations.push(new);
        self.epoch += 1;
        let pause = out.random.between(100, 20_000);
        self.wake(out, pause, Wake::Return(hold));
    }

    pub(super) fn hold_delegation(
        &self,
        hold: u64,
        file: &str,
        state_id: StateId,
        write: bool,
        out: &mut Out<'_>,
    ) {
        let holding = Holding::Delegation { file: file.to_owned(), write };
        out.log(What::Held { life: self.life, client: self.client, hold, state_id, holding });
    }

    /// A number was read or written: it may be read from memory as long as nobody else can change it.
    pub(super) fn remember(&mut self, cell: &Cell, value: Option<u64>, out: &mut Out<'_>) {
        let Some(held) = self.delegations.iter_mut().find(|held| held.file == cell.file) else { return };
        held.cached = value.map(|value| (cell.clone(), value));
        if value.is_some() {
            let (hold, pause) = (held.hold, out.random.between(10, 5000));
            self.wake(out, pause, Wake::ReadMemory(hold));
        }
    }

    pub(super) fn read_memory(&self, hold: u64, out: &mut Out<'_>) {
        let held = self.delegations.iter().find(|held| held.hold == hold && !held.returning);
        if let Some((cell, value)) = held.and_then(|held| held.cached.clone()) {
            out.log(What::ReadMemory { hold, cell, value });
        }
    }

    /// Gives a delegation back, if it is still there.
    pub(super) fn return_delegation(&mut self, hold: u64, out: &mut Out<'_>) {
        if out.random.chance(300) {
            self.add_chore(Chore::Use(hold), out);
        }
        self.add_chore(Chore::Return(hold), out);
    }

    pub(super) fn add_chore(&mut self, chore: Chore, out: &mut Out<'_>) {
        if !self.chores.contains(&chore) {
            self.chores.push_back(chore);
        }
        self.do_chore(out);
    }

    /// What the flags of a SEQUENCE say.
    pub(super) fn on_flags(&mut self, flags: u32, out: &mut Out<'_>) {
        if self.phase == Phase::Working && flags & sequence_flags::RECALLABLE_STATE_REVOKED != 0 {
            let holds: Vec<u64> =
                self.delegations.iter().filter(|held| !held.returning).map(|held| held.hold).collect();
            holds.into_iter().for_each(|hold| self.add_chore(Chore::Test(hold), out));
        }
    }

    fn held(&mut self, hold: u64) -> Option<&mut Delegation> {
        self.delegations.iter_mut().find(|held| held.hold == hold)
    }

    pub(super) fn do_chore(&mut self, out: &mut Out<'_>) {
        while self.phase == Phase::Working && !self.dead && self.slots[KEEPER].pending.is_none() {
            let Some(chore) = self.chores.pop_front() else { return };
            let action = match chore {
                Chore::Return(hold) => self.held(hold).filter(|held| !held.returning).map(|held| {
                    held.returning = true;
                    out.log(What::Released { hold });
                    Action::Return { handle: held.handle.clone(), state_id: held.state_id }
                }),
                Chore::Use(hold) => self.held(hold).filter(|held| !held.returning).map(|held| {
                    let (cell, handle) = (Cell { file: held.file.clone(), offset: 0 }, held.handle.clone());
                    Action::Read { cell, handle, state_id: held.state_id }
                }),
                Chore::Test(hold) => self
                    .held(hold)
                    .filter(|held| !held.returning)
                    .map(|held| Action::Test { state_id: held.state_id }),
                Chore::Free(state_id) => Some(Action::Free { state_id }),
                Chore::Close(handle, state_id) => Some(Action::Close { handle, state_id }),
            };
            if let Some(action) = action {
                self.submit(KEEPER, action, out);
            }
        }
    }

    pub(super) fn on_chore(&mut self, action: &Action, outcome: &Outcome, out: &mut Out<'_>) {
        match (action, outcome) {
            (Action::Return { state_id, .. }, Outcome::Done(_)) => self.forget_delegation(state_id, out),
            (
                Action::Return { state_id, .. } | Action::Read { state_id, .. },
                Outcome::Failed(Status::DelegationRevoked),
            ) => {
                self.forget_delegation(state_id, out);
                self.add_chore(Chore::Free(*state_id), out);
            }
            (Action::Test { state_id }, Outcome::Done(Done { tested: Some(status), .. })) => match status {
                Status::Ok => {}
                Status::DelegationRevoked => {
                    self.forget_delegation(state_id, out);
                    self.add_chore(Chore::Free(*state_id), out);
                }
                status => out.log(What::Unexpected(format!("TEST_STATEID: {status}"))),
            },
            (_, Outcome::Done(_)) => {}
            (action, outcome) => out.log(What::Unexpected(format!("{action:?}: {outcome:?}"))),
        }
        self.do_chore(out);
    }

    pub(super) fn forget_delegation(&mut self, id: &StateId, out: &mut Out<'_>) {
        self.delegations.retain(|held| {
            let gone = held.state_id.other == id.other;
            if gone && !held.returning {
                out.log(What::Released { hold: held.hold });
            }
            !gone
        });
    }

    /// The session is lost: what was being returned is gone, the rest is to be claimed.
    pub(super) fn suspend_delegations(&mut self) {
        self.chores.clear();
        self.callback_slots.clear();
        self.delegations.retain(|held| !held.returning);
    }

    pub(super) fn claim_delegation(&mut self, hold: u64, out: &mut Out<'_>) {
        let held =
            self.delegations.iter().find(|held| held.hold == hold).expect("claims are of what is held");
        let action = Action::ReclaimOpen {
            file: held.file.clone(),
            handle: held.handle.clone(),
            owner: KEEPER as u32,
            access: share::READ,
            deny: 0,
            delegation: if held.write { DelegationType::Write } else { DelegationType::Read },
        };
        self.submit(KEEPER, action, out);
    }

    /// A delegation is claimed with an OPEN, which is of no use afterwards.
    pub(super) fn on_claimed_delegation(&mut self, hold: u64, outcome: &Outcome, out: &mut Out<'_>) {
        let held =
            self.delegations.iter().find(|held| held.hold == hold).expect("claims are of what is held");
        let (file, before, handle) = (held.file.clone(), held.state_id, held.handle.clone());
        let Outcome::Done(done) = outcome else { return self.forget_delegation(&before, out) };
        if let Some(open) = done.state_id {
            self.chores.push_back(Chore::Close(handle, open));
        }
        let Some((state_id, write)) = done.delegation else { return self.forget_delegation(&before, out) };
        self.hold_delegation(hold, &file, state_id, write, out);
        for held in self.delegations.iter_mut().filter(|held| held.hold == hold) {
            held.state_id = state_id;
        }
        // The pause that was to pass before it is given back may be over.
        self.wake(out, 5000, Wake::Return(hold));
    }

    /// The server calls: by connection, number and procedure.
    pub fn on_callback(&mut self, call: (u64, u64, u32), bytes: &Bytes, out: &mut Out<'_>) {
        let (connection, call, procedure) = call;
        let bytes =
            if procedure == callback_procedure::NULL { Bytes::new() } else { self.on_recall(bytes, out) };
        out.effects.push(Effect::Answer { connection, call, bytes });
    }

    fn on_recall(&mut self, bytes: &Bytes, out: &mut Out<'_>) -> Bytes {
        let (sequence, recall) = wire::decode_recall(bytes);
        if !self.sessions.contains(&sequence.session) {
            return wire::recall_reply(&sequence, Err(Status::BadSession));
        }
        let last = self.callback_slots.entry((sequence.session, sequence.slot.0)).or_default();
        if sequence.sequence.0 == *last {
            return wire::recall_reply(&sequence, Ok(Status::RetryUncachedReply));
        }
        if sequence.sequence.0 != last.wrapping_add(1) {
            return wire::recall_reply(&sequence, Err(Status::SequenceMisordered));
        }
        *last = sequence.sequence.0;
        let held = self.delegations.iter().find(|held| held.state_id == recall.state_id);
        // Not there: its OPEN is not answered yet, or it is on its way back.
        let Some(hold) = held.map(|held| held.hold) else {
            return wire::recall_reply(&sequence, Ok(Status::BadStateId));
        };
        out.log(What::Recalled { hold });
        // Most return it soon, some when it is too late.
        let late = out.random.chance(150);
        let pause = if late { out.random.between(5000, 30_000) } else { out.random.between(0, 2000) };
        self.wake(out, pause, Wake::Return(hold));
        wire::recall_reply(&sequence, Ok(Status::Ok))
    }
}
