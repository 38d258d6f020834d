//! Sequences of operations on live state: three machines with sessions, opens, locks and delegations, that
//! retry, disconnect, fall silent and lie.
//!
//! What must hold whatever they do: every reply is well-formed; a retry gets its reply again, byte for byte,
//! or is told that there is none, and a request under way is not begun twice; memory stays within its bound;
//! and when all have fallen silent nothing of them is left.

#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used, reason = "shared by target and test")]

mod machine;
mod operations;
mod retries;
mod world;

use std::collections::BTreeSet;

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs4::*;
use rpc::BoxFuture;
use state::Limits;
use xdr::{Decoder, Encode, Encoder};

use machine::{Machine, SLOTS, Sent};
use operations::Known;
use world::{Line, Served};

const STEPS_MAX: usize = 256;
/// Requests that may be held at a time.
const PENDING_MAX: usize = 8;
/// The one with the most operations.
const MINOR_VERSION: u32 = 2;
/// Longer than every lease, recall and courtesy.
const LONG_MS: u64 = 48 * 3600 * 1000;

/// The bytes that decide.
pub struct Input<'a>(&'a [u8]);

impl Input<'_> {
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte().unwrap_or(0)) % end
    }
}

/// Every operation with every status that it ended with, by their numbers.
pub type Reached = BTreeSet<(u32, u32)>;

pub fn sequences(data: &[u8]) -> Reached {
    let mut input = Input(data);
    let mut play = Play::new(input.below(4) == 0);
    for _ in 0..STEPS_MAX {
        let Some(step) = input.byte() else { break };
        play.step(step, &mut input);
        assert!(play.served.state.session_bytes() <= play.limits.session_bytes_max);
    }
    play.fall_silent();
    play.reached
}

/// A request that is held.
struct Pending {
    machine: usize,
    slot: usize,
    sent: Sent,
    running: BoxFuture<Bytes>,
}

struct Play {
    served: Served,
    limits: Limits,
    /// Memory is so short that slots are given up, and with them their replies.
    is_short: bool,
    machines: Vec<Machine>,
    known: Known,
    pending: Vec<Pending>,
    lines: u64,
    reached: Reached,
}

impl Play {
    fn new(is_short: bool) -> Self {
        let limits = Limits {
            clients_max: 6,
            sessions_per_client_max: 3,
            states_per_client_max: 24,
            delegations_max: 8,
            lapsed_clients_max: 2,
            session_bytes_max: if is_short { 48 << 10 } else { 1 << 20 },
            ..Limits::default()
        };
        let served = Served::new(limits);
        let machines = (0..3).map(|index| Machine::new(index, &served.world)).collect();
        let (known, pending, reached) = (Known::default(), Vec::new(), Reached::new());
        let mut play = Self { served, limits, is_short, machines, known, pending, lines: 3, reached };
        (0..3).for_each(|machine| play.establish(machine));
        play
    }

