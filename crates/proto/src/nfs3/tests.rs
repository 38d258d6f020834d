//! Golden bytes and round trips of NFSv3.

use bytes::Bytes;
use proptest::prelude::*;
use xdr::{Decode, Encode, List};

use super::*;

fn round_trip<T: Decode + Encode + PartialEq + std::fmt::Debug>(item: &T) {
    assert_eq!(&xdr::from_bytes::<T>(xdr::to_bytes(item)).unwrap(), item);
}

fn handle(bytes: &[u8]) -> FileHandle {
    FileHandle::new(bytes).unwrap()
}

fn some_attributes() -> FileAttributes {
    FileAttributes {
        kind: FileType::Regular,
        mode: 0o644,
        links: 1,
        uid: 2,
        gid: 3,
        size: 4,
        used: 5,
        device: Device { major: 6, minor: 7 },
        fsid: 8,
        fileid: 9,
        accessed: Time { seconds: 10, nanoseconds: 11 },
        modified: Time { seconds: 12, nanoseconds: 13 },
        changed: Time { seconds: 14, nanoseconds: 15 },
    }
}

#[test]
fn golden_attributes_are_84_bytes() {
    #[rustfmt::skip]
    let golden = [
        0, 0, 0, 1, 0, 0, 1, 0xa4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, // type, mode, links, uid, gid
        0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, // size, used
        0, 0, 0, 6, 0, 0, 0, 7, // device
        0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9, // fsid, fileid
        0, 0, 0, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 0, 0, 13, 0, 0, 0, 14, 0, 0, 0, 15, // times
    ];
    assert_eq!(golden.len(), 84);
    assert_eq!(&xdr::to_bytes(&some_attributes())[..], golden);
    round_trip(&some_attributes());
}

#[test]
fn golden_lookup_arguments() {
    let args = LookupArgs { what: DirOpArgs { dir: handle(&[1, 2, 3]), name: Bytes::from_static(b"ab") } };
    assert_eq!(&xdr::to_bytes(&args)[..], [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 2, b'a', b'b', 0, 0]);
    round_trip(&args);
}

#[test]
fn golden_set_attributes_say_how_a_time_is_set() {
    let set = SetAttributes {
        mode: Some(0o600),
        size: Some(1),
        accessed: SetTime::Now,
        modified: SetTime::To(Time { seconds: 2, nanoseconds: 3 }),
        ..SetAttributes::default()
    };
    #[rustfmt::skip]
    let golden = [
        0, 0, 0, 1, 0, 0, 1, 0x80, // mode
        0, 0, 0, 0, 0, 0, 0, 0, // neither uid nor gid
        0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, // size
        0, 0, 0, 1, // server time
        0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, // client time
    ];
    assert_eq!(&xdr::to_bytes(&set)[..], golden);
    round_trip(&set);
}

#[test]
fn golden_write_arguments() {
    let args = WriteArgs {
        file: handle(&[9]),
        offset: 1,
        count: 3,
        stable: StableHow::FileSync,
        data: Bytes::from_static(b"xyz"),
    };
    #[rustfmt::skip]
    let golden = [
        0, 0, 0, 1, 9, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 2,
        0, 0, 0, 3, b'x', b'y', b'z', 0,
    ];
    assert_eq!(&xdr::to_bytes(&args)[..], golden);
    round_trip(&args);
}

#[test]
fn golden_replies_carry_the_status_then_the_body() {
    type Reply = super::Reply<SetAttrOk, SetAttrFail>;
    let fail = Reply::Err(Status::NotSync, SetAttrFail { object: WccData::NONE });
    assert_eq!(&xdr::to_bytes(&fail)[..], [0, 0, 0x27, 0x12, 0, 0, 0, 0, 0, 0, 0, 0]);
    round_trip(&fail);
    let before = WccAttributes { size: 1, modified: Time::default(), changed: Time::default() };
    let object = WccData { before: Some(before), after: Some(some_attributes()) };
    let ok = Reply::Ok(SetAttrOk { object });
    assert_eq!(xdr::to_bytes(&ok).len(), 4 + (4 + 24) + (4 + 84));
    round_trip(&ok);
}

