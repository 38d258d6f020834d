//! From TOML to an [`Experiment`], with the line of whatever is wrong.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::error::nearest;
use super::variant::{self, Variant};
use super::{Error, Experiment, Setup, Workload, composed};
use crate::results::{Figure, MARK_UNITS, Mark, Metric, PHASE};
use crate::security::Security;

/// The most clients that an experiment may start.
pub const CLIENTS_MAX: u32 = 1024;

pub(super) const THREADS_MAX: u32 = 4096;
pub(super) const FILES_MAX: u64 = 10_000_000;
const ROUNDS_MAX: u32 = 1_000_000;
pub(super) const IO_BYTES_MAX: u64 = 64 << 20;
pub(super) const FILE_BYTES_MAX: u64 = 16 << 40;
const SECONDS_MAX: f64 = 86_400.0;
const NAME_BYTES_MAX: usize = 64;
const VERSIONS: [&str; 4] = ["3", "4.0", "4.1", "4.2"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: Spanned<String>,
    question: String,
    study: String,
    metric: Metric,
    #[serde(default)]
    figure: Figure,
    #[serde(default)]
    published: Vec<Spanned<Mark>>,
    #[serde(default)]
    security: Vec<Security>,
    default: Spanned<Setup>,
    quick: Option<Spanned<Variant>>,
    scaled: Option<Spanned<Variant>>,
    paper: Option<Spanned<Variant>>,
}

/// The same document as it stands, to make other sizes and levels from.
#[derive(Deserialize)]
struct Raw {
    default: toml::Table,
}

/// Reads the experiment in `source`; `file` is its name for messages.
///
/// # Errors
/// [`Error::Invalid`] when it is no TOML, a word is unknown, a field is missing, or a value is out of bounds.
pub fn parse(source: &str, file: &str) -> Result<Experiment, Error> {
    let place = SourcePosition { source, file };
    let document: Document = toml::from_str(source).map_err(|error| place.syntax(&error))?;
    if !is_name(document.name.get_ref()) {
        let message = "a name is lower-case words joined by `-`, at most 64 letters".to_owned();
        return Err(place.invalid(document.name.span(), "name", message));
    }
    let raw: Raw = toml::from_str(source).map_err(|error| place.syntax(&error))?;
    let span = document.default.span();
    let mut default = document.default.into_inner();
    check_setup(&default, default.workload.kind())
        .and_then(|()| variant::add_points(&mut default, &raw.default))
        .map_err(|(field, message)| place.invalid(span, &field, message))?;
    let resolve = |variant: Option<Spanned<Variant>>| -> Result<Option<Setup>, Error> {
        let Some(variant) = variant else { return Ok(None) };
        let span = variant.span();
        let setup = variant::resolve(variant.into_inner(), &default, &raw.default);
        setup.map(Some).map_err(|(field, message)| place.invalid(span, &field, message))
    };
    let [quick, scaled, paper] =
        [resolve(document.quick)?, resolve(document.scaled)?, resolve(document.paper)?];
    for mark in &document.published {
        check_mark(mark.get_ref()).map_err(|(field, message)| place.invalid(mark.span(), &field, message))?;
    }
    check_figure(&document.figure, [Some(&default), quick.as_ref(), scaled.as_ref(), paper.as_ref()])
        .map_err(|(field, message)| place.invalid(0..0, &field, message))?;
    Ok(Experiment {
        name: document.name.into_inner(),
        question: document.question,
        study: document.study,
        metric: document.metric,
        figure: document.figure,
        published: document.published.into_iter().map(Spanned::into_inner).collect(),
        security: document.security,
        default,
        quick,
        scaled,
        paper,
        source: source.to_owned(),
    })
}

fn check_mark(mark: &Mark) -> Result<(), Complaint> {
    if !MARK_UNITS.contains(&mark.unit.as_str()) {
        return complain("unit", composed::unknown("unit", &mark.unit, &MARK_UNITS));
    }
    if !VERSIONS.contains(&mark.version.as_str()) {
        return complain("version", composed::unknown("version", &mark.version, &VERSIONS));
    }
    if !mark.value.is_finite() || !mark.rtt_ms.is_finite() {
        return complain("value", "a published value is a finite number");
    }
    Ok(())
}

/// The axis across must be something that some size varies.
fn check_figure(figure: &Figure, sizes: [Option<&Setup>; 4]) -> Result<(), Complaint> {
    let mut known = vec!["delay", PHASE];
    known.extend(sizes.into_iter().flatten().flat_map(Setup::factors));
    if known.contains(&figure.x.as_str()) {
        return Ok(());
    }
    complain("x", composed::unknown("factor", &figure.x, &known))
}

/// Whether `name` is lower-case words joined by `-`.
pub(super) fn is_name(name: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= NAME_BYTES_MAX && name.split('-').all(word)
}

/// A field and what is wrong with it.
pub(super) type Complaint = (String, String);

