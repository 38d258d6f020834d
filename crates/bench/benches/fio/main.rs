//! The generator of `primetime bench` beside fio, by turns on the same file: `cargo bench -p primetime-bench
//! --bench fio -- [--pairs N] [--seconds S] [--mib N] [--fio OPTION,…] DIR… | --guest`. A directory may be
//! one of a disk, of memory, or of a mount; with `--guest` they are mounts of a real kernel, in a guest that
//! serves them, too. Both read by one thread, each read when the one before it is there, with cold caches at
//! the start.
//!
//! A rate for each second of processor time is printed beside the rate; on a machine that others use neither
//! is worth much. Needs fio; nothing is asserted.

#![allow(missing_docs, clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

mod fio;
mod guest;
mod options;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use bench::generator::{Generator, Reads};
use bench::statistics::paired_ratio;
use rustix::time::{ClockId, clock_gettime};

use options::Options;

/// As `primetime` itself has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What one of the two did.
#[derive(Clone, Copy)]
pub(crate) struct Rates {
    /// Bytes for each second.
    pub(crate) wall: f64,
    /// Bytes for each second of processor time.
    pub(crate) processor: f64,
}

struct Row {
    name: &'static str,
    random: bool,
    io_bytes: u64,
    data_cache: bool,
}

const ROWS: [Row; 5] = [
    Row { name: "sequential, 4 KiB", random: false, io_bytes: 4 << 10, data_cache: true },
    Row { name: "sequential, 64 KiB", random: false, io_bytes: 64 << 10, data_cache: true },
    Row { name: "sequential, 1 MiB", random: false, io_bytes: 1 << 20, data_cache: true },
    Row { name: "random, 4 KiB", random: true, io_bytes: 4 << 10, data_cache: true },
    Row { name: "random, 4 KiB, past the cache", random: true, io_bytes: 4 << 10, data_cache: false },
];

fn main() -> ExitCode {
    let options = match Options::from_arguments() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    };
    if options.guest {
        return match guest::run(&options, ROWS.len()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for directory in &options.directories {
        let Options { mib, pairs, seconds, .. } = &options;
        println!("\n{}: a file of {mib} MiB, {pairs} pairs of {seconds} s", directory.display());
        println!(
            "{:<30}{:>10}{:>10}  {:<24}{:<24}",
            "", "ours MB/s", "fio MB/s", "ours ÷ fio", "for processor time"
        );
        if let Err(error) = runtime.block_on(beside(directory, &options)) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn beside(directory: &Path, options: &Options) -> Result<(), String> {
    let place = tempfile::Builder::new().prefix("primetime-fio-").tempdir_in(directory);
    let place = place.map_err(|error| format!("{}: {error}", directory.display()))?;
    let generator = Generator::prepare(place.path(), options.mib << 20).await;
    let generator = generator.map_err(|error| error.to_string())?;
    for row in &ROWS {
        let Row { random, io_bytes, data_cache, .. } = *row;
        let reads = Reads { random, io_bytes, seconds: options.seconds, data_cache };
        let mut pairs = Vec::new();
        for pair in 0..options.pairs {
            // Who is first changes, so that what one leaves to the other evens out.
            let first = if pair % 2 == 0 { Some(ours(&generator, reads).await?) } else { None };
            let theirs = fio::rates(&generator.file(), reads, &options.fio)?;
            let own = match first {
                Some(own) => own,
                None => ours(&generator, reads).await?,
            };
            pairs.push((theirs, own));
        }
        print_row(row.name, &pairs);
    }
    Ok(())
}

async fn ours(generator: &Generator, reads: Reads) -> Result<Rates, String> {
    let before = processor_time();
    let rate = generator.bytes_per_second(reads).await.map_err(|error| error.to_string())?;
    let used = (processor_time() - before).as_secs_f64();
    Ok(Rates { wall: rate, processor: rate * reads.seconds / used })
}

/// Of this process.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap()
}

fn print_row(name: &str, pairs: &[(Rates, Rates)]) {
    let ratio = |of: fn(&Rates) -> f64| {
        let pairs: Vec<(f64, f64)> = pairs.iter().map(|(fio, ours)| (of(fio), of(ours))).collect();
        let ratio = paired_ratio(&pairs)?;
        let interval = ratio.interval()?;
        Some(format!("{:.3} ({:.3} to {:.3})", ratio.ratio(), interval.low, interval.high))
    };
    let mean = |of: fn(&(Rates, Rates)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64 / 1e6;
    println!(
        "{name:<30}{:>10.1}{:>10.1}  {:<24}{:<24}",
        mean(|pair| pair.1.wall),
        mean(|pair| pair.0.wall),
        ratio(|rates| rates.wall).unwrap_or_default(),
        ratio(|rates| rates.processor).unwrap_or_default(),
    );
}
