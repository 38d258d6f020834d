//! The tests of `find`. Pure.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::str::FromStr;

use client::{Attributes, FileType, Time};
use globset::{GlobBuilder, GlobMatcher};

const DAY_SECONDS: i64 = 86_400;

/// A pattern of names.
#[derive(Debug, Clone)]
pub(super) struct Glob(GlobMatcher);

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let built =
            GlobBuilder::new(&without_braces(text)).literal_separator(false).backslash_escape(true).build();
        built.map(|glob| Self(glob.compile_matcher())).map_err(|error| error.to_string())
    }
}

/// Braces have no meaning in find(1).
fn without_braces(text: &str) -> String {
    let mut pattern = String::new();
    let (mut escaped, mut class) = (false, false);
    for char in text.chars() {
        match char {
            '{' | '}' | ',' if !escaped && !class => {
                pattern.extend(['[', char, ']']);
                continue;
            }
            '[' if !escaped => class = true,
            ']' => class = false,
            _ => {}
        }
        escaped = char == '\\' && !escaped;
        pattern.push(char);
    }
    pattern
}

/// A type of objects, by its letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Type(FileType);

impl FromStr for Type {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "f" => FileType::Regular,
            "d" => FileType::Directory,
            "l" => FileType::Symlink,
            "p" => FileType::Fifo,
            "s" => FileType::Socket,
            "b" => FileType::Block,
            "c" => FileType::Character,
            other => return Err(format!("there is no type `{other}`, only f, d, l, p, s, b and c")),
        }))
    }
}

/// `N`, `+N` or `-N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Is(u64),
    More(u64),
    Less(u64),
}

impl Number {
    fn holds(self, number: i128) -> bool {
        match self {
            Self::Is(wanted) => number == i128::from(wanted),
            Self::More(wanted) => number > i128::from(wanted),
            Self::Less(wanted) => number < i128::from(wanted),
        }
    }
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (make, digits): (fn(u64) -> Self, &str) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(digits), _) => (Self::More, digits),
            (_, Some(digits)) => (Self::Less, digits),
            _ => (Self::Is, text),
        };
        let known = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
        known.map(make).ok_or_else(|| format!("`{text}` is no number, as 7, +7 and -7 are"))
    }
}

/// A number of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    number: Number,
    unit_bytes: u64,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, unit_bytes) = match text.char_indices().next_back() {
            Some((at, 'c')) => (&text[..at], 1),
            Some((at, 'b')) => (&text[..at], 512),
            Some((at, 'k')) => (&text[..at], 1 << 10),
            Some((at, 'M')) => (&text[..at], 1 << 20),
            Some((at, 'G')) => (&text[..at], 1 << 30),
            _ => (text, 512),
        };
        match digits.parse() {
            Ok(number) => Ok(Self { number, unit_bytes }),
            Err(_) => Err(format!("`{text}` is no size, as 7k, +7M and -7G are")),
        }
    }
}

/// Everything that an object has to pass. What nothing is known of passes no test that needs to know.
#[derive(Debug)]
pub(super) struct Tests {
    pub(super) name: Option<Glob>,
    pub(super) kinds: Vec<Type>,
    pub(super) size: Option<Size>,
    pub(super) mtime: Option<Number>,
    pub(super) newer: Option<Time>,
    pub(super) now_seconds: i64,
}

impl Tests {
    pub(super) fn pass(&self, name: &[u8], known: Option<Attributes>) -> bool {
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        if self.name.as_ref().is_some_and(|glob| !glob.0.is_match(name)) {
            return false;
        }
        let asks_nothing =
            self.kinds.is_empty() && self.size.is_none() && self.mtime.is_none() && self.newer.is_none();
        let Some(known) = known else { return asks_nothing };
        let days = (i128::from(self.now_seconds) - i128::from(known.modified.seconds))
            .div_euclid(i128::from(DAY_SECONDS));
        (self.kinds.is_empty() || self.kinds.contains(&Type(known.kind)))
            && self
                .size
                .is_none_or(|size| size.number.holds(i128::from(known.size.div_ceil(size.unit_bytes))))
            && self.mtime.is_none_or(|number| number.holds(days))
            && self.newer.is_none_or(|time| known.modified > time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, name: &[u8]) -> bool {
        glob.parse::<Glob>().unwrap().0.is_match(Path::new(std::ffi::OsStr::from_bytes(name)))
    }

    #[test]
    fn globs_are_those_of_find() {
        assert!(matches("*.log", b".log") && matches("*.log", b"a b.log") && !matches("*.log", b"a.log2"));
        assert!(matches("?", b"\xff") && matches("[!a]x", b"bx") && !matches("[!a]x", b"ax"));
        assert!(matches("{a,b}", b"{a,b}") && !matches("{a,b}", b"a"));
        assert!(matches("\\*", b"*") && !matches("\\*", b"x") && matches("a**b", b"axxb"));
        assert!("[a".parse::<Glob>().is_err());
    }

    #[test]
    fn numbers_and_sizes_have_signs_and_units() {
        assert_eq!("+7".parse(), Ok(Number::More(7)));
        assert_eq!("-7k".parse(), Ok(Size { number: Number::Less(7), unit_bytes: 1024 }));
        assert_eq!("7".parse(), Ok(Size { number: Number::Is(7), unit_bytes: 512 }));
        assert!("++7".parse::<Number>().is_err() && "7X".parse::<Size>().is_err());
        assert!("k".parse::<Size>().is_err() && "ü".parse::<Size>().is_err());
    }

    #[test]
    fn sizes_are_rounded_up_and_days_down() {
        assert!(Number::Is(1).holds(1) && Number::More(1).holds(2) && !Number::More(1).holds(1));
        assert!(Number::Less(1).holds(0) && Number::Less(1).holds(-5));
    }
}
