//! Times of archives. Pure.

use tar::Header;

use crate::attributes::Time;

/// Returns the modification time of a header in seconds since 1970, or `None` for an invalid one. It is
/// octal, or base 256 in two's complement, of which the `tar` crate reads the last eight bytes as unsigned.
pub(super) fn of_header(header: &Header) -> Option<i64> {
    let field = &header.as_old().mtime;
    let value = header.mtime().ok()?;
    match field[..4] {
        [0xff, 0xff, 0xff, 0xff] => Some(value.cast_signed()).filter(|seconds| *seconds < 0),
        [0x80, 0, 0, 0] => i64::try_from(value).ok(),
        [first, ..] if first & 0x80 != 0 => None,
        _ => i64::try_from(value).ok(),
    }
}

/// Parses the seconds of a pax record, with a decimal fraction. Truncates to nanoseconds.
pub(super) fn parse(text: &str) -> Option<Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    let digits: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let nanoseconds: u32 =
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    Some(match text.starts_with('-') && nanoseconds > 0 {
        true => Time { seconds: seconds.checked_sub(1)?, nanoseconds: 1_000_000_000 - nanoseconds },
        false => Time { seconds, nanoseconds },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_parts_of_seconds() {
        let time = |text| parse(text).map(|time| (time.seconds, time.nanoseconds));
        assert_eq!(time("12"), Some((12, 0)));
        assert_eq!(time("12.5"), Some((12, 500_000_000)));
        assert_eq!(time("12.1234567891"), Some((12, 123_456_789)));
        assert_eq!(time("-1.25"), Some((-2, 750_000_000)));
        assert_eq!(time("-0.75"), Some((-1, 250_000_000)));
        assert_eq!((time("x"), time("1.x"), time("1.+5")), (None, None, None));
    }

    #[test]
    fn header_times_before_1970_are_negative() {
        let of = |field: [u8; 12]| {
            let mut header = Header::new_gnu();
            header.as_old_mut().mtime = field;
            of_header(&header)
        };
        assert_eq!(of(*b"00000000017\0"), Some(15));
        assert_eq!(of([0xff; 12]), Some(-1));
        assert_eq!(of([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]), Some(-65_536));
        assert_eq!(of([0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]), Some((2 << 32) + 1));
        // Beyond what 64 bits hold.
        assert_eq!(of([0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(of([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(of([0x80, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
