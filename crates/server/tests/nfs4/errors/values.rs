//! Attributes that cannot be asked for, compared or set.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap, Principal, SetTime};
use proto::nfs4::*;

use super::arguments::{create, put, read_dir, root, set};
use super::lab::Lab;
use super::ledger::{Ledger, Raw, Step, step};
use crate::peer::open;

/// `fattr4` with an archive bit, which is not supported.
const ARCHIVE: [u8; 16] = [0, 0, 0, 1, 0, 0, 0x40, 0, 0, 0, 0, 4, 0, 0, 0, 1];

pub fn run(ledger: &Ledger) {
    asked_for_or_compared(ledger);
    set_by_every_operation(ledger);
    not_supported(ledger);
}

fn asked_for_or_compared(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let file = put(&lab.scene.file);
    let write_only = Bitmap::of(&[AttributeId::TimeModifySet]);
    lab.expect(
        &[file.clone(), step(Operation::GetAttr, &GetAttrArgs { wanted: write_only })],
        Status::Invalid,
    );
    lab.expect(&[root(), step(Operation::ReadDir, &read_dir(write_only))], Status::Invalid);
    let size = |size| AttributeValues { size: Some(size), ..Default::default() };
    let written = AttributeValues { time_modify_set: Some(SetTime::Server), ..Default::default() };
    for operation in [Operation::Verify, Operation::NVerify] {
        lab.run(&[file.clone(), step(operation, &size(4))]);
        lab.run(&[file.clone(), step(operation, &size(5))]);
        lab.expect(&[file.clone(), step(operation, &written)], Status::Invalid);
    }
}

/// The operations that set attributes, with these.
fn setting(lab: &Lab<'_>, values: &AttributeValues) -> [Vec<Step>; 3] {
    let creating = open("new", share::BOTH, Some(CreateHow::Guarded(values.clone())));
    [
        vec![put(&lab.scene.file), set(StateId::ANONYMOUS, values)],
        vec![root(), create(CreateType::Directory, b"new", values)],
        vec![root(), step(Operation::Open, &creating)],
    ]
}

fn set_by_every_operation(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let named = Principal::Name(Bytes::from_static(b"nobody@nowhere"));
    let impossible = SetTime::Client(Time { seconds: 0, nanoseconds: 1_000_000_000 });
    let cases = [
        (AttributeValues { owner: Some(named), ..Default::default() }, Status::BadOwner),
        (AttributeValues { fileid: Some(1), ..Default::default() }, Status::Invalid),
        (AttributeValues { mode: Some(1 << 20), ..Default::default() }, Status::Invalid),
        (AttributeValues { time_modify_set: Some(impossible), ..Default::default() }, Status::Invalid),
    ];
    for (values, status) in cases {
        for steps in setting(&lab, &values) {
            lab.expect(&steps, status);
        }
    }
}

fn not_supported(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let none = AttributeValues::default();
    let bare = step(Operation::Verify, &none).arguments;
    let mut cases: Vec<_> = setting(&lab, &none).into();
    cases.extend([Operation::Verify, Operation::NVerify].map(|o| vec![put(&lab.scene.file), step(o, &none)]));
    for mut steps in cases {
        let last = steps.last_mut().unwrap();
        let at = last.arguments.windows(bare.len()).rposition(|window| window == bare);
        // OPEN's owner and claim hold zeroes as well: its values follow the way to create.
        let at = if last.operation == Operation::Open { at_of_create(&last.arguments) } else { at.unwrap() };
        last.arguments.splice(at..at + bare.len(), ARCHIVE);
        lab.expect(&steps, Status::AttributeNotSupported);
    }
    let wrong = step(Operation::Verify, &Raw(&[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0]));
    lab.expect(&[put(&lab.scene.file.clone()), wrong], Status::BadXdr);
}

/// Where the values of a guarded create are: after sequence, access, denial, owner and two discriminants.
fn at_of_create(arguments: &[u8]) -> usize {
    let owner = u32::from_be_bytes(arguments[20..24].try_into().unwrap()) as usize;
    24 + owner.div_ceil(4) * 4 + 8
}
