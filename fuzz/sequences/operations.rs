//! Operations from bytes, on what earlier ones have brought; and their results.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use xdr::{Decode, Decoder};

use super::Input;

const NAMES: [&[u8]; 4] = [b"a", b"b", b"d", b"absent"];
/// Handles and stateids that are remembered.
const KNOWN_MAX: usize = 32;

/// A stateid and the file that it is for.
#[derive(Clone, PartialEq)]
struct Held {
    machine: usize,
    state: StateId,
    handle: FileHandle,
}

/// What clients have learnt, each from all.
#[derive(Default)]
pub struct Known {
    held: Vec<Held>,
    handles: Vec<FileHandle>,
    /// What the present COMPOUND is about.
    focus: Option<Held>,
    /// Stateids of the present reply whose file is not known yet.
    fresh: Vec<StateId>,
}

fn remember<T: PartialEq>(known: &mut Vec<T>, new: T) {
    if !known.contains(&new) {
        if known.len() == KNOWN_MAX {
            known.remove(0);
        }
        known.push(new);
    }
}

fn name(input: &mut Input<'_>) -> Bytes {
    Bytes::from_static(NAMES[[0, 0, 0, 0, 1, 1, 2, 3][input.below(8)]])
}

fn owner(input: &mut Input<'_>) -> StateOwner {
    StateOwner { client: ClientId(0), owner: Bytes::from_static(NAMES[input.below(2)]) }
}

fn attributes(input: &mut Input<'_>) -> AttributeValues {
    let number = input.byte().unwrap_or(0);
    match number % 4 {
        0 => AttributeValues::default(),
        3 => {
            let modified = Some(Time { seconds: i64::from(number), nanoseconds: 0 });
            AttributeValues { time_deleg_modify: modified, ..AttributeValues::default() }
        }
        1 => AttributeValues { size: Some(u64::from(number)), ..AttributeValues::default() },
        _ => AttributeValues { mode: Some(0o600 | u32::from(number & 7)), ..AttributeValues::default() },
    }
}

impl Known {
    /// Chooses what the next COMPOUND is about: mostly something of the machine's own.
    pub fn choose(&mut self, machine: usize, input: &mut Input<'_>) {
        let bits = input.below(256);
        let mut held = self.held.iter().filter(|held| bits & 3 == 0 || held.machine == machine);
        let count = held.clone().count();
        self.focus = if bits & 4 == 0 || count == 0 { None } else { held.nth((bits >> 3) % count).cloned() };
    }

    fn state(&self, input: &mut Input<'_>) -> StateId {
        let choice = input.byte().unwrap_or(0);
        let Some(Held { state, .. }) = &self.focus else {
            return [StateId::CURRENT, StateId::CURRENT, StateId::ANONYMOUS, StateId::READ_BYPASS]
                [usize::from(choice & 3)];
        };
        match choice % 16 {
            0 => StateId { sequence: state.sequence.wrapping_add(1), ..*state },
            1 => StateId { sequence: state.sequence.saturating_sub(1), ..*state },
            2 => StateId { other: proto::nfs4::StateOther([choice; 12]), ..*state },
            3 => StateId::CURRENT,
            4..8 => *state,
            _ => StateId { sequence: 0, ..*state },
        }
    }

    fn open(&self, input: &mut Input<'_>) -> OpenArgs {
        let bits = input.byte().unwrap_or(0);
        let wanted = [0, share::WANT_NO_DELEGATION, share::WANT_ANY_DELEGATION, share::WANT_WRITE_DELEGATION];
        let create = match input.below(8) {
            0 | 4 | 5 => Some(CreateHow::Unchecked(attributes(input))),
            1 => Some(CreateHow::Guarded(attributes(input))),
            2 => Some(CreateHow::Exclusive41(Verifier([bits; 8]), AttributeValues::default())),
            _ => None,
        };
        let claim = match input.below(16) {
            0 => OpenClaim::Previous(DelegationType::None),
            1 => OpenClaim::Previous(DelegationType::Write),
            2 => OpenClaim::DelegateCurrent(DelegateCurrentClaim {
                state_id: self.state(input),
                name: name(input),
            }),
            _ => OpenClaim::Null(name(input)),
        };
        let alone = share::WANT_OPEN_XOR_DELEGATION | share::WANT_DELEGATED_TIMESTAMPS;
        let flags = [0, 0, share::WANT_DELEGATED_TIMESTAMPS, alone][input.below(4)];
        OpenArgs {
            sequence: 0,
            share_access: flags
                | if bits & 3 == 0 { share::BOTH } else { u32::from(bits & 3) }
                | wanted[usize::from(bits >> 6)],
            share_deny: if bits & 0x30 == 0 { u32::from(bits >> 2 & 3) } else { 0 },
            owner: owner(input),
            create: create.map(Box::new),
            claim,
        }
    }

