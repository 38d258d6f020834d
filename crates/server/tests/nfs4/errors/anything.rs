//! Every operation where it is not expected, and requests made of pieces of others: whatever they end with
//! must be listed.

use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;
use state::Limits;

use super::arguments::{put, root, set};
use super::lab::{Lab, Options};
use super::ledger::{Ledger, Step, step};
use crate::peer::Peer;

/// Servers that get pieces of requests, in memory and over a directory.
const SERVERS: usize = 150;
const LOCAL_SERVERS: usize = 20;
/// COMPOUNDs after which a new server begins, for the old one has lost its objects and state.
const COMPOUNDS_PER_SERVER: usize = 40;

pub fn run(ledger: &Ledger) {
    every_operation_by_a_user(ledger);
    every_operation_of_other_servers(ledger);
    pieces(ledger);
}

fn operations(ledger: &Ledger) -> Vec<Operation> {
    let all = ledger.operations().into_iter();
    all.filter(|operation| *operation != Operation::Sequence).collect()
}

/// A user who owns nothing, without state: stateids are those of somebody else.
fn every_operation_by_a_user(ledger: &Ledger) {
    for operation in operations(ledger) {
        let lab = Lab::new(ledger);
        let mut user = lab.client(7, 1000);
        ledger.run(&mut user, &lab.scene.good(operation));
        // The same where the user may not even look.
        let mut lab = Lab::new(ledger);
        let mut user = lab.client(7, 1000);
        let closed = AttributeValues { mode: Some(0), ..Default::default() };
        for object in [lab.scene.directory.clone(), lab.scene.file.clone()] {
            lab.expect(&[put(&object), set(StateId::ANONYMOUS, &closed)], Status::Ok);
        }
        ledger.run(&mut user, &lab.scene.good(operation));
    }
}

/// Servers that are read-only, have room for nothing, or wait for clients to reclaim, or that one may not
/// use.
fn every_operation_of_other_servers(ledger: &Ledger) {
    let all: [fn() -> Options; 4] = [
        || Options { read_only: true, ..Options::default() },
        || Options { closed: true, ..Options::default() },
        || Options { known: vec!["client 5"], ..Options::default() },
        || Options { limits: Limits { states_per_client_max: 0, ..Limits::default() }, ..Options::default() },
    ];
    for operation in operations(ledger) {
        for options in all {
            let mut lab = Lab::with(ledger, &options());
            let steps = lab.scene.good(operation);
            lab.run(&steps);
        }
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// Operations in any order, on any object, some with a word of their arguments changed.
fn pieces(ledger: &Ledger) {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..SERVERS {
        try_pieces(&mut Lab::new(ledger), &mut dice);
    }
    // The same where the errors are those of a kernel.
    for _ in 0..LOCAL_SERVERS {
        let directory = tempfile::tempdir().unwrap();
        try_pieces(&mut Lab::local(ledger, directory.path()), &mut dice);
    }
}

fn try_pieces(lab: &mut Lab<'_>, dice: &mut Dice) {
    let (ledger, operations) = (lab.ledger, operations(lab.ledger));
    let mut user = lab.client(7, 1000);
    let mut now_ms = 0;
    for _ in 0..COMPOUNDS_PER_SERVER {
        let mut steps: Vec<_> = (0..1 + dice.below(8)).map(|_| piece(lab, dice, &operations)).collect();
        // Only of the last: changed arguments may be longer or shorter, and what follows them no operation.
        spoil(steps.last_mut().unwrap(), dice);
        let peer = if dice.below(4) == 0 { &mut user } else { &mut lab.peer };
        if !send(ledger, peer, &steps) {
            break;
        }
        now_ms += dice.below(10_000) as u64;
        lab.server.at(now_ms);
    }
}

/// False when the session is gone or the request waits for somebody.
fn send(ledger: &Ledger, peer: &mut Peer, steps: &[Step]) -> bool {
    let Some(results) = ledger.try_run(peer, steps) else { return false };
    results.count > 1 || results.status == Status::Ok
}

fn piece(lab: &Lab<'_>, dice: &mut Dice, operations: &[Operation]) -> Step {
    let scene = &lab.scene;
    match dice.below(10) {
        0..2 => root(),
        2..5 => {
            let all = [
                &scene.file,
                &scene.delegated,
                &scene.locked,
                &scene.directory,
                &scene.link,
                &scene.pipe,
                &lab.elsewhere,
            ];
            put(all[dice.below(all.len())])
        }
        5 => step(Operation::SaveFh, &()),
        _ => scene.good(operations[dice.below(operations.len())]).pop().unwrap(),
    }
}

/// Changes a word of the arguments, or cuts them off, half the time.
fn spoil(last: &mut Step, dice: &mut Dice) {
    let words = last.arguments.len() / 4;
    if words == 0 || dice.below(2) == 0 {
        return;
    }
    let word = dice.below(words) * 4;
    if dice.below(8) == 0 {
        last.arguments.truncate(word);
        return;
    }
    let values = [0, 1, 2, 3, 8, 0x100, u32::MAX - 1, u32::MAX];
    let value = values[dice.below(values.len())].to_be_bytes();
    last.arguments[word..word + 4].copy_from_slice(&value);
}
