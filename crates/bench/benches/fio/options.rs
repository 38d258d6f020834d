//! What the arguments ask for.

use std::path::PathBuf;
use std::str::FromStr;

pub(crate) struct Options {
    pub(crate) directories: Vec<PathBuf>,
    /// Whether the directories are mounts of a guest's kernel.
    pub(crate) guest: bool,
    pub(crate) pairs: usize,
    pub(crate) seconds: f64,
    pub(crate) mib: u64,
    /// For fio, after those that it is given in any case.
    pub(crate) fio: Vec<String>,
}

impl Options {
    pub(crate) fn from_arguments() -> Result<Self, String> {
        let mut options = Self {
            directories: Vec::new(),
            guest: false,
            pairs: 20,
            seconds: 0.5,
            mib: 256,
            fio: Vec::new(),
        };
        // Cargo tells every benchmark that it is one.
        let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            match word.as_str() {
                "--pairs" => options.pairs = number(&word, words.next())?,
                "--seconds" => options.seconds = number(&word, words.next())?,
                "--mib" => options.mib = number(&word, words.next())?,
                "--guest" => options.guest = true,
                "--fio" => {
                    let list = words.next().unwrap_or_default();
                    options.fio.extend(
                        list.split(',')
                            .filter(|option| !option.is_empty())
                            .map(|option| format!("--{option}")),
                    );
                }
                _ if word.starts_with('-') => return Err(format!("there is no option {word}")),
                _ => options.directories.push(PathBuf::from(word)),
            }
        }
        if options.directories.is_empty() != options.guest {
            return Err(
                "name a directory to make a file in, or say --guest: cargo bench -p primetime-bench --bench \
                 fio -- DIR"
                    .to_owned(),
            );
        }
        Ok(options)
    }
}

fn number<T: FromStr>(option: &str, value: Option<String>) -> Result<T, String> {
    value.and_then(|value| value.parse().ok()).ok_or_else(|| format!("{option} needs a number"))
}