/// Complains about `field`.
pub(super) fn complain<T>(field: &str, message: impl Into<String>) -> Result<T, Complaint> {
    Err((field.to_owned(), message.into()))
}

/// Fails unless everything is within its bounds, and the workload is of this kind.
pub(super) fn check_setup(setup: &Setup, kind: &str) -> Result<(), Complaint> {
    let workload = &setup.workload;
    if workload.kind() != kind {
        return complain(
            "workload",
            format!("every size of an experiment has the same workload, here `{kind}`"),
        );
    }
    within("clients", u64::from(setup.clients), 1, u64::from(CLIENTS_MAX))?;
    if !(0.0..=SECONDS_MAX).contains(&setup.stagger_seconds) {
        return complain("stagger_seconds", format!("`stagger_seconds` must be from 0 to {SECONDS_MAX}"));
    }
    if let Workload::Composed(workload) = workload {
        return composed::check(workload);
    }
    within("threads", u64::from(workload.threads()), 1, u64::from(THREADS_MAX))?;
    within("files", workload.files().unwrap_or(1), 1, FILES_MAX)?;
    check_seconds(workload.seconds())?;
    check_bytes(workload)?;
    match workload {
        Workload::Create { files: None, seconds: None, .. } => {
            complain("create", "`create` needs `files`, `seconds` or both")
        }
        Workload::SourceTree { directories, files, .. } => within("directories", *directories, 1, *files),
        Workload::LockedRead { rounds, .. } => within("rounds", u64::from(*rounds), 1, u64::from(ROUNDS_MAX)),
        _ => Ok(()),
    }
}

pub(super) fn check_seconds(seconds: Option<f64>) -> Result<(), Complaint> {
    if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= SECONDS_MAX)) {
        return complain("seconds", format!("`seconds` must be above 0 and at most {SECONDS_MAX}"));
    }
    Ok(())
}

fn check_bytes(workload: &Workload) -> Result<(), Complaint> {
    let smallest = u64::from(!matches!(workload, Workload::Create { .. }));
    within("file_bytes", workload.file_bytes(), smallest, FILE_BYTES_MAX)?;
    match workload {
        Workload::SequentialRead { file_bytes, io_bytes, .. }
        | Workload::SequentialWrite { file_bytes, io_bytes, .. }
        | Workload::RandomRead { file_bytes, io_bytes, .. }
        | Workload::RandomWrite { file_bytes, io_bytes, .. } => {
            within("io_bytes", *io_bytes, 1, IO_BYTES_MAX.min(*file_bytes))
        }
        // Small files are read and written whole, in one buffer.
        _ => within("file_bytes", workload.file_bytes(), smallest, IO_BYTES_MAX),
    }
}

pub(super) fn within(field: &str, value: u64, low: u64, high: u64) -> Result<(), Complaint> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    complain(field, format!("`{field}` is {value} and must be from {low} to {high}"))
}

/// Where a message points.
struct SourcePosition<'a> {
    source: &'a str,
    file: &'a str,
}

