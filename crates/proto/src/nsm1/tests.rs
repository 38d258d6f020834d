//! Golden bytes of the status monitor.

use bytes::Bytes;

use super::*;

#[test]
fn golden_notification() {
    let change = StatChange { name: Bytes::from_static(b"ann"), state: 5 };
    let golden = [0, 0, 0, 3, b'a', b'n', b'n', 0, 0, 0, 0, 5];
    assert_eq!(&xdr::to_bytes(&change)[..], golden);
    assert_eq!(xdr::from_bytes::<StatChange>(golden.to_vec()).unwrap(), change);
}

#[test]
fn golden_monitor_arguments() {
    let call_back = CallBack { name: Bytes::from_static(b"b"), program: 1, version: 2, procedure: 3 };
    let args = MonitorArgs { id: MonitorId { name: Bytes::from_static(b"a"), call_back }, private: [7; 16] };
    let bytes = xdr::to_bytes(&args);
    assert_eq!(bytes.len(), 8 + 8 + 12 + 16);
    assert_eq!(bytes[8..20], [0, 0, 0, 1, b'b', 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes[28..], [7; 16], "opaque data of a fixed length has no length in front");
    assert_eq!(xdr::from_bytes::<MonitorArgs>(bytes).unwrap(), args);
}

#[test]
fn a_name_above_its_maximum_is_refused() {
    let name = |length: usize| xdr::to_bytes(&Bytes::from(vec![b'x'; length]));
    assert!(xdr::from_bytes::<MonitoredName>(name(1024)).is_ok());
    assert!(xdr::from_bytes::<MonitoredName>(name(1025)).is_err());
}

#[test]
fn numbers_are_their_own_inverse() {
    for procedure in Procedure::ALL {
        assert_eq!(Procedure::from_number(procedure.number()), Some(*procedure));
    }
    assert_eq!(Procedure::from_number(7), None);
}
