//! Attributes: which there are, which can be set, and what a wrong request is told (RFC 8881 §5, §18.7,
//! §18.30).

use proto::nfs3;
use proto::nfs4::attributes::{
    AttributeId, AttributeValues, Bitmap, MaskedMode, Principal, SetTime, charset,
};
use proto::nfs4::*;
use xdr::{Encode, Encoder};

use crate::peer::{Peer, TestServer, size_only};

/// What the memory back end has, by number (RFC 8881 §5.6, §5.7).
const READABLE: &[u32] = &[
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 26, 27, 28, 29, 30, 31, 33,
    34, 35, 36, 37, 41, 42, 43, 44, 45, 47, 50, 51, 52, 53, 55, 75, 76,
];
const WRITE_ONLY: &[u32] = &[48, 54, 74];
const SETTABLE: &[u32] = &[4, 33, 36, 37, 48, 54, 74];
const NUMBER_MAX: u32 = 127;

/// A `bitmap4` of any numbers, and of a `fattr4` the list of values.
struct Raw<'a>(&'a [u32], Option<&'a [u8]>);

impl Encode for Raw<'_> {
    fn encode(&self, to: &mut Encoder) {
        let mut words = [0u32; 4];
        for number in self.0 {
            words[(number / 32) as usize] |= 1 << (number % 32);
        }
        to.length(words.len());
        words.iter().for_each(|word| to.u32(*word));
        if let Some(values) = self.1 {
            to.opaque(values);
        }
    }
}

fn get(peer: &mut Peer, file: &FileHandle, numbers: &[u32]) -> Result<AttributeValues, Status> {
    let mut results = peer.on(file, Operation::GetAttr, &Raw(numbers, None));
    match results.next() {
        (_, Status::Ok) => Ok(results.rest().get().unwrap()),
        (_, status) => Err(status),
    }
}

fn set(peer: &mut Peer, file: &FileHandle, values: &impl Encode) -> (Status, Bitmap) {
    let mut to = Encoder::new();
    to.put(&SetAttrArgs { state_id: StateId::ANONYMOUS });
    to.put(values);
    let mut results = peer.on(file, Operation::SetAttr, &Verbatim(to.into_inner()));
    let (_, status) = results.next();
    (status, results.rest().get::<SetAttrResult>().unwrap().attributes_set)
}

struct Verbatim(Vec<u8>);

impl Encode for Verbatim {
    fn encode(&self, to: &mut Encoder) {
        to.fixed(&self.0);
    }
}

fn numbers(values: &AttributeValues) -> Vec<u32> {
    values.present().numbers().collect()
}

/// The encoded values of a `fattr4`, without its bitmap.
fn list_of(values: &AttributeValues) -> Vec<u8> {
    let mut from = xdr::Decoder::new(xdr::to_bytes(values));
    from.get::<Bitmap>().unwrap();
    from.opaque(4096).unwrap().to_vec()
}

#[test]
fn every_attribute_that_is_supported_is_answered_alone_and_no_other() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, _) = peer.create("f");
    for number in 0..=NUMBER_MAX {
        let answered = get(&mut peer, &file, &[number]).map(|values| numbers(&values));
        if WRITE_ONLY.contains(&number) {
            assert_eq!(answered, Err(Status::Invalid), "attribute {number}");
        } else {
            let expected = if READABLE.contains(&number) { vec![number] } else { vec![] };
            assert_eq!(answered, Ok(expected), "attribute {number}");
        }
    }
}

#[test]
fn all_together_are_what_supported_attrs_says() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, _) = peer.create("f");
    let all: Vec<u32> = (0..=NUMBER_MAX).filter(|number| !WRITE_ONLY.contains(number)).collect();
    let values = get(&mut peer, &file, &all).unwrap();
    assert_eq!(numbers(&values), READABLE);
    let mut supported: Vec<u32> = [READABLE, WRITE_ONLY].concat();
    supported.sort_unstable();
    assert_eq!(values.supported_attrs.unwrap().numbers().collect::<Vec<_>>(), supported);
    assert_eq!(values.suppattr_exclcreat.unwrap().numbers().collect::<Vec<_>>(), [4, 33, 36, 37]);
    assert_eq!((values.rdattr_error, values.fh_expire_type), (Some(Status::Ok), Some(0)));
    assert_eq!((values.acl_support, values.named_attr), (Some(0), Some(false)));
    assert_eq!((values.case_insensitive, values.case_preserving), (Some(false), Some(true)));
    assert_eq!((values.unique_handles, values.homogeneous), (Some(true), Some(true)));
    assert_eq!((values.no_trunc, values.can_set_time), (Some(true), Some(true)));
    assert_eq!((values.max_name, values.fs_charset_cap), (Some(255), Some(charset::CONTAINS_NON_UTF8)));
    assert_eq!((values.file_handle.unwrap(), values.fileid), (file, values.mounted_on_fileid));
}

