//! Golden bytes and round trips of MOUNT.

use bytes::Bytes;
use proptest::prelude::*;
use xdr::List;

use super::*;
use crate::nfs3::FileHandle;

#[test]
fn golden_mnt_success() {
    let handle = FileHandle::new(&[0xaa, 0xbb]).unwrap();
    let reply = MntReply::Ok(MntOk { handle, flavors: vec![1, 0] });
    let golden = [0, 0, 0, 0, 0, 0, 0, 2, 0xaa, 0xbb, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(&xdr::to_bytes(&reply)[..], golden);
    assert_eq!(xdr::from_bytes::<MntReply>(golden.to_vec()).unwrap(), reply);
}

#[test]
fn golden_mnt_failure_is_the_status_alone() {
    let reply = MntReply::Err(Status::AccessDenied);
    assert_eq!(&xdr::to_bytes(&reply)[..], [0, 0, 0, 13]);
    assert_eq!(xdr::from_bytes::<MntReply>(vec![0, 0, 0, 13]).unwrap(), reply);
}

#[test]
fn golden_export_list_is_a_chain_of_chains() {
    let groups = List(vec![Group(Bytes::from_static(b"*"))]);
    let exports = ExportList(List(vec![Export { dir: Bytes::from_static(b"/"), groups }]));
    let golden = [
        0, 0, 0, 1, 0, 0, 0, 1, b'/', 0, 0, 0, // an export and its path
        0, 0, 0, 1, 0, 0, 0, 1, b'*', 0, 0, 0, // a group
        0, 0, 0, 0, 0, 0, 0, 0, // no more groups, no more exports
    ];
    assert_eq!(&xdr::to_bytes(&exports)[..], golden);
    assert_eq!(xdr::from_bytes::<ExportList>(golden.to_vec()).unwrap(), exports);
}

#[test]
fn statuses_are_their_own_inverse() {
    for status in Status::ALL {
        assert_eq!(Status::from_code(status.code()), *status);
    }
    assert_eq!(Status::ALL.len(), 10);
}

#[test]
fn path_above_the_standard_decodes_and_above_the_bound_does_not() {
    let path = |length: usize| xdr::to_bytes(&Bytes::from(vec![b'p'; length]));
    assert_eq!(xdr::from_bytes::<DirPath>(path(4096)).unwrap().0.len(), 4096);
    assert!(xdr::from_bytes::<DirPath>(path(4097)).is_err());
}

fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..=max).prop_map(Bytes::from)
}

proptest! {
    #[test]
    fn lists_round_trip(mounts in prop::collection::vec((bytes(255), bytes(64)), 0..8)) {
        let list = MountList(List(mounts.into_iter().map(|(host, dir)| Mount { host, dir }).collect()));
        prop_assert_eq!(xdr::from_bytes::<MountList>(xdr::to_bytes(&list)).unwrap(), list);
    }

    #[test]
    fn no_input_panics(input in bytes(256)) {
        let _ = xdr::from_bytes::<MntReply>(input.clone());
        let _ = xdr::from_bytes::<MountList>(input.clone());
        let _ = xdr::from_bytes::<ExportList>(input);
    }
}
