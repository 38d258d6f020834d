//! The page's tables. They hold everything that the figures show, for those who cannot or need not see these.

use super::escape::escape;
use super::latency_tables::latency_ratios;
use crate::results::{Cell, Comparison, Environment, Host, Mark, Results, named, version_name};
use crate::text::{bytes, delay, floors, measured, number, per_operation, percent, quantity, ratio, times};

/// The head of the ratios of times.
const TIMES: &str = "Time of an operation: p50, p99";

/// Every comparison with its reason, in groups of one experiment.
pub(super) fn comparisons(results: &Results) -> String {
    let mut rows = String::new();
    let mut last = String::new();
    let names = column_names(&results.comparisons);
    for comparison in &results.comparisons {
        let name = comparison.name();
        if name != last {
            rows.push_str(&group_row(results, comparison));
        }
        last = name;
        rows.push_str(&comparison_row(results, comparison, &names));
    }
    let [baseline, candidate] = names;
    table(
        "comparisons",
        "Every comparison: means with 95 % intervals, the ratio with the interval that the verdict follows \
         from (all of \
         them hold together with 95 %), what it means, and why",
        &["Delay", &baseline, &candidate, "Ratio [95 %]", TIMES, "Verdict", "Why"],
        &rows,
    )
}

/// The experiment's name and unit above its comparisons.
fn group_row(results: &Results, comparison: &Comparison) -> String {
    let unit =
        results.cells_of(comparison).map_or("", |(_, candidate)| candidate.setting.metric.unit.as_str());
    format!(
        "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"7\">{} <small>{}</small></th></tr>\n",
        escape(&comparison.name()),
        escape(unit)
    )
}

/// Each cell says what it is, for a page that is too narrow for columns.
fn comparison_row(results: &Results, comparison: &Comparison, names: &[String; 2]) -> String {
    let [left, right] = results.cells_of(comparison).map_or_else(Default::default, |(left, right)| {
        [left, right].map(|cell| escape(&measured(cell.mean, cell.ci95)))
    });
    let word = comparison.verdict.as_str();
    let words = escape(&results.verdict_words(comparison));
    format!(
        "<tr><th scope=\"row\" class=\"n name\">{}</th><td class=\"n\" data-name=\"{}\">{left}</td>\
         <td class=\"n\" data-name=\"{}\">{right}</td><td class=\"n ratio\" data-name=\"Ratio [95 \
         %]\">{}</td>\
         <td class=\"n times\" data-name=\"{TIMES}\">{}</td>\
         <td class=\"verdict-of\"><span class=\"badge {word}\">{words}</span></td>\
         <td class=\"why\">{}</td></tr>\n",
        escape(&delay(comparison.rtt_ms)),
        escape(&names[0]),
        escape(&names[1]),
        escape(&ratio(comparison.ratio, comparison.shown_interval())),
        escape(&latency_ratios(comparison)),
        escape(&comparison.reason)
    )
}

/// The versions where all comparisons have the same, else the roles.
pub(super) fn column_names(comparisons: &[Comparison]) -> [String; 2] {
    let Some(first) = comparisons.first() else { return ["baseline".to_owned(), "candidate".to_owned()] };
    let same = |other: &Comparison| {
        [other.baseline_name(), other.candidate_name()] == [first.baseline_name(), first.candidate_name()]
    };
    if comparisons.iter().all(same) {
        [first.baseline_name(), first.candidate_name()]
    } else {
        ["baseline".to_owned(), "candidate".to_owned()]
    }
}

/// Means and intervals of all cells.
pub(super) fn means(cells: &[Cell]) -> String {
    let row = |cell: &Cell| {
        format!(
            "<tr>{}<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            cell_key(cell),
            escape(&format!("{} {}", measured(cell.mean, cell.ci95), cell.setting.metric.unit)),
            cell.runs.len(),
            cell.fairness.map_or_else(|| "–".to_owned(), number),
            number(cell.start_skew_ms),
            latency(cell)
        )
    };
    let rows: String = cells.iter().map(row).collect();
    let heads = [
        "Experiment",
        "Delay",
        "Version",
        "Mean ± half of the 95 % interval",
        "Runs",
        "Fairness",
        "Start skew, ms",
        "One operation, ms: median, 99 %, longest; a request's wait in the client",
    ];
    table("means", "Means of all settings", &heads, &rows)
}

fn latency(cell: &Cell) -> String {
    cell.latency_ms.map_or_else(
        || "–".to_owned(),
        |latency| {
            let times = [latency.p50, latency.p99, latency.max, cell.queue_ms].map(number);
            times.join(", ")
        },
    )
}