#[test]
fn a_directory_of_the_host_has_what_it_says_for_every_type() {
    let directory = tempfile::tempdir().unwrap();
    let mut peer = Peer::new(&TestServer::local(directory.path()), 1);
    let kinds =
        [CreateType::Directory, CreateType::Symlink("target".into()), CreateType::Socket, CreateType::Fifo];
    let mut objects = vec![peer.create("f").0];
    for (index, kind) in kinds.into_iter().enumerate() {
        let made = CreateArgs { kind, name: format!("{index}").into() };
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &())
                    .push(Operation::Create, &(made, AttributeValues::default()))
                    .push(Operation::GetFh, &());
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        results.body::<CreateResult>(Operation::Create);
        objects.push(results.body::<GetFhResult>(Operation::GetFh).object);
    }
    let all: Vec<u32> = (0..=NUMBER_MAX).filter(|number| !WRITE_ONLY.contains(number)).collect();
    for object in &objects {
        let values = get(&mut peer, object, &all).unwrap();
        let mut supported: Vec<u32> = values.supported_attrs.unwrap().numbers().collect();
        supported.retain(|number| !WRITE_ONLY.contains(number));
        assert_eq!(numbers(&values), supported);
        // time_create is not recorded everywhere.
        assert!(READABLE.iter().all(|number| *number == 50 || supported.contains(number)));
        assert_eq!(values.file_handle.as_ref(), Some(object));
    }
}

#[test]
fn the_mode_of_a_symlink_is_left_and_not_among_those_that_were_set() {
    let directory = tempfile::tempdir().unwrap();
    let modified = Some(SetTime::Client(Time { seconds: 5, nanoseconds: 0 }));
    let both = AttributeValues { mode: Some(0o700), time_modify_set: modified, ..AttributeValues::default() };
    for server in [TestServer::new(), TestServer::local(directory.path())] {
        let mut peer = Peer::new(&server, 1);
        let mut make = |kind, name: &'static str, values: &AttributeValues| {
            let made = CreateArgs { kind, name: name.into() };
            let mut results = peer
                .compound(|c| {
                    c.push(Operation::PutRootFh, &())
                        .push(Operation::Create, &(made, values.clone()))
                        .push(Operation::GetFh, &());
                })
                .sequenced();
            results.ok(Operation::PutRootFh);
            let set = results.body::<CreateResult>(Operation::Create).attributes_set;
            (results.body::<GetFhResult>(Operation::GetFh).object, set)
        };
        let times = Bitmap::of(&[AttributeId::TimeModifySet]);
        let (link, set_at_creation) = make(CreateType::Symlink("target".into()), "link", &both);
        assert_eq!(set_at_creation, times);
        let sized = AttributeValues { size: Some(0), mode: Some(0o700), ..AttributeValues::default() };
        let (_, set_at_creation) = make(CreateType::Directory, "directory", &sized);
        assert_eq!(set_at_creation, Bitmap::of(&[AttributeId::Mode]), "a directory has no size to set");
        assert_eq!(set(&mut peer, &link, &both), (Status::Ok, times));
        let mode = AttributeValues { mode: Some(0o700), ..AttributeValues::default() };
        let before = peer.attributes(&link, &[AttributeId::Mode, AttributeId::Change]);
        assert_eq!(set(&mut peer, &link, &mode), (Status::Ok, Bitmap::EMPTY));
        let masked = MaskedMode { value: 0o700, mask: 0o700 };
        let masked = AttributeValues { mode_set_masked: Some(masked), ..AttributeValues::default() };
        assert_eq!(set(&mut peer, &link, &masked), (Status::Ok, Bitmap::EMPTY));
        assert_eq!(peer.attributes(&link, &[AttributeId::Mode, AttributeId::Change]), before);
        assert_eq!(before.mode, Some(0o777));
        let object = nfs3::FileHandle::new(&link.0).unwrap();
        let attributes = nfs3::SetAttributes { mode: Some(0o700), ..nfs3::SetAttributes::default() };
        let done = peer.nfs3(&nfs3::SetAttrArgs { object, attributes, guard: None });
        assert_eq!(done.object.after.unwrap().mode, 0o777);
    }
}

/// What it is to set or compare an attribute that is not there: one of a later minor version is not even
/// known (RFC 8178 §8.2).
fn not_there(number: u32) -> Status {
    if number >= 77 { Status::Invalid } else { Status::AttributeNotSupported }
}

#[test]
fn only_what_can_be_set_is_taken_by_setattr() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, _) = peer.create("f");
    for number in 0..=NUMBER_MAX {
        if SETTABLE.contains(&number) {
            continue;
        }
        let (status, list) = if READABLE.contains(&number) {
            (Status::Invalid, list_of(&get(&mut peer, &file, &[number]).unwrap()))
        } else {
            (not_there(number), vec![])
        };
        let answer = set(&mut peer, &file, &Raw(&[number], Some(&list)));
        assert_eq!(answer, (status, Bitmap::EMPTY), "attribute {number}");
    }
}

