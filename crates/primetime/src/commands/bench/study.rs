//! `primetime bench study`: figures and tables of the studies, by name.

use bench::exhibit::{Exhibit, exhibits, find};
use bench::terminal::{Style, exhibit};
use clap::{Args, Parser};

use super::measure::{self, Measure};
use super::{hash_cast, print};
use crate::failure::{self, Failure};

const EXAMPLES: &str = "\
Examples:
  primetime bench study                                          what there is
  primetime bench study login-figure-1
  primetime bench study fsl-table-1 --server nfs://fileserver/export --runs 5
  primetime bench study proxmox-fio --client fuse

Options after the name replace those of the exhibit. With --server the arms of an exhibit give way to
versions.";

/// Which exhibit, and how.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The exhibit; without one, all are shown
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Options of `primetime bench`
    #[arg(value_name = "OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

/// The arguments of an exhibit as a command line has them.
#[derive(Debug, Parser)]
#[command(name = "primetime bench study NAME", no_binary_name = true)]
struct Measured {
    #[command(flatten)]
    measure: Measure,
}

/// The same of one that is about a card.
#[derive(Debug, Parser)]
#[command(name = "primetime bench study NAME", no_binary_name = true)]
struct HashCast {
    #[command(flatten)]
    arguments: hash_cast::Arguments,
}

/// Shows all exhibits, or measures one.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = &arguments.name else { return print(&listed()) };
    let found = find(name).map_err(Failure::set_up)?;
    let words = words(&found, &arguments.options);
    if found.hash_cast {
        let parsed = HashCast::try_parse_from(words).map_err(|error| wrong(&error))?;
        return hash_cast::run(parsed.arguments);
    }
    let parsed = Measured::try_parse_from(words).map_err(|error| wrong(&error))?;
    let results = measure::measured(parsed.measure)?;
    let Exhibit { source, shows, since, .. } = &found;
    print(&format!("\n{source}: {shows}\n\n{}\n{since}\n", exhibit(&results, Style::of_stdout())))
}

/// Prints what is wrong with the options.
fn wrong(error: &clap::Error) -> Failure {
    let _ = failure::usage(error);
    Failure::said()
}

/// Returns the arguments of the exhibit with `options` in the place of those of the same name, and results in
/// a directory of its own.
fn words(exhibit: &Exhibit, options: &[String]) -> Vec<String> {
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let given: Vec<String> = options.iter().filter(|word| word.starts_with("--")).map(name).collect();
    let is_given = |option: &str| given.iter().any(|given| given == option);
    let replaced = |option: &str| match option {
        "--arm" | "--pair" => is_given(option) || is_given("--server"),
        "--time" | "--runs" => is_given("--time") || is_given("--runs"),
        "--scaled" | "--paper" | "--quick" => {
            ["--scaled", "--paper", "--quick"].iter().any(|size| is_given(size))
        }
        option => is_given(option),
    };
    let mut words = Vec::new();
    let mut own = exhibit.arguments.iter().peekable();
    while let Some(option) = own.next() {
        let value = own.next_if(|word| !word.starts_with("--"));
        if !replaced(option) {
            words.push(option.clone());
            words.extend(value.cloned());
        }
    }
    if !is_given("--out") {
        words.extend(["--out".to_owned(), format!("primetime-{}", exhibit.name)]);
    }
    words.extend_from_slice(options);
    words
}

fn listed() -> String {
    let each = |exhibit: Exhibit| {
        let Exhibit { name, source, shows, .. } = exhibit;
        format!("{name}\n  {shows}\n  {source}\n")
    };
    exhibits().into_iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, options: &[&str]) -> Vec<String> {
        let options: Vec<String> = options.iter().map(|word| (*word).to_owned()).collect();
        words(&find(name).unwrap(), &options)
    }

    #[test]
    fn arguments_of_every_exhibit_are_understood() {
        for exhibit in exhibits() {
            let words = of(&exhibit.name, &[]);
            let outcome = match exhibit.hash_cast {
                true => HashCast::try_parse_from(&words).map(drop),
                false => Measured::try_parse_from(&words).map(drop),
            };
            assert!(outcome.is_ok(), "{}: {}", exhibit.name, outcome.unwrap_err());
        }
    }

    #[test]
    fn options_replace_those_of_the_exhibit() {
        let words = of("fsl-figure-9", &["--server=nfs://host/x", "--runs", "2", "--rtt-ms", "1"]);
        assert!(
            !words.iter().any(|word| word.contains("local") || word == "60s" || word == "--time"),
            "{words:?}"
        );
        assert_eq!(words.iter().filter(|word| *word == "--rtt-ms").count(), 1);
        assert!(words.iter().any(|word| word == "primetime-fsl-figure-9"));
        assert!(Measured::try_parse_from(&words).is_ok());
        let elsewhere = of("fsl-table-1", &["--out", "x", "--quick"]);
        assert!(!elsewhere.iter().any(|word| word == "--paper" || word.starts_with("primetime-")));
    }
}
