//! Writes the made-up sample as a benchmark would write its results, to look at them:
//! `cargo run -p primetime-bench --example sample_report -- DIR`.

use std::error::Error;
use std::path::PathBuf;

use bench::terminal::{Style, summary};
use bench::{report, results, samples};

#[allow(clippy::print_stdout, reason = "what an example is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: sample_report DIR")?);
    std::fs::create_dir_all(&directory)?;
    let sample = samples::results();
    sample.save(&directory.join("results.json"))?;
    results::write_csv(&sample, &directory)?;
    report::write(&sample, &directory)?;
    print!("{}", summary(&sample, Style::of_stdout()));
    Ok(())
}