#[test]
fn set_attributes_are_read_back() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, _) = peer.create("f");
    let time = Time { seconds: -5, nanoseconds: 999_999_999 };
    let wanted = AttributeValues {
        size: Some(12_345),
        mode: Some(0o4751),
        owner: Some(Principal::Number(1000)),
        owner_group: Some(Principal::Number(2000)),
        time_access_set: Some(SetTime::Client(time)),
        time_modify_set: Some(SetTime::Client(Time { seconds: 1 << 33, nanoseconds: 1 })),
        ..AttributeValues::default()
    };
    assert_eq!(set(&mut peer, &file, &wanted), (Status::Ok, wanted.present()));
    let found = get(&mut peer, &file, READABLE).unwrap();
    assert_eq!((found.size, found.mode), (wanted.size, wanted.mode));
    assert_eq!((&found.owner, &found.owner_group), (&wanted.owner, &wanted.owner_group));
    assert_eq!(found.time_access, Some(time));
    assert_eq!(found.time_modify, Some(Time { seconds: 1 << 33, nanoseconds: 1 }));
    let masked = |value, mask| AttributeValues {
        mode_set_masked: Some(MaskedMode { value, mask }),
        ..AttributeValues::default()
    };
    assert_eq!(set(&mut peer, &file, &masked(0o1000, 0o7000)).0, Status::Ok);
    assert_eq!(get(&mut peer, &file, &[33]).unwrap().mode, Some(0o1751));
    for wrong in [
        masked(0o10_000, 0),
        masked(0, 0o10_000),
        AttributeValues { mode: Some(0), ..masked(0, 0) },
        AttributeValues { mode: Some(0o10_000), ..AttributeValues::default() },
        AttributeValues {
            time_modify_set: Some(SetTime::Client(Time { seconds: 0, nanoseconds: 1_000_000_000 })),
            ..AttributeValues::default()
        },
    ] {
        assert_eq!(set(&mut peer, &file, &wrong), (Status::Invalid, Bitmap::EMPTY), "{wrong:?}");
    }
    assert_eq!(get(&mut peer, &file, &[33]).unwrap().mode, Some(0o1751));
}

#[test]
fn a_part_of_the_mode_is_not_set_on_what_is_being_made() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let masked = AttributeValues {
        mode_set_masked: Some(MaskedMode { value: 0, mask: 0 }),
        ..AttributeValues::default()
    };
    let directory = CreateArgs { kind: CreateType::Directory, name: "d".into() };
    let mut make = |values: &AttributeValues| {
        peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Create, &(directory.clone(), values.clone()));
        })
        .status
    };
    assert_eq!(make(&masked), Status::Invalid);
    assert_eq!(make(&AttributeValues::default()), Status::Ok);
}

#[test]
fn verify_compares_every_attribute_that_can_be_read() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, _) = peer.create("f");
    for number in 0..=NUMBER_MAX {
        let (expected, list) = if number == AttributeId::RdattrError as u32 {
            (Status::Invalid, vec![0; 4])
        } else if WRITE_ONLY.contains(&number) {
            (Status::Invalid, vec![0; if number == 74 { 8 } else { 4 }])
        } else if READABLE.contains(&number) {
            (Status::Ok, list_of(&get(&mut peer, &file, &[number]).unwrap()))
        } else {
            (not_there(number), vec![])
        };
        let same = Raw(&[number], Some(&list));
        assert_eq!(peer.on(&file, Operation::Verify, &same).status, expected, "attribute {number}");
        let negated = if expected == Status::Ok { Status::Same } else { expected };
        assert_eq!(peer.on(&file, Operation::NVerify, &same).status, negated, "attribute {number}");
    }
}

#[test]
fn looked_up_object_needs_no_second_request_for_attributes() {
    let (server, trigger) = TestServer::faulty();
    let mut peer = Peer::new(&server, 1);
    peer.create("file");
    let (name, wanted) = (LookupArgs { name: "file".into() }, GetAttrArgs { wanted: size_only() });
    let mut looks = |between: &[Operation]| {
        trigger.take_calls();
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &name);
                for operation in between {
                    c.push(*operation, &());
                }
                c.push(Operation::GetAttr, &wanted);
            })
            .sequenced();
        for operation in [&[Operation::PutRootFh, Operation::Lookup], between].concat() {
            results.ok(operation);
        }
        assert_eq!(AttributeValues::decode(results.ok(Operation::GetAttr)).unwrap().size, Some(0));
        trigger.take_calls().into_iter().filter(|call| *call == "attributes").count()
    };
    assert_eq!(looks(&[]), 0);
    assert_eq!(looks(&[Operation::SaveFh]), 1, "behind any other operation it may have changed");
}
