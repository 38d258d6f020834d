//! Reading a line of words: `"append-random 16 KiB"`. Complaints are worded as those of the TOML reader, so
//! that the nearest valid word can be named.

use crate::experiment::byte_size;

/// The words of one line that are not read yet.
pub(super) struct Words<'a> {
    words: Vec<&'a str>,
    next: usize,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { words: text.split_whitespace().collect(), next: 0 }
    }

    /// The next word without taking it.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    /// The next word; `expected` says what is missing when there is none.
    pub(super) fn word(&mut self, expected: &str) -> Result<&'a str, String> {
        let word = self.peek().ok_or_else(|| format!("{expected} is missing"))?;
        self.next += 1;
        Ok(word)
    }

    /// Takes the next word if it is this one.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.next += usize::from(found);
        found
    }

    /// A size: `64 KiB`, `64KiB` or `65536`.
    pub(super) fn bytes(&mut self, expected: &str) -> Result<u64, String> {
        let number = self.word(expected)?;
        let alone = number.bytes().all(|byte| byte.is_ascii_digit());
        let unit =
            self.peek().filter(|_| alone).filter(|word| !word.starts_with(|c: char| c.is_ascii_lowercase()));
        match unit {
            Some(unit) => {
                self.next += 1;
                byte_size::parse(&format!("{number} {unit}"))
            }
            None if alone => number.parse().map_err(|_| format!("`{number}` is too large")),
            None => byte_size::parse(number),
        }
    }

    /// A number with a fraction.
    pub(super) fn number(&mut self, expected: &str) -> Result<f64, String> {
        let word = self.word(expected)?;
        word.parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| format!("`{word}` is not a number"))
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<(), String> {
        self.peek().map_or(Ok(()), |word| Err(format!("nothing more was expected where `{word}` stands")))
    }
}

/// "unknown `kind` `word`, expected one of `a`, `b`".
pub(in crate::experiment) fn unknown(kind: &str, word: &str, valid: &[&str]) -> String {
    format!("unknown {kind} `{word}`, expected one of `{}`", valid.join("`, `"))
}
