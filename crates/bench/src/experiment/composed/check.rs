//! What makes no sense in a composed workload, or is too much.

use std::time::Duration;

use super::{Composed, FileSet, Line, Mode, Phase, Step};
use crate::experiment::parse::{
    Complaint, FILE_BYTES_MAX, FILES_MAX, IO_BYTES_MAX, THREADS_MAX, check_seconds, complain, is_name, within,
};

const SETS_MAX: u64 = 16;
const PHASES_MAX: u64 = 32;
/// Steps of one list, repetitions included.
const STEPS_MAX: u64 = 100_000;
const PASSES_MAX: u64 = 1_000_000_000;
const THINK_MAX: Duration = Duration::from_secs(3600);

/// The file that a thread has open at some point of its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenFile {
    mode: Mode,
}

pub(in crate::experiment) fn check(workload: &Composed) -> Result<(), Complaint> {
    within("threads", u64::from(workload.threads), 1, u64::from(THREADS_MAX))?;
    within("io_bytes", workload.io_bytes, 1, IO_BYTES_MAX)?;
    within("sets", workload.sets.len() as u64, 1, SETS_MAX)?;
    within("phases", workload.phases.len() as u64, 1, PHASES_MAX)?;
    for (name, set) in &workload.sets {
        check_set(name, set, workload.changes(name))?;
    }
    for phase in &workload.phases {
        check_phase(workload, phase)?;
    }
    if workload.measured().next().is_none() {
        return complain("phases", "no phase is measured");
    }
    for (index, phase) in workload.phases.iter().enumerate() {
        if workload.phases[..index].iter().any(|other| other.name == phase.name) {
            return complain("name", format!("two phases are called `{}`", phase.name));
        }
    }
    Ok(())
}

fn check_set(name: &str, set: &FileSet, changes: bool) -> Result<(), Complaint> {
    if !is_name(name) {
        return complain("sets", format!("`{name}` is no name: lower-case words joined by `-`"));
    }
    within("entries", set.entries, 1, FILES_MAX)?;
    within("width", set.width, 2, 1_000_000)?;
    within("size", set.size.extent(), 0, FILE_BYTES_MAX)?;
    if !(0.0..=1.0).contains(&set.preallocated) {
        return complain("preallocated", "`preallocated` is a share from 0 to 1");
    }
    if set.shared && changes {
        return complain(
            "shared",
            format!(
                "the files of the shared set `{name}` must not be created, deleted, renamed, appended to or \
                 rewritten"
            ),
        );
    }
    Ok(())
}

fn check_phase(workload: &Composed, phase: &Phase) -> Result<(), Complaint> {
    if !is_name(&phase.name) {
        return complain("name", format!("`{}` is no name: lower-case words joined by `-`", phase.name));
    }
    within("threads", u64::from(workload.threads_of(phase)), 1, u64::from(THREADS_MAX))?;
    within("passes", phase.passes.unwrap_or(1), 1, PASSES_MAX)?;
    check_seconds(phase.seconds)?;
    if phase.seconds.is_none() && phase.passes.is_none() {
        return complain("phases", format!("the phase `{}` needs `seconds`, `passes` or both", phase.name));
    }
    within("loop", phase.body.len() as u64, 1, STEPS_MAX)?;
    for list in [&phase.first, &phase.body, &phase.last] {
        within("times", list.iter().map(|line| u64::from(line.times)).sum(), 0, STEPS_MAX)?;
    }
    for name in &phase.counts {
        let named = |line: &Line| line.step.word() == name;
        if !phase.body.iter().chain(&phase.last).any(named) {
            return complain(
                "counts",
                format!("`{name}` counts, but the phase `{}` has no such step", phase.name),
            );
        }
    }
    if !phase.body.iter().any(|line| phase.counts_step(line.step.word())) {
        return complain("loop", format!("the loop of the phase `{}` has nothing that counts", phase.name));
    }
    let opened = check_steps(workload, &phase.first, None)?;
    let after = check_steps(workload, &phase.body, opened)?;
    if after != opened {
        return complain(
            "loop",
            format!("the loop of the phase `{}` must leave a file open or closed as it found it", phase.name),
        );
    }
    check_steps(workload, &phase.last, opened).map(drop)
}

/// Goes through the steps with `held` open, and gives what is open after them.
fn check_steps(
    workload: &Composed,
    lines: &[Line],
    mut held: Option<OpenFile>,
) -> Result<Option<OpenFile>, Complaint> {
    for line in lines {
        if line.times == 0 {
            return complain("loop", format!("`{}` cannot be done 0 times", line.step.word()));
        }
        // The second time shows whether it can be repeated.
        for _ in 0..line.times.min(2) {
            held = after(workload, &line.step, held)?;
        }
    }
    Ok(held)
}

fn after(workload: &Composed, step: &Step, held: Option<OpenFile>) -> Result<Option<OpenFile>, Complaint> {
    let word = step.word();
    if let Some(name) = step.set() {
        if !workload.sets.contains_key(name) {
            let known: Vec<&str> = workload.sets.keys().map(String::as_str).collect();
            return complain(word, super::words::unknown("set", name, &known));
        }
        if held.is_some() {
            return complain(word, format!("`{word}` picks a file while another is open; close that first"));
        }
    } else if held.is_none() && !matches!(step, Step::Think { .. }) {
        return complain(word, format!("`{word}` needs an open file; `open` or `create` one first"));
    }
    let can_read = held.is_some_and(|held| held.mode.reads());
    let can_write = held.is_some_and(|held| held.mode.writes());
    match step {
        Step::Create { .. } => return Ok(Some(OpenFile { mode: Mode::ReadWrite })),
        Step::Open { mode, .. } => return Ok(Some(OpenFile { mode: *mode })),
        Step::Close => return Ok(None),
        Step::ReadWhole if !can_read => return not_open_for(word, "reading"),
        Step::WriteWhole if !can_write => return not_open_for(word, "writing"),
        Step::ReadAt { bytes, .. } => {
            within("read-at", *bytes, 1, IO_BYTES_MAX)?;
            if !can_read {
                return not_open_for(word, "reading");
            }
        }
        Step::WriteAt { bytes, .. } | Step::Append { bytes, .. } => {
            within(word, *bytes, 1, IO_BYTES_MAX)?;
            if !can_write {
                return not_open_for(word, "writing");
            }
        }
        Step::Lock { exclusive: true } if !can_write => return not_open_for("lock write", "writing"),
        Step::Lock { exclusive: false } if !can_read => return not_open_for("lock read", "reading"),
        Step::Think { time } if *time > THINK_MAX => {
            return complain("think", "more than an hour of thinking");
        }
        _ => {}
    }
    Ok(held)
}

fn not_open_for<T>(word: &'static str, purpose: &str) -> Result<T, Complaint> {
    complain(word, format!("`{word}` needs a file that is open for {purpose}"))
}
