//! Bytes as RFC 4506 prescribes them, and what is refused.

#![allow(missing_docs, clippy::unwrap_used)]

use bytes::Bytes;
use xdr::{Decode, DecodeBounded, Decoder, Encode, Encoder, ErrorKind, List, Xdr};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
enum Color {
    Red = 2,
    Green = 3,
}

const FILE: u32 = 1;

#[derive(Debug, Clone, PartialEq, Xdr)]
enum Object {
    #[xdr(case = FILE)]
    File(u64),
    #[xdr(case = 2)]
    Directory,
    #[xdr(case = 3 | 4)]
    Device(u32, (u32, u32)),
    #[xdr(default)]
    Other(u32),
}

#[derive(Debug, Clone, PartialEq, Xdr)]
struct Everything {
    small: i32,
    large: i64,
    flag: bool,
    color: Color,
    fixed: [u8; 5],
    #[xdr(max = 8)]
    data: Bytes,
    #[xdr(max = 8)]
    text: String,
    #[xdr(max = 3)]
    numbers: Vec<u32>,
    #[xdr(max = 3)]
    list: List<u32>,
    maybe: Option<u32>,
    #[xdr(optional_max = 4)]
    maybe_data: Option<Bytes>,
    object: Object,
}

#[derive(Debug, PartialEq, Xdr)]
struct Pair<A, B>(A, B);

fn sample() -> Everything {
    Everything {
        small: -2,
        large: i64::MIN,
        flag: true,
        color: Color::Green,
        fixed: *b"fixed",
        data: Bytes::from_static(b"abc"),
        text: "grüß".into(),
        numbers: vec![1, 2],
        list: List(vec![9]),
        maybe: None,
        maybe_data: Some(Bytes::from_static(b"x")),
        object: Object::Device(4, (8, 1)),
    }
}

#[test]
fn every_type_has_the_bytes_of_the_standard() {
    #[rustfmt::skip]
    let golden: &[u8] = &[
        0xff, 0xff, 0xff, 0xfe,
        0x80, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 1,
        0, 0, 0, 3,
        b'f', b'i', b'x', b'e', b'd', 0, 0, 0,
        0, 0, 0, 3, b'a', b'b', b'c', 0,
        0, 0, 0, 6, b'g', b'r', 0xc3, 0xbc, 0xc3, 0x9f, 0, 0,
        0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2,
        0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0,
        0, 0, 0, 0,
        0, 0, 0, 1, 0, 0, 0, 1, b'x', 0, 0, 0,
        0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 1,
    ];
    assert_eq!(xdr::to_bytes(&sample()), golden);
    assert_eq!(xdr::from_bytes::<Everything>(golden.to_vec()).unwrap(), sample());
}

#[test]
fn unions_select_their_arm() {
    for (object, bytes) in [
        (Object::File(7), vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7]),
        (Object::Directory, vec![0, 0, 0, 2]),
        (Object::Other(77), vec![0, 0, 0, 77]),
    ] {
        assert_eq!(xdr::to_bytes(&object), bytes);
        assert_eq!(xdr::from_bytes::<Object>(bytes).unwrap(), object);
    }
}

#[test]
fn generic_structs_encode_their_parts() {
    let pair = Pair(1u32, Pair(true, Color::Red));
    assert_eq!(xdr::from_bytes::<Pair<u32, Pair<bool, Color>>>(xdr::to_bytes(&pair)).unwrap(), pair);
}

#[test]
fn every_truncation_is_an_unexpected_end() {
    let whole = xdr::to_bytes(&sample());
    for length in 0..whole.len() {
        let error = xdr::from_bytes::<Everything>(whole.slice(..length)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnexpectedEnd, "cut at {length}");
    }
}

#[test]
fn bad_values_name_their_offset() {
    let cases: [(Vec<u8>, ErrorKind); 3] = [
        (vec![0, 0, 0, 7], ErrorKind::UnknownValue(7)),
        (vec![0, 0, 0, 2, 0], ErrorKind::Trailing(1)),
        (vec![0, 0], ErrorKind::UnexpectedEnd),
    ];
    for (bytes, kind) in cases {
        assert_eq!(xdr::from_bytes::<Color>(bytes).unwrap_err().kind, kind);
    }
    let mut decoder = Decoder::new(Bytes::from_static(&[0, 0, 0, 1, 0, 0, 0, 2]));
    decoder.u32().unwrap();
    let error = decoder.bool().unwrap_err();
    assert_eq!((error.offset, error.kind), (4, ErrorKind::NotBoolean(2)));
}

#[test]
fn lengths_above_the_maximum_are_refused_before_anything_is_read() {
    let mut decoder = Decoder::new(Bytes::from_static(&[0xff, 0xff, 0xff, 0xff]));
    let kind = Bytes::decode_bounded(&mut decoder, 8).unwrap_err().kind;
    assert_eq!(kind, ErrorKind::TooLong { length: u32::MAX, max: 8 });
}

#[test]
fn a_hostile_count_costs_no_memory() {
    let mut decoder = Decoder::new(Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1]));
    let kind = Vec::<u32>::decode_bounded(&mut decoder, u32::MAX).unwrap_err().kind;
    assert_eq!(kind, ErrorKind::UnexpectedEnd);
    let mut decoder = Decoder::new(Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff]));
    assert!(Vec::<()>::decode_bounded(&mut decoder, u32::MAX).is_err());
}

#[test]
fn lists_are_bounded() {
    let five = xdr::to_bytes(&List(vec![1u32; 5]));
    assert!(List::<u32>::decode_bounded(&mut Decoder::new(five.clone()), 5).is_ok());
    assert!(List::<u32>::decode_bounded(&mut Decoder::new(five), 4).is_err());
}