    /// Does all that a machine must do before it can work.
    fn establish(&mut self, machine: usize) {
        self.exchange_id(machine, &mut Input(&[]));
        self.create_session(machine, &mut Input(&[]));
        self.compound(machine, &mut Input(&[]), |_, _, to| {
            to.push(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs: false });
            vec![Operation::ReclaimComplete]
        });
    }

    fn step(&mut self, step: u8, input: &mut Input<'_>) {
        let machine = input.below(3);
        match step % 32 {
            0 => self.exchange_id(machine, input),
            1 => self.create_session(machine, input),
            2 if input.below(8) == 0 => self.fall_silent(),
            3 if input.below(2) == 0 => self.destroy(machine, input),
            4 => self.bind(machine, input),
            5 => self.disconnect(machine),
            6 => self.machines[machine].line.set_manner(input.byte().unwrap_or(0)),
            7 => {
                self.served.world.advance(1 << input.below(18));
                self.served.tick();
            }
            8..=10 => self.poll(),
            11..=14 => self.retry(machine, input),
            15 => self.lie(machine, input),
            // Mostly a session that was lost is soon replaced.
            16..=23 if self.served.state.session(self.machines[machine].session).is_err() => {
                self.establish(machine);
            }
            _ => self.compound(machine, input, |known, input, to| {
                let mut operations = vec![known.put_handle(input, to)];
                let mut on_file = known.is_about_a_file();
                for _ in 0..=input.below(4) {
                    let operation = known.operation(on_file, input, to);
                    on_file |= operation == Operation::Open;
                    operations.push(operation);
                }
                to.push(Operation::GetFh, &());
                operations.push(Operation::GetFh);
                operations
            }),
        }
    }

    /// Runs a COMPOUND of one operation, without a session. The decoder stands at the body of its success.
    fn alone(&mut self, machine: usize, operation: Operation, arguments: &impl Encode) -> Option<Decoder> {
        let mut to = Encoder::new();
        let mut builder = CompoundBuilder::begin(&mut to, MINOR_VERSION);
        builder.push(operation, arguments);
        builder.finish();
        let from = &self.machines[machine];
        let running = self.served.call(from, to.into_inner().into());
        let reply = running.now_or_never().expect("nothing to wait for");
        self.reach(operation, status(&reply));
        let mut reader = CompoundReader::new(Decoder::new(reply)).expect("well-formed");
        reader.next(operation).expect("well-formed").ok().cloned()
    }

    fn reach(&mut self, operation: Operation, status: Status) {
        self.reached.insert((operation.number(), status.code()));
    }

    fn exchange_id(&mut self, machine: usize, input: &mut Input<'_>) {
        let arguments = self.machines[machine].exchange_id_args(input);
        if let Some(mut body) = self.alone(machine, Operation::ExchangeId, &arguments) {
            let exchanged: ExchangeIdResult = body.get().expect("well-formed");
            assert_eq!(body.remaining(), 0);
            self.machines[machine].exchanged(&exchanged);
        }
    }

    fn create_session(&mut self, machine: usize, input: &mut Input<'_>) {
        let arguments = self.machines[machine].create_session_args(input);
        if let Some(mut body) = self.alone(machine, Operation::CreateSession, &arguments) {
            let created: CreateSessionResult = body.get().expect("well-formed");
            assert_eq!((body.remaining(), created.sequence), (0, arguments.sequence));
            self.machines[machine].created(&created);
        }
    }

    fn destroy(&mut self, machine: usize, input: &mut Input<'_>) {
        // Its own, or another's.
        let victim = &self.machines[if input.below(4) == 0 { input.below(3) } else { machine }];
        let (session, client) = (victim.session, victim.client);
        if input.below(2) == 0 {
            self.alone(machine, Operation::DestroySession, &DestroySessionArgs { session });
        } else {
            self.alone(machine, Operation::DestroyClientId, &DestroyClientIdArgs { client });
        }
    }

    fn bind(&mut self, machine: usize, input: &mut Input<'_>) {
        use DirectionFromClient as D;
        let direction = [D::Fore, D::Back, D::ForeOrBoth, D::BackOrBoth][input.below(4)];
        let session = self.machines[machine].session;
        let arguments = BindConnToSessionArgs { session, direction, rdma: input.below(2) == 0 };
        self.alone(machine, Operation::BindConnToSession, &arguments);
    }

    fn disconnect(&mut self, machine: usize) {
        self.served.disconnect(&self.machines[machine].line);
        self.lines += 1;
        self.machines[machine].line = Line::new(self.lines, &self.served.world);
    }

    /// Sends a new request.
    fn compound(
        &mut self,
        machine: usize,
        input: &mut Input<'_>,
        build: impl FnOnce(&Known, &mut Input<'_>, &mut CompoundBuilder<'_>) -> Vec<Operation>,
    ) {
        let slot = input.below(SLOTS);
        if self.pending.iter().any(|held| (held.machine, held.slot) == (machine, slot)) {
            return;
        }
        let busy = self.pending.iter().filter(|held| held.machine == machine).map(|held| held.slot);
        let highest = busy.chain([slot]).max().unwrap_or(slot);
        self.known.choose(machine, input);
        let from = &self.machines[machine];
        let sequence = from.sequence_args(slot, highest, input.below(2) == 0);
        let mut to = Encoder::new();
        let mut builder = CompoundBuilder::begin(&mut to, MINOR_VERSION);
        builder.push(Operation::Sequence, &sequence);
        let mut operations = vec![Operation::Sequence];
        operations.extend(build(&self.known, input, &mut builder));
        builder.finish();
        let sent = Sent::new(to.into_inner().into(), operations, &sequence);
        let running = self.served.call(from, sent.request.clone());
        self.wait(Pending { machine, slot, sent, running });
    }

    fn wait(&mut self, mut held: Pending) {
        match (&mut held.running).now_or_never() {
            Some(reply) => self.answered(held.machine, held.slot, held.sent, reply),
            None if self.pending.len() < PENDING_MAX => self.pending.push(held),
            // The connection is gone and with it the request; the slot is free again when it is dropped.
            None => {
                let known = self.machines[held.machine].slot(held.slot);
                known.sequence = held.sent.sequence;
                known.last = None;
            }
        }
    }

    fn answered(&mut self, machine: usize, slot: usize, mut sent: Sent, reply: Bytes) {
        for (operation, outcome) in sent.check(machine, &reply, &mut self.known) {
            self.reach(operation, outcome);
        }
        if sent.sequenced(&reply) && self.machines[machine].session == sent.session {
            sent.reply = Some(reply);
            let known = self.machines[machine].slot(slot);
            known.sequence = sent.sequence;
            known.last = Some(sent);
        }
    }

    /// Goes on with what is held.
    fn poll(&mut self) {
        self.served.world.poll_tasks();
        for held in std::mem::take(&mut self.pending) {
            self.wait(held);
        }
    }

    /// Everybody falls silent for long.
    fn fall_silent(&mut self) {
        for line in self.machines.iter().map(|machine| &machine.line) {
            line.set_manner(0);
        }
        for _ in 0..8 {
            self.served.world.advance(LONG_MS / 8);
            self.served.tick();
            self.poll();
        }
        assert!(self.pending.is_empty(), "who waits is answered some time");
        assert_eq!(self.served.world.poll_tasks(), 0, "nothing is left to do");
        let state = &self.served.state;
        assert_eq!((state.session_bytes(), state.grant_count()), (0, 0));
    }
}

fn status(reply: &Bytes) -> Status {
    Decoder::new(reply.clone()).get().expect("well-formed")
}
