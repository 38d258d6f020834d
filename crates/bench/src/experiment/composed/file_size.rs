//! How large files are: `"4 KiB"`, `"uniform 0 B to 256 KiB"`, `"gamma 128 KiB shape 1.5"`, `"exponential 16
//! KiB"`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::words::{Words, unknown};

const KINDS: [&str; 4] = ["fixed", "uniform", "gamma", "exponential"];

/// The sizes of the files of a set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileSize {
    /// All the same.
    Fixed {
        /// In bytes.
        bytes: u64,
    },
    /// Any size of a range equally likely.
    Uniform {
        /// The smallest, in bytes.
        from: u64,
        /// The largest, in bytes.
        to: u64,
    },
    /// Gamma-distributed, as file systems of people are.
    Gamma {
        /// In bytes.
        mean: u64,
        /// Above 0; the smaller, the more very small and very large files.
        shape: f64,
    },
    /// Exponentially distributed.
    Exponential {
        /// In bytes.
        mean: u64,
    },
}

/// Empty files.
impl Default for FileSize {
    fn default() -> Self {
        Self::Fixed { bytes: 0 }
    }
}

impl FileSize {
    /// The mean, in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed { bytes: mean } | Self::Gamma { mean, .. } | Self::Exponential { mean } => {
                *mean as f64
            }
            Self::Uniform { from, to } => (*from as f64 + *to as f64) / 2.0,
        }
    }

    /// The number that must be within bounds: the size, the largest size, or the mean.
    pub(super) fn extent(&self) -> u64 {
        match self {
            Self::Fixed { bytes: extent }
            | Self::Uniform { to: extent, .. }
            | Self::Gamma { mean: extent, .. }
            | Self::Exponential { mean: extent } => *extent,
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut words = Words::of(text);
        let first = words.peek().ok_or("a size is missing")?;
        let size = if first.starts_with(|c: char| c.is_ascii_digit()) {
            Self::Fixed { bytes: words.bytes("a size")? }
        } else {
            match words.word("a size")? {
                "fixed" => Self::Fixed { bytes: words.bytes("the size")? },
                "uniform" => uniform(&mut words)?,
                "gamma" => gamma(&mut words)?,
                "exponential" => Self::Exponential { mean: words.bytes("the mean")? },
                other => return Err(unknown("distribution", other, &KINDS)),
            }
        };
        words.end()?;
        Ok(size)
    }
}

fn uniform(words: &mut Words<'_>) -> Result<FileSize, String> {
    let from = words.bytes("the smallest size")?;
    keyword(words, "to")?;
    let to = words.bytes("the largest size")?;
    if from > to {
        return Err(format!("the smallest size {from} is above the largest {to}"));
    }
    Ok(FileSize::Uniform { from, to })
}

fn gamma(words: &mut Words<'_>) -> Result<FileSize, String> {
    let mean = words.bytes("the mean")?;
    keyword(words, "shape")?;
    let shape = words.number("the shape")?;
    if !(0.05..=1000.0).contains(&shape) {
        return Err(format!("the shape {shape} must be from 0.05 to 1000"));
    }
    Ok(FileSize::Gamma { mean, shape })
}

fn keyword(words: &mut Words<'_>, keyword: &str) -> Result<(), String> {
    match words.word(&format!("`{keyword}`"))? {
        word if word == keyword => Ok(()),
        word => Err(unknown("word", word, &[keyword])),
    }
}

impl<'de> Deserialize<'de> for FileSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = FileSize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a size such as \"64 KiB\" or \"gamma 128 KiB shape 1.5\"")
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<FileSize, E> {
        u64::try_from(bytes)
            .map(|bytes| FileSize::Fixed { bytes })
            .map_err(|_| E::custom("a size cannot be negative"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FileSize, E> {
        FileSize::parse(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_like_prose() {
        assert_eq!(FileSize::parse("4 KiB"), Ok(FileSize::Fixed { bytes: 4096 }));
        assert_eq!(FileSize::parse("fixed 4KiB"), Ok(FileSize::Fixed { bytes: 4096 }));
        assert_eq!(FileSize::parse("uniform 0 to 256 KiB"), Ok(FileSize::Uniform { from: 0, to: 262_144 }));
        assert_eq!(
            FileSize::parse("gamma 128 KiB shape 1.5"),
            Ok(FileSize::Gamma { mean: 131_072, shape: 1.5 })
        );
        assert_eq!(FileSize::parse("exponential 16 KiB"), Ok(FileSize::Exponential { mean: 16_384 }));
    }

    #[test]
    fn invalid_size_is_refused() {
        for (text, part) in [
            ("gama 1 KiB shape 2", "unknown distribution `gama`, expected one of `fixed`"),
            ("gamma 1 KiB", "`shape` is missing"),
            ("gamma 1 KiB shpe 2", "unknown word `shpe`, expected one of `shape`"),
            ("gamma 1 KiB shape 0", "must be from 0.05"),
            ("gamma 1 KiB shape nan", "not a number"),
            ("uniform 2 KiB to 1 KiB", "above the largest"),
            ("4 kB", "nothing more was expected where `kB`"),
            ("4 KIB", "unknown unit `KIB`"),
            ("", "missing"),
            ("1 KiB 2", "nothing more was expected where `2`"),
        ] {
            let error = FileSize::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
