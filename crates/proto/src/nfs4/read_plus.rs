//! READ_PLUS (RFC 7862 §15.10).

use bytes::Bytes;
use xdr::Xdr;

use super::DATA_BYTES_MAX;

/// Arguments are those of READ.
pub use super::ReadArgs as ReadPlusArgs;

/// The most parts of a result that are decoded.
const PARTS_MAX: u32 = 4096;

/// Data or a hole (`data_content4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum DataContent {
    /// Bytes that were written.
    Data = 0,
    /// Bytes that were not, and read as zeros.
    Hole = 1,
}

/// `read_plus_res4`. A server fills it in place instead.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadPlusResult {
    /// The end of the file was reached.
    pub eof: bool,
    /// What there is, without gaps.
    #[xdr(max = PARTS_MAX)]
    pub parts: Vec<ReadPlusPart>,
}

/// `read_plus_content`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum ReadPlusPart {
    /// `NFS4_CONTENT_DATA`.
    #[xdr(case = 0)]
    Data(PlusData),
    /// `NFS4_CONTENT_HOLE`.
    #[xdr(case = 1)]
    Hole(PlusHole),
}

/// `data4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct PlusData {
    /// First byte.
    pub offset: u64,
    /// The bytes.
    #[xdr(max = DATA_BYTES_MAX)]
    pub data: Bytes,
}

/// `data_info4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct PlusHole {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_of_data_and_holes() {
        let data = PlusData { offset: 1, data: Bytes::from_static(b"abc") };
        let hole = PlusHole { offset: 4, length: 6 };
        let result =
            ReadPlusResult { eof: true, parts: vec![ReadPlusPart::Data(data), ReadPlusPart::Hole(hole)] };
        #[rustfmt::skip]
        let golden: &[u8] = &[
            0, 0, 0, 1, 0, 0, 0, 2,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, b'a', b'b', b'c', 0,
            0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 6,
        ];
        assert_eq!(xdr::to_bytes(&result), golden);
        assert_eq!(xdr::from_bytes::<ReadPlusResult>(golden.to_vec()).unwrap(), result);
    }
}