#[test]
fn padding_must_be_zero() {
    let bytes = vec![0, 0, 0, 1, b'x', 0, 1, 0];
    let kind = Bytes::decode_bounded(&mut Decoder::new(bytes.into()), 4).unwrap_err().kind;
    assert_eq!(kind, ErrorKind::Padding);
}

#[test]
fn padding_of_some_data_may_be_anything() {
    let mut decoder = Decoder::new(Bytes::from_static(&[0, 0, 0, 1, b'x', 0, 1, 0, 0, 0, 0, 9]));
    assert_eq!(decoder.opaque_padded_anyhow(4).unwrap(), "x");
    assert_eq!(decoder.u32().unwrap(), 9);
    let mut short = Decoder::new(Bytes::from_static(&[0, 0, 0, 1, b'x', 0]));
    assert_eq!(short.opaque_padded_anyhow(4).unwrap_err().kind, ErrorKind::UnexpectedEnd);
    let mut long = Decoder::new(Bytes::from_static(&[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0]));
    assert_eq!(long.opaque_padded_anyhow(4).unwrap_err().kind, ErrorKind::TooLong { length: 5, max: 4 });
}

#[test]
fn text_must_be_utf8() {
    let bytes = vec![0, 0, 0, 1, 0xff, 0, 0, 0];
    let error = String::decode_bounded(&mut Decoder::new(bytes.into()), 4).unwrap_err();
    assert_eq!((error.offset, error.kind), (0, ErrorKind::Invalid("text is not UTF-8")));
}

#[test]
fn data_can_be_written_in_place() {
    let mut encoder = Encoder::new();
    let mark = encoder.reserve_u32();
    encoder.opaque_with(|buffer| buffer.extend_from_slice(b"12345"));
    encoder.fill_u32(mark, 9);
    assert_eq!(encoder.as_slice(), [0, 0, 0, 9, 0, 0, 0, 5, b'1', b'2', b'3', b'4', b'5', 0, 0, 0]);
}

#[test]
fn opaque_data_is_a_slice_of_the_record() {
    let record = xdr::to_bytes(&Bytes::from_static(b"payload!"));
    let mut decoder = Decoder::new(record.clone());
    let data = decoder.opaque(64).unwrap();
    assert_eq!(data.as_ptr(), record[4..].as_ptr());
}

#[test]
fn decode_is_the_inverse_through_the_trait_objects() {
    fn inverse<T: Encode + Decode + PartialEq + std::fmt::Debug>(value: &T) {
        assert_eq!(&xdr::from_bytes::<T>(xdr::to_bytes(value)).unwrap(), value);
    }
    inverse(&u32::MAX);
    inverse(&i32::MIN);
    inverse(&u64::MAX);
    inverse(&Some(Some(1u32)));
    inverse(&Box::new(3u64));
    inverse(&[1u8, 2, 3]);
}

#[test]
fn single_item_container_is_read_and_skipped_whole() {
    let held = |body: &[u8]| {
        let mut to = Encoder::new();
        to.opaque(body);
        to.u32(77);
        let mut from = Decoder::new(Bytes::from(to.into_inner()));
        let held = from.opaque_holding::<(u32, u32)>(16).unwrap();
        assert_eq!(from.u32(), Ok(77), "behind the data, whatever is in them");
        held.map_err(|error| error.kind)
    };
    assert_eq!(held(&[0, 0, 0, 1, 0, 0, 0, 2]), Ok((1, 2)));
    assert_eq!(held(&[0, 0, 0, 1, 0, 0, 0, 2, 9]), Err(ErrorKind::Trailing(1)));
    assert_eq!(held(&[0, 0, 0, 1]), Err(ErrorKind::UnexpectedEnd), "not with what follows");
    let long = Bytes::from_static(&[0, 0, 0, 20, 0, 0, 0, 0]);
    assert_eq!(
        Decoder::new(long).opaque_holding::<u32>(16).unwrap_err().kind,
        ErrorKind::TooLong { length: 20, max: 16 }
    );
    let cut = Bytes::from_static(&[0, 0, 0, 8, 0, 0, 0, 0]);
    assert_eq!(Decoder::new(cut).opaque_holding::<u32>(16).unwrap_err().kind, ErrorKind::UnexpectedEnd);
}

#[derive(Debug, Clone, Copy, PartialEq, Xdr)]
#[xdr(fixed)]
struct InOnePiece {
    small: i32,
    number: u32,
    large: i64,
    long: u64,
    flag: bool,
    color: Color,
    bytes: [u8; 8],
    pair: Twins,
}

#[derive(Debug, Clone, Copy, PartialEq, Xdr)]
#[xdr(fixed)]
struct Twins(u32, u64);

#[test]
fn fixed_struct_is_written_as_its_fields_in_order() {
    let value = InOnePiece {
        small: -2,
        number: 7,
        large: i64::MIN + 1,
        long: 0x0102_0304_0506_0708,
        flag: true,
        color: Color::Green,
        bytes: *b"abcdefgh",
        pair: Twins(9, u64::MAX),
    };
    let mut fields = Encoder::new();
    fields.put(&value.small);
    fields.put(&value.number);
    fields.put(&value.large);
    fields.put(&value.long);
    fields.put(&value.flag);
    fields.put(&value.color);
    fields.put(&value.bytes);
    fields.put(&value.pair.0);
    fields.put(&value.pair.1);
    let bytes = xdr::to_bytes(&value);
    assert_eq!(&bytes[..], fields.as_slice());
    assert_eq!(xdr::from_bytes::<InOnePiece>(bytes), Ok(value));
}
