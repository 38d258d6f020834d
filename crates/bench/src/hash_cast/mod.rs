//! Hash-Cast: why some of many equal clients are served several times as fast as others, and what cures it.
//!
//! A network card with several transmit queues puts each busy flow into one of them by a hash, and all queues
//! send at the same rate; flows that share a queue get a fraction. See `docs/hash-cast.md`.
//!
//! Owns the probabilities, the experiment on an emulated card, its document and its page. It knows nothing of
//! the other experiments.

mod cures;
mod document;
mod error;
mod measure;
mod nfs;
mod options;
mod page;
pub mod probability;
pub mod samples;
mod shares;
mod spread;
mod summary;
mod svg;
mod verdict;

use std::path::Path;

use netlab::cards::cards;

pub use document::{
    CardOutlook, Curve, HashCast, MeasuredLink, Measurement, Probabilities, Run, SCHEMA, Setup,
};
pub use error::Error;
pub use options::{Options, Workload};
pub use page::html;
pub use shares::predicted;
pub use spread::{Group, groups, is_near_whole, variation};
pub use summary::summary;

use crate::results::{Environment, write_whole};
use crate::runner::Stop;

/// The ratios that curves are drawn for.
const RATIOS: std::ops::RangeInclusive<u32> = 2..=8;

/// The most flows of a curve, as in the published figure.
const CURVE_FLOWS: u32 = 64;

/// Measures, and writes `hash-cast.json` and `hash-cast.html` into [`Options::out`]. Shows progress on
/// standard error. What it makes is gone afterwards, also after an error, Ctrl-C or SIGTERM.
///
/// # Errors
/// When something stands in the way ([`Error::is_invalid_run`] is false) or the measurement cannot be trusted
/// (true). Nothing is written then.
pub fn run(options: &Options) -> Result<HashCast, Error> {
    options.check()?;
    let made = !options.out.exists();
    std::fs::create_dir_all(&options.out)
        .map_err(|source| Error::Out { path: options.out.clone(), source })?;
    let outcome = run_into_directory(options);
    if made && outcome.is_err() {
        // Only when it is still empty; what could be written before an error is worth keeping.
        let _ = std::fs::remove_dir(&options.out);
    }
    outcome
}

fn run_into_directory(options: &Options) -> Result<HashCast, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(Error::Threads)?;
    let stop = runtime.block_on(async { Stop::listen() })?;
    let mut document = unmeasured(options);
    if !options.workloads.is_empty() {
        document.setup = Some(setup(options));
        document.measurements = measure::measure(options, &stop)?;
        document.notes = options.missing_cures();
    }
    document.verdict = verdict::verdict(&document);
    document.environment.doubts.extend(verdict::doubts(&document));
    write(&document, &options.out)?;
    Ok(document)
}

/// What is known without measuring.
fn unmeasured(options: &Options) -> HashCast {
    let curve = |ratio| Curve {
        ratio,
        by_flows: probability::ratio_at_least(options.queues, CURVE_FLOWS.max(options.clients), ratio),
    };
    let outlook = |card: netlab::cards::Card| {
        let queues = card.transmit_queues.clamp(1, probability::QUEUES_MAX);
        CardOutlook {
            name: card.name,
            transmit_queues: card.transmit_queues,
            discipline: card.discipline,
            at_least_twice: probability::ratio_at_least(queues, options.clients, 2)[options.clients as usize],
        }
    };
    let mut environment =
        Environment::of_this_machine(&options.tool_version, options.command_line.clone(), options.seed);
    if cfg!(debug_assertions) && !options.workloads.is_empty() {
        environment
            .doubts
            .push("This is a debug build, which is many times slower; build with --release.".to_owned());
    }
    HashCast {
        schema: SCHEMA,
        environment,
        probabilities: Probabilities {
            queues: options.queues,
            flows: options.clients,
            curves: RATIOS.map(curve).collect(),
        },
        cards: cards().into_iter().map(outlook).collect(),
        setup: None,
        measurements: Vec::new(),
        verdict: String::new(),
        notes: Vec::new(),
    }
}

fn setup(options: &Options) -> Setup {
    Setup {
        clients: options.clients,
        queues: options.queues,
        rate_bytes_per_second: options.rate_bytes_per_second(),
        rtt_ms: options.rtt_ms,
        receive_buffer_bytes: options.receive_buffer_bytes(),
        congestion_control: options.congestion_control.clone(),
        window_clamp_bytes: options.window_clamp_bytes.filter(|_| !options.cures),
        seconds: options.seconds,
    }
}

fn write(document: &HashCast, directory: &Path) -> Result<(), Error> {
    document.save(&directory.join("hash-cast.json"))?;
    Ok(write_whole(&directory.join("hash-cast.html"), html(document).as_bytes())?)
}
