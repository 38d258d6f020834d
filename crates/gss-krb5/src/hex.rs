//! Known answers in hexadecimal with spaces, as RFCs print them.

/// Decodes hexadecimal digits and skips white space.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit") as u8;
    assert!(digits.len().is_multiple_of(2), "digits come in pairs");
    digits.chunks(2).map(|pair| (digit(pair[0]) << 4) | digit(pair[1])).collect()
}