    fn lock(&self, input: &mut Input<'_>) -> LockArgs {
        let bits = input.byte().unwrap_or(0);
        let state_id = self.state(input);
        let kinds = [LockType::Read, LockType::Write, LockType::ReadWait, LockType::WriteWait];
        let locker = if bits & 0x80 == 0 {
            let (open_sequence, lock_sequence) = (0, 0);
            Locker::New(NewLockOwner {
                open_sequence,
                open_state_id: state_id,
                lock_sequence,
                owner: owner(input),
            })
        } else {
            Locker::Existing(ExistingLockOwner { state_id, sequence: 0 })
        };
        let (offset, length) = range(input);
        LockArgs { kind: kinds[usize::from(bits & 3)], reclaim: bits & 0x7c == 0, offset, length, locker }
    }

    /// Adds an operation, mostly one that suits a file or else a directory; which.
    pub fn operation(&self, on_file: bool, input: &mut Input<'_>, to: &mut CompoundBuilder<'_>) -> Operation {
        use Operation as O;
        let data = [
            O::Read,
            O::Write,
            O::SetAttr,
            O::GetAttr,
            O::Commit,
            O::Access,
            O::ReadDir,
            O::Allocate,
            O::Deallocate,
            O::Seek,
            O::ReadPlus,
            O::IoAdvise,
            O::SetXattr,
            O::GetXattr,
            O::ListXattrs,
            O::RemoveXattr,
        ];
        let names = [O::Lookup, O::Remove, O::Rename, O::Link, O::Create, O::Copy, O::Clone];
        let states = [O::Close, O::Lock, O::Lock, O::LockT, O::LockU, O::OpenDowngrade, O::DelegReturn];
        let others = [O::TestStateId, O::FreeStateId, O::ReclaimComplete, O::GetFh, O::SaveFh, O::RestoreFh];
        let operation = match input.below(8) {
            0 => others[input.below(others.len())],
            1 | 2 => data[input.below(data.len())],
            3 => names[input.below(names.len())],
            _ if on_file => states[input.below(states.len())],
            _ => O::Open,
        };
        match operation {
            O::Open => to.push(operation, &self.open(input)),
            O::Lock => to.push(operation, &self.lock(input)),
            O::Lookup => to.push(operation, &LookupArgs { name: name(input) }),
            O::Remove => to.push(operation, &RemoveArgs { target: name(input) }),
            O::Rename => to.push(operation, &RenameArgs { old_name: name(input), new_name: name(input) }),
            O::Link => to.push(operation, &LinkArgs { new_name: name(input) }),
            O::Create => {
                let name = Bytes::from_static(NAMES[2]);
                let arguments = CreateArgs { kind: CreateType::Directory, name };
                to.push(operation, &(arguments, attributes(input)))
            }
            O::LockT => {
                let (offset, length) = range(input);
                to.push(operation, &LockTArgs { kind: LockType::Write, offset, length, owner: owner(input) })
            }
            O::LockU => {
                let (offset, length) = range(input);
                let (kind, sequence, state_id) = (LockType::Write, 0, self.state(input));
                to.push(operation, &LockUArgs { kind, sequence, state_id, offset, length })
            }
            O::SetAttr => {
                let arguments = SetAttrArgs { state_id: self.state(input) };
                to.push(operation, &(arguments, attributes(input)))
            }
            O::Copy | O::Clone => self.between(operation, input, to),
            other => self.simple(other, input, to),
        };
        operation
    }

