//! Round trips of arbitrary values and arbitrary bytes.

#![allow(missing_docs, clippy::unwrap_used)]

use bytes::Bytes;
use proptest::prelude::*;
use xdr::{List, Xdr};

#[derive(Debug, Clone, PartialEq, Xdr)]
struct Node {
    id: u64,
    #[xdr(max = 40)]
    name: Bytes,
    #[xdr(max = 10)]
    numbers: Vec<i32>,
    #[xdr(max = 10)]
    list: List<Option<bool>>,
    arm: Arm,
}

#[derive(Debug, Clone, PartialEq, Xdr)]
enum Arm {
    #[xdr(case = 0)]
    Nothing,
    #[xdr(case = 1)]
    Text(#[xdr(max = 20)] String),
    #[xdr(default)]
    Other(u32, u64),
}

fn arm() -> impl Strategy<Value = Arm> {
    prop_oneof![
        Just(Arm::Nothing),
        ".{0,5}".prop_map(Arm::Text),
        (2u32.., any::<u64>()).prop_map(|(tag, value)| Arm::Other(tag, value)),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    (
        any::<u64>(),
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<i32>(), 0..10),
        prop::collection::vec(any::<Option<bool>>(), 0..10),
        arm(),
    )
        .prop_map(|(id, name, numbers, list, arm)| Node {
            id,
            name: name.into(),
            numbers,
            list: List(list),
            arm,
        })
}

proptest! {
    #[test]
    fn encoded_value_decodes_to_itself(value in node()) {
        let bytes = xdr::to_bytes(&value);
        prop_assert_eq!(bytes.len() % 4, 0);
        prop_assert_eq!(xdr::from_bytes::<Node>(bytes).unwrap(), value);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_decode_to_one_encoding(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = xdr::from_bytes::<Node>(bytes.clone()) {
            prop_assert_eq!(xdr::to_bytes(&value), bytes);
        }
    }
}