impl SourcePosition<'_> {
    fn syntax(&self, error: &toml::de::Error) -> Error {
        let message = as_serde_words_it(error.message());
        Error::Invalid {
            file: self.file.to_owned(),
            line: self.line(error.span().map_or(0, |span| span.start)),
            nearest: nearest_expected(&message),
            message,
        }
    }

    /// A complaint about `field` in the table at `span`: its line, or the table's where it does not stand
    /// there.
    fn invalid(&self, span: Range<usize>, field: &str, message: String) -> Error {
        let line = self.line(span.start);
        let own = self.source.lines().enumerate().skip(line - 1).find(|(_, text)| {
            let key = text.split('=').next().unwrap_or_default().trim().trim_end_matches(['"', ']', ',']);
            let last = key.rsplit('.').next().unwrap_or_default();
            // A step of a loop is a line that begins with its operation.
            let step = key
                .trim_start_matches('"')
                .split(' ')
                .find(|word| word.parse::<u32>().is_err() && *word != "*");
            last.trim_matches('"') == field || (key.starts_with('"') && step == Some(field))
        });
        Error::Invalid {
            file: self.file.to_owned(),
            line: own.map_or(line, |(index, _)| index + 1),
            nearest: nearest_expected(&message),
            message,
        }
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.source.as_bytes().get(..offset).unwrap_or(self.source.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

/// The TOML reader has words of its own for unknown fields of an enum's variant:
/// "unexpected keys in table: x, available keys: a, b".
pub(super) fn as_serde_words_it(message: &str) -> String {
    let parts = message
        .strip_prefix("unexpected keys in table: ")
        .and_then(|rest| rest.split_once(", available keys: "));
    parts.map_or_else(
        || message.to_owned(),
        |(unknown, known)| {
            let unknown = unknown.split(", ").next().unwrap_or_default();
            format!("unknown field `{unknown}`, expected one of `{}`", known.replace(", ", "`, `"))
        },
    )
}

/// serde words an unknown field or variant as "unknown field `x`, expected one of `a`, `b`".
fn nearest_expected(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    nearest(word, quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"name = "mine"
question = "Is it fast?"
study = "none"

[metric]
name = "throughput"
unit = "op/s"
better = "higher"

[default]
clients = 5

[default.workload.random-write]
file_bytes = "16 MiB"
io_bytes = 4096
threads = 2
sync = true
seconds = 0.5

[paper]
clients = 5
workload.random-write = { file_bytes = "20 GB", io_bytes = "4 KiB", threads = 1, sync = true, seconds = 300 }
"#;

    fn complaint(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        parse(&GOOD.replacen(from, to, 1), "mine.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_file_says_what_it_measures_and_how() {
        let experiment = parse(GOOD, "mine.toml").unwrap();
        assert_eq!(experiment.name, "mine");
        assert_eq!(experiment.quick, None);
        let Workload::RandomWrite { file_bytes, io_bytes, threads, sync, seconds } =
            experiment.default.workload
        else {
            panic!("another kind");
        };
        assert_eq!((file_bytes, io_bytes, threads, sync, seconds), (16 << 20, 4096, 2, true, 0.5));
        assert_eq!(experiment.paper.unwrap().workload.file_bytes(), 20_000_000_000);
    }

    #[test]
    fn an_unknown_word_is_named_with_its_line_and_the_nearest_valid_one() {
        let error = complaint("seconds = 0.5", "secnds = 0.5");
        assert!(error.starts_with("mine.toml:18: unknown field `secnds`"), "{error}");
        assert!(error.ends_with("did you mean `seconds`?"), "{error}");
        let error = complaint("[default.workload.random-write]", "[default.workload.random-wrte]");
        assert!(error.starts_with("mine.toml:13: unknown variant"), "{error}");
        assert!(error.ends_with("did you mean `random-write`?"), "{error}");
        let error = complaint("clients = 5", "client = 5");
        assert!(error.starts_with("mine.toml:11:") && error.ends_with("did you mean `clients`?"), "{error}");
        let error = complaint("\"higher\"", "\"hihger\"");
        assert!(error.starts_with("mine.toml:8:") && error.ends_with("did you mean `higher`?"), "{error}");
        let error = complaint("16 MiB", "16 Mib");
        assert!(error.starts_with("mine.toml:14:") && error.ends_with("did you mean `MiB`?"), "{error}");
        let error = complaint("[paper]", "[papper]");
        assert!(error.starts_with("mine.toml:20:") && error.ends_with("did you mean `paper`?"), "{error}");
    }

    #[test]
    fn a_missing_field_and_broken_toml_have_a_line() {
        let error = complaint("seconds = 0.5\n", "");
        assert!(error.starts_with("mine.toml:13: missing field `seconds`"), "{error}");
        let error = complaint("clients = 5", "clients = ");
        assert!(error.starts_with("mine.toml:11:"), "{error}");
        assert!(parse("", "mine.toml").is_err());
    }

    #[test]
    fn values_out_of_bounds_are_refused_at_their_line() {
        for (from, to, start) in [
            ("clients = 5", "clients = 0", "mine.toml:11: `clients` is 0"),
            ("clients = 5", "clients = 4000000", "mine.toml:11: `clients` is 4000000"),
            ("threads = 2", "threads = 0", "mine.toml:16: `threads` is 0"),
            ("seconds = 0.5", "seconds = 0.0", "mine.toml:18: `seconds`"),
            ("seconds = 0.5", "seconds = nan", "mine.toml:18: `seconds`"),
            ("io_bytes = 4096", "io_bytes = 0", "mine.toml:15: `io_bytes` is 0"),
            ("io_bytes = 4096", "io_bytes = \"32 MiB\"", "mine.toml:15: `io_bytes` is 33554432"),
            ("\"16 MiB\"", "\"64 TiB\"", "mine.toml:14: `file_bytes`"),
            ("\"mine\"", "\"My experiment\"", "mine.toml:1: a name is"),
            ("\"mine\"", "\"../mine\"", "mine.toml:1: a name is"),
        ] {
            let error = complaint(from, to);
            assert!(error.starts_with(start), "{error}");
        }
    }

    #[test]
    fn the_sizes_of_an_experiment_share_one_workload() {
        let other =
            "[quick]\nclients = 1\nworkload.create = { threads = 1, file_bytes = 0, seconds = 1 }\n[paper]";
        let error = complaint("[paper]", other);
        assert!(
            error.starts_with("mine.toml:20: every size") || error.starts_with("mine.toml:22: every size"),
            "{error}"
        );
    }

    #[test]
    fn creating_files_needs_an_end() {
        let start = GOOD.split("[default]").next().unwrap();
        let source = format!(
            "{start}[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\n"
        );
        let error = parse(&source, "mine.toml").unwrap_err().to_string();
        assert!(error.contains("needs `files`, `seconds` or both"), "{error}");
        assert!(parse(&format!("{source}files = 9\n"), "mine.toml").is_ok());
    }
}