    /// COPY or CLONE, from whatever file is saved.
    fn between<'a, 'b>(
        &self,
        operation: Operation,
        input: &mut Input<'_>,
        to: &'b mut CompoundBuilder<'a>,
    ) -> &'b mut CompoundBuilder<'a> {
        let (source_state_id, target_state_id) = (self.state(input), self.state(input));
        let (source_offset, count) = range(input);
        let target_offset = u64::from(input.byte().unwrap_or(0));
        if operation == Operation::Clone {
            let clone = CloneArgs { source_state_id, target_state_id, source_offset, target_offset, count };
            return to.push(operation, &clone);
        }
        let (consecutive, synchronous, sources) = (true, false, vec![]);
        let copy = CopyArgs {
            source_state_id,
            target_state_id,
            source_offset,
            target_offset,
            count,
            consecutive,
            synchronous,
            sources,
        };
        to.push(operation, &copy)
    }

    fn simple<'a, 'b>(
        &self,
        operation: Operation,
        input: &mut Input<'_>,
        to: &'b mut CompoundBuilder<'a>,
    ) -> &'b mut CompoundBuilder<'a> {
        use Operation as O;
        let number = u64::from(input.byte().unwrap_or(0));
        let state_id = self.state(input);
        match operation {
            O::Close => to.push(operation, &CloseArgs { sequence: 0, state_id }),
            O::DelegReturn => to.push(operation, &DelegReturnArgs { state_id }),
            O::FreeStateId => to.push(operation, &FreeStateIdArgs { state_id }),
            O::TestStateId => to.push(
                operation,
                &TestStateIdArgs { state_ids: self.held.iter().map(|held| held.state).collect() },
            ),
            O::OpenDowngrade => {
                let (share_access, share_deny) = (number as u32 & 3, number as u32 >> 2 & 3);
                to.push(operation, &OpenDowngradeArgs { state_id, sequence: 0, share_access, share_deny })
            }
            O::ReclaimComplete => to.push(operation, &ReclaimCompleteArgs { one_fs: number == 0 }),
            O::Read => to.push(operation, &ReadArgs { state_id, offset: number, count: 4096 }),
            O::Write => {
                let (stable, data) = (StableHow::FileSync, vec![7; number as usize * 4].into());
                to.push(operation, &WriteArgs { state_id, offset: number, stable, data })
            }
            O::Allocate | O::Deallocate => {
                let (offset, length) = range(input);
                to.push(operation, &AllocateArgs { state_id, offset: offset << 11, length })
            }
            O::Seek => {
                let what = if number & 1 == 0 { DataContent::Data } else { DataContent::Hole };
                to.push(operation, &SeekArgs { state_id, offset: number >> 1, what })
            }
            O::ReadPlus => to.push(operation, &ReadPlusArgs { state_id, offset: number, count: 4096 }),
            O::IoAdvise => {
                let hints = Bitmap::from_word(number as u32);
                to.push(operation, &IoAdviseArgs { state_id, offset: number, count: 0, hints })
            }
            O::SetXattr => {
                let options = [SetXattrOption::Either, SetXattrOption::Create, SetXattrOption::Replace];
                let option = options[number as usize % 3];
                let value = vec![7; number as usize].into();
                to.push(operation, &SetXattrArgs { option, name: name(input), value })
            }
            O::GetXattr => to.push(operation, &GetXattrArgs { name: name(input) }),
            O::RemoveXattr => to.push(operation, &RemoveXattrArgs { name: name(input) }),
            O::ListXattrs => {
                to.push(operation, &ListXattrsArgs { cookie: number & 1, count_max: number as u32 })
            }
            O::GetAttr => {
                let wanted = Bitmap::of(&[AttributeId::Size, AttributeId::Change]);
                to.push(operation, &GetAttrArgs { wanted })
            }
            O::Commit => to.push(operation, &CommitArgs { offset: 0, count: 0 }),
            O::Access => to.push(operation, &AccessArgs { access: 0x3f }),
            O::ReadDir => {
                let wanted = Bitmap::of(&[AttributeId::Size]);
                let (verifier, directory_count) = (Verifier([0; 8]), 512);
                let (cookie, count_max) = (0, number as u32 * 16);
                to.push(operation, &ReadDirArgs { cookie, verifier, directory_count, count_max, wanted })
            }
            plain => to.push(plain, &()),
        }
    }

