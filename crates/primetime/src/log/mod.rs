//! What the libraries report, on standard error: how much, in which form, and how often.

mod once_a_minute;

use std::io::stderr;

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::failure::Failure;
use once_a_minute::OnceAMinute;

/// What is reported.
#[derive(Debug, Args)]
pub(crate) struct LogOptions {
    /// What to report on standard error: a level (error, warn, info, debug, trace), or levels by module, such
    /// as `info,rpc=debug`
    #[arg(long, value_name = "LEVELS", env = "PRIMETIME_LOG", default_value = "warn")]
    log: String,
    /// The form of a report
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Text)]
    log_format: Form,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line for people
    Text,
    /// A JSON object in a line, for machines
    Json,
}

/// Begins to report.
///
/// # Errors
/// Levels that are none.
pub(crate) fn begin(options: &LogOptions) -> Result<(), Failure> {
    let levels: EnvFilter = options.log.parse().map_err(|error: ParseError| {
        Failure::set_up(format_args!(
            "`{}` is no list of levels: {error}; give one as in --log info,rpc=debug",
            options.log
        ))
    })?;
    let lines = match options.log_format {
        // The service manager's journal has times of its own, but a file has none.
        Form::Text => fmt::layer().with_ansi(false).with_writer(stderr).boxed(),
        Form::Json => fmt::layer().json().flatten_event(true).with_writer(stderr).boxed(),
    };
    let lines = lines.with_filter(OnceAMinute::default());
    tracing_subscriber::registry().with(levels).with(lines).init();
    Ok(())
}