#[test]
fn a_getattr_failure_is_the_status_alone() {
    let fail = Reply::<GetAttrOk, ()>::Err(Status::Stale, ());
    assert_eq!(&xdr::to_bytes(&fail)[..], [0, 0, 0, 70]);
    round_trip(&fail);
}

#[test]
fn a_handle_above_64_bytes_is_refused() {
    let encoded = |length: usize| xdr::to_bytes(&Bytes::from(vec![1; length]));
    assert_eq!(xdr::from_bytes::<FileHandle>(encoded(64)).unwrap().as_bytes(), [1; 64]);
    assert!(xdr::from_bytes::<FileHandle>(encoded(65)).is_err());
    assert!(FileHandle::new(&[1; 65]).is_none());
}

#[test]
fn a_name_too_long_for_any_file_system_still_decodes() {
    let args = |length: usize| {
        let name = Bytes::from(vec![b'n'; length]);
        xdr::to_bytes(&LookupArgs { what: DirOpArgs { dir: handle(&[1]), name } })
    };
    assert_eq!(xdr::from_bytes::<LookupArgs>(args(4096)).unwrap().what.name.len(), 4096);
    assert!(xdr::from_bytes::<LookupArgs>(args(4097)).is_err());
}

#[test]
fn a_type_that_mknod_does_not_make_still_decodes() {
    let place = DirOpArgs { dir: handle(&[1]), name: Bytes::from_static(b"n") };
    for number in [1, 2, 5, 99] {
        round_trip(&MkNodArgs { place: place.clone(), what: MkNodData::Other(number) });
    }
}

#[test]
fn statuses_are_their_own_inverse() {
    for status in Status::ALL {
        assert_eq!(Status::from_code(status.code()), *status);
        assert!(status.rfc_name().starts_with("NFS3"));
    }
    assert_eq!(Status::ALL.len(), 29);
    assert_eq!(Status::from_code(12345), Status::Unknown(12345));
}

fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..=max).prop_map(Bytes::from)
}

fn handles() -> impl Strategy<Value = FileHandle> {
    prop::collection::vec(any::<u8>(), 0..=64).prop_map(|bytes| handle(&bytes))
}

fn times() -> impl Strategy<Value = Time> {
    any::<(u32, u32)>().prop_map(|(seconds, nanoseconds)| Time { seconds, nanoseconds })
}

fn set_times() -> impl Strategy<Value = SetTime> {
    prop_oneof![Just(SetTime::Keep), Just(SetTime::Now), times().prop_map(SetTime::To)]
}

fn sets() -> impl Strategy<Value = SetAttributes> {
    let numbers = any::<(Option<u32>, Option<u32>, Option<u32>, Option<u64>)>();
    (numbers, set_times(), set_times()).prop_map(|((mode, uid, gid, size), accessed, modified)| {
        SetAttributes { mode, uid, gid, size, accessed, modified }
    })
}

fn post_op() -> impl Strategy<Value = PostOpAttributes> {
    let kinds = prop::sample::select(vec![
        FileType::Regular,
        FileType::Directory,
        FileType::Block,
        FileType::Character,
        FileType::Symlink,
        FileType::Socket,
        FileType::Fifo,
    ]);
    prop::option::of((kinds, any::<[u32; 4]>(), any::<[u64; 4]>(), times()).prop_map(|(kind, n, l, time)| {
        let [mode, links, uid, gid] = n;
        let [size, used, fsid, fileid] = l;
        let rest = some_attributes();
        FileAttributes { kind, mode, links, uid, gid, size, used, fsid, fileid, changed: time, ..rest }
    }))
}

fn wccs() -> impl Strategy<Value = WccData> {
    let before = (any::<u64>(), times(), times()).prop_map(|(size, modified, changed)| WccAttributes {
        size,
        modified,
        changed,
    });
    (prop::option::of(before), post_op()).prop_map(|(before, after)| WccData { before, after })
}

fn places() -> impl Strategy<Value = DirOpArgs> {
    (handles(), bytes(300)).prop_map(|(dir, name)| DirOpArgs { dir, name })
}