    /// True when the present COMPOUND is about a file that is open.
    pub fn is_about_a_file(&self) -> bool {
        self.focus.is_some()
    }

    /// Adds what makes a file handle current; which operation.
    pub fn put_handle(&self, input: &mut Input<'_>, to: &mut CompoundBuilder<'_>) -> Operation {
        let mut any = || self.handles.get(input.below(4 * KNOWN_MAX));
        match self.focus.as_ref().map(|held| &held.handle).or_else(&mut any) {
            Some(object) => {
                to.push(Operation::PutFh, &PutFhArgs { object: object.clone() });
                Operation::PutFh
            }
            None => {
                to.push(Operation::PutRootFh, &());
                Operation::PutRootFh
            }
        }
    }

    /// Notes to which file the stateids of a reply belong, which went to a machine.
    pub fn learnt(&mut self, machine: usize, handle: &FileHandle) {
        for state in std::mem::take(&mut self.fresh) {
            remember(&mut self.held, Held { machine, state, handle: handle.clone() });
        }
    }

    /// Reads the body of a success, and remembers what it brings.
    pub fn learn(&mut self, machine: usize, operation: Operation, from: &mut Decoder) -> xdr::Result<()> {
        use Operation as O;
        match operation {
            O::Open => {
                let opened: OpenResult = from.get()?;
                self.fresh.push(opened.state_id);
                match opened.delegation {
                    OpenDelegation::Read(granted) | OpenDelegation::ReadAttributes(granted) => {
                        self.fresh.push(granted.state_id);
                    }
                    OpenDelegation::Write(granted) | OpenDelegation::WriteAttributes(granted) => {
                        self.fresh.push(granted.state_id);
                    }
                    OpenDelegation::None | OpenDelegation::NoneExt(_) => {}
                }
            }
            O::Lock => self.fresh.push(from.get::<LockResult>()?.state_id),
            O::LockU => skip::<LockUResult>(from)?,
            O::Close | O::OpenDowngrade => skip::<StateId>(from)?,
            O::GetFh => {
                let GetFhResult { object } = from.get()?;
                self.learnt(machine, &object);
                remember(&mut self.handles, object);
            }
            O::Sequence => skip::<SequenceResult>(from)?,
            O::Access => skip::<AccessResult>(from)?,
            O::GetAttr => drop(AttributeValues::decode(from).expect("known attributes")),
            O::Read => skip::<ReadResult>(from)?,
            O::Write => skip::<WriteResult>(from)?,
            O::Commit => skip::<CommitResult>(from)?,
            O::ReadDir => skip::<ReadDirResult>(from)?,
            O::Create => skip::<CreateResult>(from)?,
            O::Remove | O::Link | O::SetXattr | O::RemoveXattr => skip::<ChangeInfo>(from)?,
            O::Copy => skip::<CopyResult>(from)?,
            O::Seek => skip::<SeekResult>(from)?,
            O::ReadPlus => skip::<ReadPlusResult>(from)?,
            O::IoAdvise => skip::<IoAdviseResult>(from)?,
            O::GetXattr => skip::<GetXattrResult>(from)?,
            O::ListXattrs => skip::<ListXattrsResult>(from)?,
            O::Rename => skip::<RenameResult>(from)?,
            O::SetAttr => skip::<SetAttrResult>(from)?,
            O::TestStateId => skip::<TestStateIdResult>(from)?,
            O::BindConnToSession => skip::<BindConnToSessionResult>(from)?,
            _ => {}
        }
        Ok(())
    }
}

fn skip<T: Decode>(from: &mut Decoder) -> xdr::Result<()> {
    from.get::<T>().map(drop)
}

fn range(input: &mut Input<'_>) -> (u64, u64) {
    let bits = input.byte().unwrap_or(0);
    let length = if bits & 0x80 == 0 { u64::from(bits & 7) } else { u64::MAX };
    (u64::from(bits >> 3 & 3), length)
}
