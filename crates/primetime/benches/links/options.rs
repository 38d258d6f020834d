//! What is asked of a run.

use std::path::PathBuf;
use std::time::Duration;

use netlab::relay::LinkOptions;

pub struct Options {
    pub rounds: usize,
    pub duration: Duration,
    pub round_trips_ms: Vec<f64>,
    pub mbit: u64,
    /// Where the server's directory is made: its disk must be faster than the link.
    pub folder: PathBuf,
}

impl Options {
    /// Of the command line; ends the process with a sentence when it is wrong.
    pub fn from_arguments() -> Self {
        let mut options = Self {
            rounds: 5,
            duration: Duration::from_secs(4),
            round_trips_ms: vec![0.2, 1.0, 10.0, 40.0],
            mbit: 1000,
            folder: "/var/tmp".into(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().unwrap_or_else(|| refuse(&format!("{argument} needs a value")));
            match argument.as_str() {
                // From cargo.
                "--bench" => {}
                "--rounds" => options.rounds = number(&value()),
                "--seconds" => options.duration = Duration::from_secs_f64(number(&value())),
                "--rtt-ms" => options.round_trips_ms = value().split(',').map(number).collect(),
                "--mbit" => options.mbit = number(&value()),
                "--folder" => options.folder = value().into(),
                other => refuse(&format!("there is no option {other:?}")),
            }
        }
        options
    }

    pub fn bytes_per_second(&self) -> u64 {
        self.mbit * 1_000_000 / 8
    }

    pub fn link(&self, round_trip_ms: f64) -> LinkOptions {
        LinkOptions::round_trip_ms(round_trip_ms).with_rate(self.bytes_per_second())
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| refuse(&format!("{text:?} is no number")))
}

fn refuse(sentence: &str) -> ! {
    eprintln!("{sentence}");
    std::process::exit(3)
}
