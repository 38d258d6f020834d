//! One step of a loop, written as a line of words: `"open files rw"`, `"9 * read-at random 8 KiB"`, `"think
//! 10 ms"`.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::words::{Words, unknown};

/// The step that is no operation.
pub(super) const THINK: &str = "think";

/// The first words of all steps.
pub(super) const STEPS: [&str; 18] = [
    "create",
    "open",
    "read-whole",
    "write-whole",
    "append",
    "append-random",
    "read-at",
    "write-at",
    "fsync",
    "close",
    "stat",
    "delete",
    "rename",
    "mkdir",
    "list",
    "lock",
    "unlock",
    THINK,
];

/// A step, and how often it is done in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// At least 1.
    pub times: u32,
    /// What is done.
    pub step: Step,
}

/// What a thread does. Each has one file open at most; the steps without a set are about that one.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Makes the file of an entry that is not there, and keeps it open for reading and writing.
    Create {
        /// The set.
        set: String,
        /// Whether each write is on stable storage before it returns (O_SYNC).
        sync: bool,
    },
    /// Opens the file of an entry that is there.
    Open {
        /// The set.
        set: String,
        /// For what.
        mode: Mode,
        /// Whether each write is on stable storage before it returns (O_SYNC).
        sync: bool,
    },
    /// Reads all of the file.
    ReadWhole,
    /// Writes all of the file, in the size of its entry.
    WriteWhole,
    /// Writes at the file's end.
    Append {
        /// How much, in bytes; the most where it is random.
        bytes: u64,
        /// Whether any size from 1 to `bytes` is equally likely.
        random: bool,
    },
    /// Reads a piece.
    ReadAt {
        /// Where.
        offset: Offset,
        /// How much, in bytes.
        bytes: u64,
    },
    /// Writes a piece over what is there.
    WriteAt {
        /// Where.
        offset: Offset,
        /// How much, in bytes.
        bytes: u64,
    },
    /// Waits until everything written is on stable storage.
    Fsync,
    /// Closes the file.
    Close,
    /// Asks for the attributes of an entry that is there.
    Stat {
        /// The set.
        set: String,
    },
    /// Removes the file of an entry that is there.
    Delete {
        /// The set.
        set: String,
    },
    /// Gives the file of an entry the name of one that is not there.
    Rename {
        /// The set.
        set: String,
    },
    /// Makes a directory beside an entry.
    MakeDirectory {
        /// The set.
        set: String,
    },
    /// Lists the directory that an entry is in.
    List {
        /// The set.
        set: String,
    },
    /// Locks the file, waiting for others.
    Lock {
        /// Whether nobody else may hold a lock.
        exclusive: bool,
    },
    /// Gives the lock back.
    Unlock,
    /// Does nothing for a while.
    Think {
        /// How long.
        time: Duration,
    },
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Both.
    ReadWrite,
}

impl Mode {
    /// Whether the file can be read.
    #[must_use]
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Whether the file can be written.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// Where in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// After the last piece, and from the file's beginning again at its end.
    Sequential,
    /// At a multiple of the piece's size, by the seed.
    Random,
    /// Where the last piece was.
    Same,
}

impl Step {
    /// Its first word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Open { .. } => "open",
            Self::ReadWhole => "read-whole",
            Self::WriteWhole => "write-whole",
            Self::Append { random: false, .. } => "append",
            Self::Append { random: true, .. } => "append-random",
            Self::ReadAt { .. } => "read-at",
            Self::WriteAt { .. } => "write-at",
            Self::Fsync => "fsync",
            Self::Close => "close",
            Self::Stat { .. } => "stat",
            Self::Delete { .. } => "delete",
            Self::Rename { .. } => "rename",
            Self::MakeDirectory { .. } => "mkdir",
            Self::List { .. } => "list",
            Self::Lock { .. } => "lock",
            Self::Unlock => "unlock",
            Self::Think { .. } => THINK,
        }
    }

    /// The set that it picks from.
    #[must_use]
    pub fn set(&self) -> Option<&str> {
        match self {
            Self::Create { set, .. }
            | Self::Open { set, .. }
            | Self::Stat { set }
            | Self::Delete { set }
            | Self::Rename { set }
            | Self::MakeDirectory { set }
            | Self::List { set } => Some(set),
            _ => None,
        }
    }

    fn parse(words: &mut Words<'_>) -> Result<Self, String> {
        let word = words.word("an operation")?;
        let set = |words: &mut Words<'_>| words.word("the name of a set").map(str::to_owned);
        Ok(match word {
            "create" => Self::Create { set: set(words)?, sync: words.accept("sync") },
            "open" => {
                let set = set(words)?;
                Self::Open { set, mode: mode(words)?, sync: words.accept("sync") }
            }
            "read-whole" => Self::ReadWhole,
            "write-whole" => Self::WriteWhole,
            "append" | "append-random" => {
                Self::Append { bytes: words.bytes("how much")?, random: word == "append-random" }
            }
            "read-at" => Self::ReadAt { offset: offset(words)?, bytes: words.bytes("how much")? },
            "write-at" => Self::WriteAt { offset: offset(words)?, bytes: words.bytes("how much")? },
            "fsync" => Self::Fsync,
            "close" => Self::Close,
            "stat" => Self::Stat { set: set(words)? },
            "delete" => Self::Delete { set: set(words)? },
            "rename" => Self::Rename { set: set(words)? },
            "mkdir" => Self::MakeDirectory { set: set(words)? },
            "list" => Self::List { set: set(words)? },
            "lock" => Self::Lock { exclusive: is_exclusive(words)? },
            "unlock" => Self::Unlock,
            THINK => Self::Think { time: time(words)? },
            other => return Err(unknown("operation", other, &STEPS)),
        })
    }
}

