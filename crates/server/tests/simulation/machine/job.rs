//! A job: one slot's work, step by step. Most count one number up under the protection of a lock or a denial.

use proto::nfs4::{DelegationType, FileHandle, StateId, share};

use crate::action::{Action, CELL_BYTES, Cell, Create, Owner};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Open,
    Lock,
    Read,
    Write,
    Unlock,
    Close,
    Peek,
    Rename,
    /// Of the name that it was renamed to.
    Remove,
    /// Of the name that somebody has made.
    Steal,
    Finished,
}

/// Something held, and its number in the history.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub hold: u64,
    pub state_id: StateId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Counts under a byte-range lock.
    Locks,
    /// Reads under a shared byte-range lock.
    Shares,
    /// Counts while others may not write.
    Denies,
    /// Only reads.
    Reads,
    /// Reads, or changes attributes, without an open.
    Peeks,
    /// Makes a file that others want to make as well, writes to it, whether or not somebody removes it
    /// meanwhile, renames and removes it.
    Names,
}

/// What a file is called in the history that is told apart by its handle.
pub fn object(handle: &FileHandle) -> String {
    format!("object {:?}", handle.0)
}

#[derive(Debug, Clone)]
pub struct Job {
    pub id: u64,
    pub owner: Owner,
    pub cell: Cell,
    pub kind: Kind,
    /// The delegation that OPEN asks for: bits of [`share`].
    want: u32,
    pub step: Step,
    pub handle: Option<FileHandle>,
    pub open: Option<Held>,
    pub lock: Option<Held>,
    /// The stateid of a lock that was given up, to lock once more.
    pub(super) unlocked: Option<StateId>,
    pub(super) value: u64,
}

impl Job {
    pub fn new(id: u64, owner: Owner, cell: Cell, kind: Kind, want: u32) -> Self {
        let step = Step::Open;
        Self {
            id,
            owner,
            cell,
            kind,
            want,
            step,
            handle: None,
            open: None,
            lock: None,
            unlocked: None,
            value: 0,
        }
    }

    /// Needs no open for a file that it knows.
    pub fn peek(&mut self, handle: &FileHandle) {
        self.handle = Some(handle.clone());
        self.step = Step::Peek;
    }

    /// From the beginning; the caller has released what it held.
    pub fn restart(&mut self) {
        *self = Self::new(self.id, self.owner, self.cell.clone(), self.kind, self.want);
    }

    fn handle(&self) -> FileHandle {
        self.handle.clone().expect("after OPEN")
    }

    fn open_id(&self) -> StateId {
        self.open.as_ref().expect("after OPEN").state_id
    }

    /// The stateid that data is read and written under.
    fn io_id(&self) -> StateId {
        self.lock.as_ref().or(self.open.as_ref()).expect("after OPEN").state_id
    }

    pub fn share(&self) -> (u32, u32) {
        match self.kind {
            Kind::Locks | Kind::Names => (share::BOTH, 0),
            Kind::Denies => (share::BOTH, share::WRITE),
            Kind::Shares | Kind::Reads | Kind::Peeks => (share::READ, 0),
        }
    }

    fn create(&self) -> Create {
        match self.kind {
            Kind::Names if self.id.is_multiple_of(2) => Create::Exclusive(self.id),
            Kind::Names => Create::Guarded,
            _ => Create::Unchecked,
        }
    }

    /// The number that it reads and writes: in the file that it has made, whatever has its name by now.
    fn io_cell(&self) -> Cell {
        match self.kind {
            Kind::Names => Cell { file: object(&self.handle()), offset: self.cell.offset },
            _ => self.cell.clone(),
        }
    }

    fn own_name(&self) -> String {
        format!("{} of {}", self.cell.file, self.id)
    }

    /// What to ask for now.
    pub fn action(&self) -> Action {
        match self.step {
            Step::Open => {
                let (access, deny) = self.share();
                Action::Open {
                    file: self.cell.file.clone(),
                    owner: self.owner,
                    access: access | self.want,
                    deny,
                    create: self.create(),
                }
            }
            Step::Lock => Action::Lock {
                file: self.cell.file.clone(),
                handle: self.handle(),
                owner: self.owner,
                open: self.open_id(),
                offset: self.cell.offset,
                length: CELL_BYTES,
                existing: self.unlocked,
                exclusive: self.kind == Kind::Locks,
                reclaim: false,
            },
            Step::Read => {
                Action::Read { cell: self.io_cell(), handle: self.handle(), state_id: self.io_id() }
            }
            Step::Write => Action::Write {
                cell: self.io_cell(),
                handle: self.handle(),
                state_id: self.io_id(),
                value: self.value + 1,
                job: self.id,
            },
            Step::Unlock => Action::Unlock {
                handle: self.handle(),
                state_id: self.io_id(),
                offset: self.cell.offset,
                length: CELL_BYTES,
            },
            Step::Close => Action::Close { handle: self.handle(), state_id: self.open_id() },
            Step::Peek if self.id.is_multiple_of(2) => {
                Action::Read { cell: self.cell.clone(), handle: self.handle(), state_id: StateId::ANONYMOUS }
            }
            Step::Peek => Action::SetMode {
                file: self.cell.file.clone(),
                handle: self.handle(),
                mode: if self.id.is_multiple_of(3) { 0o666 } else { 0o644 },
            },
            Step::Rename => Action::Rename { from: self.cell.file.clone(), to: self.own_name() },
            Step::Remove => Action::Remove { name: self.own_name() },
            Step::Steal => Action::Remove { name: self.cell.file.clone() },
            Step::Finished => Action::Nothing,
        }
    }

    /// Asks for what it held before the server's restart.
    pub fn reclaim(&self, step: Step) -> Action {
        let (access, deny) = self.share();
        if step == Step::Open {
            let (file, handle, owner) = (self.cell.file.clone(), self.handle(), self.owner);
            let delegation = DelegationType::None;
            return Action::ReclaimOpen { file, handle, owner, access, deny, delegation };
        }
        let mut action = Self { step, ..self.clone() }.action();
        if let Action::Lock { reclaim, .. } = &mut action {
            *reclaim = true;
        }
        action
    }
}