proptest! {
    #[test]
    fn arguments_round_trip(
        object in handles(), place in places(), other in places(), set in sets(), guard in prop::option::of(times()),
        numbers in any::<(u32, u64, [u8; 8])>(), data in bytes(64),
    ) {
        let (count, offset, verifier) = numbers;
        round_trip(&GetAttrArgs { object });
        round_trip(&SetAttrArgs { object, attributes: set, guard });
        round_trip(&LookupArgs { what: place.clone() });
        round_trip(&AccessArgs { object, access: count });
        round_trip(&ReadLinkArgs { symlink: object });
        round_trip(&ReadArgs { file: object, offset, count });
        for stable in [StableHow::Unstable, StableHow::DataSync, StableHow::FileSync] {
            round_trip(&WriteArgs { file: object, offset, count, stable, data: data.clone() });
        }
        let exclusive = CreateHow::Exclusive(CreateVerifier(verifier));
        for how in [CreateHow::Unchecked(set), CreateHow::Guarded(set), exclusive] {
            round_trip(&CreateArgs { place: place.clone(), how });
        }
        round_trip(&MkDirArgs { place: place.clone(), attributes: set });
        round_trip(&SymlinkArgs { place: place.clone(), attributes: set, target: data });
        let device = DeviceData { attributes: set, device: Device { major: count, minor: 1 } };
        for what in [
            MkNodData::Block(device), MkNodData::Character(device), MkNodData::Socket(set), MkNodData::Fifo(set),
        ] {
            round_trip(&MkNodArgs { place: place.clone(), what });
        }
        round_trip(&RemoveArgs { object: place.clone() });
        round_trip(&RmDirArgs { object: place.clone() });
        round_trip(&LinkArgs { file: object, link: place.clone() });
        round_trip(&RenameArgs { from: place, to: other });
        let verifier = CookieVerifier(verifier);
        round_trip(&ReadDirArgs { dir: object, cookie: offset, verifier, count });
        round_trip(&ReadDirPlusArgs { dir: object, cookie: offset, verifier, dir_count: count, max_count: 7 });
        round_trip(&FsStatArgs { root: object });
        round_trip(&FsInfoArgs { root: object });
        round_trip(&PathConfArgs { object });
        round_trip(&CommitArgs { file: object, offset, count });
    }

    #[test]
    fn results_round_trip(
        object in handles(), attributes in post_op(), wcc in wccs(), name in bytes(255), flag in any::<bool>(),
        numbers in any::<(u32, u64, [u8; 8])>(),
    ) {
        let (count, big, verifier) = numbers;
        let verifier = WriteVerifier(verifier);
        round_trip(&LookupOk { object, attributes, dir: attributes });
        round_trip(&AccessOk { attributes, access: count });
        round_trip(&ReadLinkOk { attributes, target: name.clone() });
        round_trip(&ReadOk { attributes, count, eof: flag, data: name.clone() });
        round_trip(&WriteOk { file: wcc, count, committed: StableHow::Unstable, verifier });
        round_trip(&CreateOk { object: flag.then_some(object), attributes, dir: wcc });
        round_trip(&RenameFail { from_dir: wcc, to_dir: WccData::NONE });
        round_trip(&LinkOk { attributes, dir: wcc });
        round_trip(&CommitOk { file: wcc, verifier });
        let entry = EntryPlus {
            fileid: big, name: name.clone(), cookie: big, attributes, object: flag.then_some(object),
        };
        let verifier = CookieVerifier(verifier.0);
        let entries = List(vec![entry; 3]);
        round_trip(&ReadDirPlusOk { dir: attributes, verifier, entries, eof: flag });
        let entries = List(vec![Entry { fileid: big, name, cookie: big }; 2]);
        round_trip(&ReadDirOk { dir: attributes, verifier, entries, eof: flag });
    }

    #[test]
    fn no_input_panics(input in bytes(512)) {
        let _ = xdr::from_bytes::<RenameArgs>(input.clone());
        let _ = xdr::from_bytes::<MkNodArgs>(input.clone());
        let _ = xdr::from_bytes::<CreateArgs>(input.clone());
        let _ = xdr::from_bytes::<Reply<ReadDirPlusOk, ReadDirPlusFail>>(input.clone());
        let _ = xdr::from_bytes::<Reply<ReadOk, ReadFail>>(input);
    }
}