/// What was published for the experiments, and ours for the same setting; nothing where nothing was
/// published.
pub(super) fn published(results: &Results) -> Option<String> {
    let mut rows = String::new();
    for asked in &results.experiments {
        for mark in &asked.published {
            let ours = ours(mark, &asked.name, results);
            rows.push_str(&format!(
                "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{} {}</td>\
                 <td class=\"n\">{ours}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                escape(&named(&asked.name, &mark.levels)),
                escape(&delay(mark.rtt_ms)),
                escape(&version_name(&mark.version, true)),
                number(mark.value),
                escape(&quantity(&mark.unit, &mark.of)),
                escape(&mark.label),
                escape(&mark.source),
                escape(&mark.difference)
            ));
        }
    }
    let heads = [
        "Experiment",
        "Delay",
        "Version",
        "Published",
        "Here",
        "Whose",
        "Source",
        "What was different there",
    ];
    (!rows.is_empty())
        .then(|| table("published", "Published values and ours for the same setting", &heads, &rows))
}

/// Ours, of each document that was put together.
fn ours(mark: &Mark, experiment: &str, results: &Results) -> String {
    let of_label = |label: &&str| {
        let value = mark.ours_of(experiment, results, label).map(number)?;
        Some(if label.is_empty() { value } else { format!("{} {value}", escape(label)) })
    };
    let values: Vec<String> = results.labels().iter().filter_map(of_label).collect();
    if values.is_empty() { "–".to_owned() } else { values.join("<br>") }
}

/// Requests by operation of all cells.
pub(super) fn requests(cells: &[Cell]) -> String {
    let row = |cell: &Cell| {
        let each = |count: f64| {
            if cell.operations > 0 { per_operation(count / cell.operations as f64) } else { "–".to_owned() }
        };
        let share = |count: u64| percent(count as f64 / cell.rpcs_total.max(1) as f64);
        let by_name: Vec<String> = cell
            .rpcs
            .iter()
            .map(|(name, count)| format!("{name} {} ({})", each(*count as f64), share(*count)))
            .collect();
        format!(
            "<tr>{}<td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>\n",
            cell_key(cell),
            each(cell.rpcs_total as f64),
            floors(cell.floors),
            escape(&by_name.join(", ")),
            bytes(cell.wire_bytes.sent as f64),
            bytes(cell.wire_bytes.received as f64),
            cell.read_gain().map_or_else(|| "–".to_owned(), times)
        )
    };
    let rows: String = cells.iter().map(row).collect();
    let heads = [
        "Experiment",
        "Delay",
        "Version",
        "Requests per operation",
        "Fewest: POSIX, COMPOUND",
        "By name (share)",
        "Sent",
        "Received",
        "Application read ÷ client read",
    ];
    table("requests", "Requests and bytes of the median run", &heads, &rows)
}

pub(super) fn cell_key(cell: &Cell) -> String {
    format!(
        "<th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td>",
        escape(&cell.setting.name()),
        escape(&delay(cell.setting.rtt_ms)),
        escape(&cell.version_name())
    )
}

/// Machine, tool, network and what was negotiated.
pub(super) fn environment(environment: &Environment) -> String {
    let mut rows = String::new();
    let mut add = |name: &str, value: &str| {
        rows.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
            escape(name),
            escape(value)
        ));
    };
    add("Date", &environment.date);
    add("Tool", &format!("primetime {}", environment.tool_version));
    add("Command", &environment.command_line.join(" "));
    add("Seed", &environment.seed.to_string());
    add("Kernel", &environment.kernel);
    add("Processor", &format!("{} ({} usable cores)", environment.cpu_model, environment.cores));
    for host in &environment.hosts {
        let Host { name, kernel, cpu_model, cores, clock_error_ms, clock_drift_ms } = host;
        let text = format!(
            "{kernel}, {cpu_model} ({cores} usable cores), clock within {clock_error_ms:.2} ms, \
             moved by {clock_drift_ms:.2} ms within a run"
        );
        add(&format!("Clients on {name}"), &text);
    }
    if let Some(Host { name, kernel, cpu_model, cores, .. }) = &environment.server_host {
        add(&format!("Server on {name}"), &format!("{kernel}, {cpu_model} ({cores} usable cores)"));
    }
    add("Memory", &bytes(environment.memory_bytes as f64));
    for link in &environment.links {
        let value = format!(
            "{} ms measured over {} NULL calls ({})",
            number(link.measured_ms),
            link.calls,
            link.kind
        );
        add(&format!("Link of {}", delay(link.rtt_ms)), &value);
    }
    for (version, options) in environment.negotiated.iter().filter(|(_, options)| !options.is_empty()) {
        let options: Vec<String> = options.iter().map(|(name, value)| format!("{name} {value}")).collect();
        add(&format!("Negotiated with v{version}"), &options.join(", "));
    }
    table("environment", "Where and how it was measured", &["What", "Value"], &rows)
}

/// A table that scrolls within itself; `rows` are elements, the rest is text.
pub(crate) fn table(class: &str, caption: &str, heads: &[&str], rows: &str) -> String {
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escape(head))).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table \
         class=\"{class}\"><caption>{0}</caption>\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
        escape(caption)
    )
}
