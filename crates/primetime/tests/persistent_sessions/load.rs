//! The load: every slot of a session works on names in a directory of its own, so that a request that ran
//! twice, or not at all, fails or leaves another tree.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use crate::peer::{Line, bytes, compound};

const SLOTS: u32 = 8;
/// For a request that must come again.
const PAUSE: Duration = Duration::from_millis(20);

/// One slot's work.
#[derive(Debug, Default)]
struct Lane {
    sequence: u32,
    /// How many steps are done.
    done: u32,
    /// The request under way, as it was sent.
    pending: Option<Vec<u8>>,
}

pub struct Load {
    line: Option<Line>,
    session: SessionId,
    lanes: Vec<Lane>,
    /// Requests that were under way when the server was killed.
    pub retried: u64,
    /// Those of them that were answered on their old session.
    pub repeated: u64,
}

impl Load {
    pub fn new(export: &Path) -> Self {
        let lanes = (0..SLOTS).map(|slot| {
            let directory = export.join(format!("s{slot}"));
            fs::create_dir(&directory).unwrap();
            fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
            fs::write(directory.join("file"), "").unwrap();
            Lane::default()
        });
        let lanes = lanes.collect();
        Self { line: None, session: SessionId([0; 16]), lanes, retried: 0, repeated: 0 }
    }

    fn line(&mut self) -> &mut Line {
        self.line.as_mut().unwrap()
    }

    /// Begins a session on a new server, where nothing is under way.
    pub fn begin(&mut self, address: SocketAddr) {
        self.line = Some(Line::new(address));
        self.session = self.line().session(SLOTS + 1, true);
        self.lanes.iter_mut().for_each(|lane| lane.sequence = 0);
        let sequence = self.sequence(SLOTS, 1);
        self.line().send(
            0,
            &compound(|c| {
                c.push(Operation::Sequence, &sequence)
                    .push(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs: false });
            }),
        );
        assert_eq!(self.line().receive().status, Status::Ok);
        (0..SLOTS).for_each(|slot| self.send(slot));
    }

    /// Takes so many replies, and keeps every slot busy.
    pub fn run(&mut self, replies: u64) {
        for _ in 0..replies {
            let reply = self.line().receive();
            self.judge(reply.xid, reply.status);
            self.send(reply.xid);
        }
    }

    /// The server was killed: sends what was under way again on the old session. What that does not answer is
    /// sent on the new.
    pub fn resume(&mut self, address: SocketAddr) {
        self.line = Some(Line::new(address));
        for slot in 0..SLOTS {
            let request = self.lanes[slot as usize].pending.take().unwrap();
            self.line().send(slot, &request);
            let reply = self.line().receive();
            self.retried += 1;
            if reply.status == Status::DeadSession {
                assert_eq!(reply.count, 1, "SEQUENCE says so");
            } else {
                self.repeated += 1;
                self.judge(slot, reply.status);
            }
        }
        self.begin(address);
    }

    /// Takes the last replies.
    pub fn finish(&mut self) {
        let mut left = SLOTS;
        while left > 0 {
            let reply = self.line().receive();
            self.judge(reply.xid, reply.status);
            match reply.status {
                Status::Grace => self.send(reply.xid),
                _ => left -= 1,
            }
        }
    }

    fn judge(&mut self, slot: u32, status: Status) {
        let lane = &mut self.lanes[slot as usize];
        match status {
            Status::Ok => lane.done += 1,
            Status::Grace => thread::sleep(PAUSE),
            other => panic!("step {} of slot {slot}: {other}", lane.done),
        }
    }

    fn sequence(&self, slot: u32, sequence: u32) -> SequenceArgs {
        SequenceArgs {
            session: self.session,
            sequence: SequenceId(sequence),
            slot: SlotId(slot),
            highest_slot: SlotId(SLOTS),
            cache_this: true,
        }
    }

    fn send(&mut self, slot: u32) {
        let lane = &mut self.lanes[slot as usize];
        lane.sequence += 1;
        let (sequence, step) = (lane.sequence, lane.done);
        let sequence = self.sequence(slot, sequence);
        let request = compound(|c| {
            c.push(Operation::Sequence, &sequence);
            enter(c, slot);
            build(c, slot, step);
        });
        self.line().send(slot, &request);
        self.lanes[slot as usize].pending = Some(request);
    }

    /// What the export holds after all that.
    pub fn expected(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (slot, lane) in self.lanes.iter().enumerate() {
            names.extend([format!("s{slot}"), format!("s{slot}/file")]);
            for round in 0..=lane.done / STEPS {
                // How many steps of this round are done.
                let steps = lane.done.saturating_sub(round * STEPS).min(STEPS);
                let left = LEFT[steps as usize];
                names.extend(left.iter().map(|name| format!("s{slot}/{name}{round}")));
            }
        }
        names.sort();
        names
    }
}

/// Steps of a round.
const STEPS: u32 = 7;
/// The names that there are after so many steps of a round, without its number.
const LEFT: [&[&str]; STEPS as usize + 1] =
    [&[], &["dir"], &["moved"], &["moved", "link"], &["link"], &["other"], &["other", "made"], &["made"]];

/// Makes the slot's directory current.
fn enter(c: &mut CompoundBuilder<'_>, slot: u32) {
    let name = bytes(&format!("s{slot}"));
    c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &LookupArgs { name });
}

fn build(c: &mut CompoundBuilder<'_>, slot: u32, step: u32) {
    let round = step / STEPS;
    let name = |name: &str| bytes(&format!("{name}{round}"));
    match step % STEPS {
        0 => {
            let made = CreateArgs { kind: CreateType::Directory, name: name("dir") };
            let values = AttributeValues { mode: Some(0o755), ..AttributeValues::default() };
            c.push(Operation::Create, &(made, values)).push(Operation::GetFh, &());
        }
        1 => rename(c, name("dir"), name("moved")),
        2 => {
            c.push(Operation::Lookup, &LookupArgs { name: "file".into() }).push(Operation::SaveFh, &());
            enter(c, slot);
            c.push(Operation::Link, &LinkArgs { new_name: name("link") });
        }
        3 => _ = c.push(Operation::Remove, &RemoveArgs { target: name("moved") }),
        4 => rename(c, name("link"), name("other")),
        5 => {
            let how = CreateHow::Guarded(AttributeValues { mode: Some(0o644), ..AttributeValues::default() });
            let opened = OpenArgs {
                sequence: 0,
                share_access: share::BOTH | share::WANT_NO_DELEGATION,
                share_deny: 0,
                owner: StateOwner { client: ClientId(0), owner: bytes(&format!("slot {slot}")) },
                create: Some(Box::new(how)),
                claim: OpenClaim::Null(name("made")),
            };
            c.push(Operation::Open, &opened).push(Operation::GetFh, &());
        }
        _ => _ = c.push(Operation::Remove, &RemoveArgs { target: name("other") }),
    }
}

fn rename(c: &mut CompoundBuilder<'_>, old_name: xdr::Bytes, new_name: xdr::Bytes) {
    c.push(Operation::SaveFh, &()).push(Operation::Rename, &RenameArgs { old_name, new_name });
}
