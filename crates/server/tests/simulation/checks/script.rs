//! Histories made by hand: what a checker says of them shows that it looks.

use std::collections::BTreeMap;

use bytes::Bytes;
use proto::nfs4::{ClientId, FileHandle, SequenceId, SessionId, StateId, StateOther, Status, share};

use crate::action::{Action, CELL_BYTES, Cell, Create, Done, Life, Outcome, Place, Request};
use crate::history::{Entry, History, Holding, What};

/// Two machines with a session each, numbered 0 and 1.
pub struct Script {
    pub history: History,
    now_ms: u64,
    tags: u64,
    clients: u64,
    of_machine: BTreeMap<usize, ClientId>,
}

pub fn life(machine: usize) -> Life {
    Life { machine, life: 1 }
}

pub fn id(number: u8) -> StateId {
    StateId { sequence: 1, other: StateOther([number; 12]) }
}

pub fn cell() -> Cell {
    Cell { file: "f".into(), offset: 0 }
}

fn handle() -> FileHandle {
    FileHandle(Bytes::from_static(b"f"))
}

pub fn lock() -> Action {
    let (offset, length) = (0, CELL_BYTES);
    Action::Lock {
        file: "f".into(),
        handle: handle(),
        owner: 0,
        open: id(99),
        existing: None,
        offset,
        length,
        exclusive: true,
        reclaim: false,
    }
}

/// The same after a restart.
pub fn relock() -> Action {
    let mut action = lock();
    if let Action::Lock { reclaim, .. } = &mut action {
        *reclaim = true;
    }
    action
}

pub fn unlock(state_id: StateId) -> Action {
    Action::Unlock { handle: handle(), state_id, offset: 0, length: CELL_BYTES }
}

pub fn locked() -> Holding {
    Holding::Lock { file: "f".into(), owner: 0, offset: 0, length: CELL_BYTES, exclusive: true }
}

pub fn open(access: u32, deny: u32) -> Action {
    Action::Open { file: "f".into(), owner: 0, access, deny, create: Create::Unchecked }
}

pub fn create(create: Create) -> Action {
    Action::Open { file: "f".into(), owner: 0, access: share::READ, deny: 0, create }
}

pub fn remove(name: &str) -> Action {
    Action::Remove { name: name.into() }
}

pub fn rename(from: &str, to: &str) -> Action {
    Action::Rename { from: from.into(), to: to.into() }
}

pub fn read(state_id: StateId) -> Action {
    Action::Read { cell: cell(), handle: handle(), state_id }
}

pub fn write(state_id: StateId, value: u64, job: u64) -> Action {
    Action::Write { cell: cell(), handle: handle(), state_id, value, job }
}

pub fn give_back(state_id: StateId) -> Action {
    Action::Return { handle: handle(), state_id }
}

pub fn gives(state_id: StateId) -> Done {
    Done { state_id: Some(state_id), ..Done::default() }
}

impl Script {
    pub fn new() -> Self {
        let mut script =
            Self { history: History::default(), now_ms: 0, tags: 0, clients: 0, of_machine: BTreeMap::new() };
        script.log(What::Boot { remembers: true });
        (0..2).for_each(|machine| script.session(machine, 1));
        script
    }

    /// A session for a machine in one of its lives, which has nothing to reclaim.
    pub fn session(&mut self, machine: usize, life: u32) {
        self.connect(machine, life);
        let tag = self.asked(machine, Action::ReclaimComplete);
        self.history.requests.entry(tag).and_modify(|asked| asked.0.life = life);
        self.answer(tag, Outcome::Done(Done::default()));
    }

    /// A session for a new client of a machine.
    pub fn connect(&mut self, machine: usize, life: u32) {
        self.clients += 1;
        let client = ClientId(self.clients);
        let tag = self.ask(machine, Request::CreateSession { client, sequence: SequenceId(1) });
        self.history.requests.entry(tag).and_modify(|asked| asked.0.life = life);
        let session = Some(SessionId([machine as u8; 16]));
        self.answer(tag, Outcome::Done(Done { session, ..Done::default() }));
        self.of_machine.insert(machine, client);
    }

    pub fn log(&mut self, what: What) {
        self.now_ms += 10;
        self.history.entries.push(Entry { at_ms: self.now_ms, server_ms: self.now_ms, what });
    }

    pub fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    fn ask(&mut self, machine: usize, request: Request) -> u64 {
        self.tags += 1;
        self.history.requests.insert(self.tags, (life(machine), request));
        self.log(What::Arrived { tag: self.tags });
        self.tags
    }

    pub fn answer(&mut self, tag: u64, outcome: Outcome) {
        let reply = format!("{outcome:?}").into();
        self.log(What::Answered { tag, reply, outcome });
    }

    pub fn asked(&mut self, machine: usize, action: Action) -> u64 {
        let sequence = self.tags as u32;
        let place = Place { session: SessionId([machine as u8; 16]), slot: 0, sequence };
        self.ask(machine, Request::InSession { place, cache_this: true, action })
    }

    /// A request arrives, succeeds, and its client knows.
    pub fn done(&mut self, machine: usize, action: Action, done: Done) -> u64 {
        let tag = self.asked(machine, action);
        self.answer(tag, Outcome::Done(done));
        tag
    }

    pub fn failed(&mut self, machine: usize, action: Action, status: Status) {
        let tag = self.asked(machine, action);
        self.answer(tag, Outcome::Failed(status));
    }

    pub fn held(&mut self, machine: usize, hold: u64, state_id: StateId, holding: Holding) {
        let client = self.of_machine[&machine];
        self.log(What::Held { life: life(machine), client, hold, state_id, holding });
    }

    /// Locks, and the client knows it.
    pub fn locks(&mut self, machine: usize, number: u8) {
        self.done(machine, lock(), gives(id(number)));
        self.held(machine, u64::from(number), id(number), locked());
    }

    /// Opens for reading with a delegation, and the client knows it.
    pub fn delegated(&mut self, machine: usize, number: u8) {
        let done = Done { delegation: Some((id(number), false)), ..gives(id(number + 100)) };
        self.done(machine, open(share::READ, 0), done);
        let holding = Holding::Delegation { file: "f".into(), write: false };
        self.held(machine, u64::from(number), id(number), holding);
    }
}
