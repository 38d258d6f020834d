//! Sizes in experiment files: `"64 KiB"`, `"1 MB"` or a plain number of bytes.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

const UNITS: [&str; 8] = ["B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB"];
const FACTORS: [u64; 8] = [1, 1 << 10, 1 << 20, 1 << 30, 1 << 40, 1_000, 1_000_000, 1_000_000_000];

/// For `#[serde(deserialize_with)]`: a size in bytes.
pub(super) fn byte_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(SizeVisitor)
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a size such as \"64 KiB\" or a number of bytes")
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<u64, E> {
        u64::try_from(bytes).map_err(|_| E::custom("a size cannot be negative"))
    }

    fn visit_u64<E: Error>(self, bytes: u64) -> Result<u64, E> {
        Ok(bytes)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        parse(text).map_err(E::custom)
    }
}

/// Reads a number with a unit.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 =
        text[..digits].parse().map_err(|_| format!("`{text}` is not a size such as \"64 KiB\""))?;
    let unit = text[digits..].trim();
    let Some(index) = UNITS.iter().position(|name| *name == unit) else {
        return Err(format!("unknown unit `{unit}`, expected one of `{}`", UNITS.join("`, `")));
    };
    number.checked_mul(FACTORS[index]).ok_or_else(|| format!("`{text}` is too large"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::byte_size;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "byte_size")]
        size: u64,
    }

    fn read(value: &str) -> Result<u64, String> {
        let holder: Result<Holder, _> = toml::from_str(&format!("size = {value}"));
        holder.map(|holder| holder.size).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn sizes_are_numbers_or_numbers_with_a_unit() {
        assert_eq!(read("4096"), Ok(4096));
        assert_eq!(read("\"4 KiB\""), Ok(4096));
        assert_eq!(read("\"4KiB\""), Ok(4096));
        assert_eq!(read("\"2 MB\""), Ok(2_000_000));
        assert_eq!(read("\"0 B\""), Ok(0));
    }

    #[test]
    fn invalid_size_is_refused() {
        assert!(read("-1").unwrap_err().contains("negative"));
        assert!(read("\"many\"").unwrap_err().contains("`many`"));
        assert!(read("\"4 kib\"").unwrap_err().contains("unknown unit `kib`"));
        assert!(read("\"99999999999 TiB\"").unwrap_err().contains("too large"));
        assert!(read("1.5").is_err());
    }
}
