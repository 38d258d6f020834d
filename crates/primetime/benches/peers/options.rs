//! What is asked of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::rows::ROWS;
use crate::{alone, fairness, instructions, scale};

pub struct Options {
    pub guest: bool,
    /// Another executable of primetime.
    pub older: Option<PathBuf>,
    pub rounds: usize,
    pub duration: Duration,
    /// All when empty.
    rows: Vec<String>,
}

impl Options {
    /// Of the command line; ends the process with a sentence when it is wrong.
    pub fn from_arguments() -> Self {
        let mut options =
            Self { guest: false, older: None, rounds: 5, duration: Duration::from_secs(1), rows: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // From cargo.
                "--bench" => {}
                "--guest" => options.guest = true,
                "--older" => {
                    let path = arguments.next().map(PathBuf::from).filter(|path| path.is_file());
                    options.older = Some(path.unwrap_or_else(|| refuse("--older needs an executable")));
                }
                "--rounds" => options.rounds = number("--rounds", arguments.next()),
                "--seconds" => {
                    options.duration = Duration::from_secs_f64(number("--seconds", arguments.next()));
                }
                row if known().any(|known| known == row) => options.rows.push(argument),
                other => {
                    let known: Vec<_> = known().collect();
                    refuse(&format!("there is no row {other:?}; there are: {}", known.join(", ")));
                }
            }
        }
        options
    }

    pub fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }
}

fn known() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name).chain([alone::NAME, fairness::NAME, scale::NAME, instructions::NAME])
}

fn number<T: std::str::FromStr>(option: &str, text: Option<String>) -> T {
    let number = text.and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| refuse(&format!("{option} needs a number")))
}

fn refuse(sentence: &str) -> ! {
    eprintln!("{sentence}");
    std::process::exit(3)
}
