//! What is asked of a run.

use std::path::PathBuf;

/// What Linux asks for: over NFSv3 what our server prefers, over NFSv4.1 as much as in a READ.
const LINUX_REPLY_BYTES: [u32; 2] = [1 << 20; 2];

pub struct Options {
    pub entries: usize,
    pub rounds: usize,
    /// The most that a reply to READDIRPLUS, and one to READDIR, may have.
    pub reply_bytes: [u32; 2],
    pub ganesha: bool,
    /// Where the entries are made and left, or were by another run; else they are removed at the end.
    pub directory: Option<PathBuf>,
}

impl Options {
    /// Of the command line; ends the process with a sentence when it is wrong.
    pub fn from_arguments() -> Self {
        let mut options = Self {
            entries: 1_000_000,
            rounds: 5,
            reply_bytes: LINUX_REPLY_BYTES,
            ganesha: true,
            directory: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // From cargo.
                "--bench" => {}
                "--entries" => options.entries = number("--entries", arguments.next()),
                "--rounds" => options.rounds = number("--rounds", arguments.next()),
                "--reply-bytes" => options.reply_bytes = [number("--reply-bytes", arguments.next()); 2],
                "--directory" => {
                    let directory = arguments.next().unwrap_or_else(|| refuse("--directory needs a path"));
                    options.directory = Some(directory.into());
                }
                "--without-ganesha" => options.ganesha = false,
                other => refuse(&format!("there is no option {other:?}")),
            }
        }
        options
    }
}

fn number<T: std::str::FromStr>(option: &str, text: Option<String>) -> T {
    let number = text.and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| refuse(&format!("{option} needs a number")))
}

fn refuse(sentence: &str) -> ! {
    eprintln!("{sentence}");
    std::process::exit(3)
}