/// Reading unless something else is said.
fn mode(words: &mut Words<'_>) -> Result<Mode, String> {
    match words.peek() {
        None | Some("sync") => return Ok(Mode::Read),
        _ => {}
    }
    match words.word("a mode")? {
        "read" => Ok(Mode::Read),
        "write" => Ok(Mode::Write),
        "rw" => Ok(Mode::ReadWrite),
        other => Err(unknown("mode", other, &["read", "write", "rw", "sync"])),
    }
}

fn offset(words: &mut Words<'_>) -> Result<Offset, String> {
    match words.word("`sequential`, `random` or `same`")? {
        "sequential" => Ok(Offset::Sequential),
        "random" => Ok(Offset::Random),
        "same" => Ok(Offset::Same),
        other => Err(unknown("place", other, &["sequential", "random", "same"])),
    }
}

fn is_exclusive(words: &mut Words<'_>) -> Result<bool, String> {
    match words.word("`read` or `write`")? {
        "read" => Ok(false),
        "write" => Ok(true),
        other => Err(unknown("lock", other, &["read", "write"])),
    }
}

fn time(words: &mut Words<'_>) -> Result<Duration, String> {
    let number = words.number("a time")?;
    let seconds = match words.word("the unit `ms` or `s`")? {
        "ms" => number / 1000.0,
        "s" => number,
        other => return Err(unknown("unit", other, &["ms", "s"])),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("a time of {number} cannot be"))
}

impl Line {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = Words::of(text);
        let mut times = 1;
        if let Some(count) = words.peek().and_then(|word| word.parse().ok()) {
            times = count;
            words.word("a number")?;
            if !words.accept("*") {
                return Err("a number is followed by `*` and what is repeated".to_owned());
            }
        }
        let step = Step::parse(&mut words)?;
        words.end()?;
        Ok(Self { times, step })
    }
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(LineVisitor)
    }
}

struct LineVisitor;

impl Visitor<'_> for LineVisitor {
    type Value = Line;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an operation such as \"open files read\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Line, E> {
        Line::parse(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_can_be_said() {
        for (text, step) in [
            ("create files", Step::Create { set: "files".to_owned(), sync: false }),
            ("open files", Step::Open { set: "files".to_owned(), mode: Mode::Read, sync: false }),
            ("open files rw sync", Step::Open { set: "files".to_owned(), mode: Mode::ReadWrite, sync: true }),
            ("append-random 16 KiB", Step::Append { bytes: 16_384, random: true }),
            ("append 16KiB", Step::Append { bytes: 16_384, random: false }),
            ("read-at random 4 KiB", Step::ReadAt { offset: Offset::Random, bytes: 4096 }),
            ("write-at same 8192", Step::WriteAt { offset: Offset::Same, bytes: 8192 }),
            ("lock write", Step::Lock { exclusive: true }),
            ("think 1.5 ms", Step::Think { time: Duration::from_micros(1500) }),
        ] {
            assert_eq!(Line::parse(text), Ok(Line { times: 1, step }), "{text}");
        }
        for word in STEPS {
            let rest = ["", " files", " 1 KiB", " random 1 KiB", " read", " 1 ms"];
            let step = rest.iter().find_map(|rest| Line::parse(&format!("{word}{rest}")).ok());
            assert_eq!(step.map(|line| line.step.word()), Some(word));
        }
        assert_eq!(Line::parse("9 * fsync"), Ok(Line { times: 9, step: Step::Fsync }));
    }

    #[test]
    fn unknown_operation_is_refused() {
        for (text, part) in [
            ("opne files", "unknown operation `opne`, expected one of `create`, `open`"),
            ("open files raed", "unknown mode `raed`, expected one of `read`"),
            ("open", "the name of a set is missing"),
            ("read-at rnadom 4 KiB", "unknown place `rnadom`"),
            ("read-at random", "how much is missing"),
            ("fsync now", "nothing more was expected where `now`"),
            ("lock shared", "unknown lock `shared`"),
            ("think 5 min", "unknown unit `min`"),
            ("think -5 ms", "cannot be"),
            ("9 fsync", "followed by `*`"),
            ("", "an operation is missing"),
        ] {
            let error = Line::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
