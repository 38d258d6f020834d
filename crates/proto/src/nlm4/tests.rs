//! Golden bytes and round trips of NLM.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn object(bytes: &'static [u8]) -> NetObject {
    NetObject(Bytes::from_static(bytes))
}

#[test]
fn golden_lock_arguments() {
    let args = LockArgs {
        cookie: object(b"c"),
        block: true,
        exclusive: false,
        lock: Lock {
            caller_name: Bytes::from_static(b"host"),
            file: object(b"fh"),
            owner: object(b"own"),
            process: -1,
            offset: 1,
            length: 2,
        },
        reclaim: true,
        state: 5,
    };
    #[rustfmt::skip]
    let golden = [
        0, 0, 0, 1, b'c', 0, 0, 0, // cookie
        0, 0, 0, 1, 0, 0, 0, 0, // block, exclusive
        0, 0, 0, 4, b'h', b'o', b's', b't',
        0, 0, 0, 2, b'f', b'h', 0, 0,
        0, 0, 0, 3, b'o', b'w', b'n', 0,
        0xff, 0xff, 0xff, 0xff, // process
        0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, // range
        0, 0, 0, 1, 0, 0, 0, 5, // reclaim, state
    ];
    assert_eq!(&xdr::to_bytes(&args)[..], golden);
    assert_eq!(xdr::from_bytes::<LockArgs>(golden.to_vec()).unwrap(), args);
}

#[test]
fn golden_test_response_names_the_holder_only_when_denied() {
    let granted = TestResponse { cookie: object(b""), result: TestResult::Other(Status::Granted) };
    assert_eq!(&xdr::to_bytes(&granted)[..], [0; 8]);
    let holder = Holder { exclusive: true, process: 7, owner: object(b"o"), offset: 3, length: 0 };
    let denied = TestResponse { cookie: object(b""), result: TestResult::Denied(holder) };
    let bytes = xdr::to_bytes(&denied);
    assert_eq!(bytes.len(), 4 + 4 + 4 + 4 + 8 + 16);
    assert_eq!(bytes[4..8], [0, 0, 0, 1]);
    assert_eq!(xdr::from_bytes::<TestResponse>(bytes).unwrap(), denied);
}

#[test]
fn numbers_are_their_own_inverse_and_16_to_19_are_unused() {
    for procedure in Procedure::ALL {
        assert_eq!(Procedure::from_number(procedure.number()), Some(*procedure));
    }
    for unused in [16, 17, 18, 19, 24] {
        assert_eq!(Procedure::from_number(unused), None);
    }
}

#[test]
fn statuses_are_the_ten_of_the_standard() {
    for (code, status) in Status::ALL.iter().enumerate() {
        assert_eq!(status.code() as usize, code);
        assert_eq!(Status::from_code(status.code()), *status);
    }
    assert_eq!(Status::ALL.len(), 10);
}

#[test]
fn an_object_above_its_maximum_is_refused() {
    let object = |length: usize| xdr::to_bytes(&Bytes::from(vec![1; length]));
    assert!(xdr::from_bytes::<NetObject>(object(1024)).is_ok());
    assert!(xdr::from_bytes::<NetObject>(object(1025)).is_err());
}

fn objects() -> impl Strategy<Value = NetObject> {
    prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| NetObject(bytes.into()))
}

fn locks() -> impl Strategy<Value = Lock> {
    (objects(), objects(), objects(), any::<i32>(), any::<u64>(), any::<u64>()).prop_map(
        |(name, file, owner, process, offset, length)| Lock {
            caller_name: name.0,
            file,
            owner,
            process,
            offset,
            length,
        },
    )
}

proptest! {
    #[test]
    fn messages_round_trip(
        cookie in objects(), lock in locks(), flags in any::<[bool; 3]>(), state in any::<i32>(), code in 0u32..12,
    ) {
        let [block, exclusive, reclaim] = flags;
        let status = Status::from_code(code);
        let args = LockArgs { cookie: cookie.clone(), block, exclusive, lock: lock.clone(), reclaim, state };
        prop_assert_eq!(xdr::from_bytes::<LockArgs>(xdr::to_bytes(&args)).unwrap(), args);
        let args = CancelArgs { cookie: cookie.clone(), block, exclusive, lock: lock.clone() };
        prop_assert_eq!(xdr::from_bytes::<CancelArgs>(xdr::to_bytes(&args)).unwrap(), args);
        let args = UnlockArgs { cookie: cookie.clone(), lock: lock.clone() };
        prop_assert_eq!(xdr::from_bytes::<UnlockArgs>(xdr::to_bytes(&args)).unwrap(), args);
        let args = TestArgs { cookie: cookie.clone(), exclusive, lock: lock.clone() };
        prop_assert_eq!(xdr::from_bytes::<TestArgs>(xdr::to_bytes(&args)).unwrap(), args);
        let share = Share {
            caller_name: lock.caller_name.clone(), file: lock.file, owner: lock.owner,
            mode: ShareMode::DenyWrite, access: ShareAccess::Both,
        };
        let args = ShareArgs { cookie: cookie.clone(), share, reclaim };
        prop_assert_eq!(xdr::from_bytes::<ShareArgs>(xdr::to_bytes(&args)).unwrap(), args);
        let notify = Notify { name: lock.caller_name, state };
        prop_assert_eq!(xdr::from_bytes::<Notify>(xdr::to_bytes(&notify)).unwrap(), notify);
        let response = ShareResponse { cookie: cookie.clone(), status, sequence: state };
        prop_assert_eq!(xdr::from_bytes::<ShareResponse>(xdr::to_bytes(&response)).unwrap(), response);
        let response = Response { cookie, status };
        prop_assert_eq!(xdr::from_bytes::<Response>(xdr::to_bytes(&response)).unwrap(), response);
    }

    #[test]
    fn no_input_panics(input in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = xdr::from_bytes::<LockArgs>(input.clone());
        let _ = xdr::from_bytes::<ShareArgs>(input.clone());
        let _ = xdr::from_bytes::<TestResponse>(input);
    }
}
