//! The rules: each looks at two cells and may say one thing, with its numbers.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::resources::{disk_bound, fewer_disk_writes, processor_bound, recalled, server_bound};
use crate::text::{bytes, delay, list, number, per_operation, percent};

/// A request count below this share of the other side's means that a cache served the rest.
const CACHED_REQUESTS_MAX: f64 = 0.5;
/// Fewer requests for each operation than this make no difference worth a sentence.
const REQUESTS_DIFFERENCE_MIN: f64 = 0.05;
/// An operation is named when its count differs by at least this much for each operation of the application.
const NAMED_DIFFERENCE_MIN: f64 = 0.05;
/// More names than this make no sentence.
const NAMED_MAX: usize = 4;
/// A client is bound by slots when its requests wait this share of their lives.
const SLOT_BOUND_SHARE: f64 = 0.2;
/// An operation is bound by latency when the delay explains this share of it.
const LATENCY_BOUND_SHARE: f64 = 0.8;
/// Asking for attributes is worth a sentence from this share of all requests.
const REVALIDATION_SHARE: f64 = 0.3;
/// Bytes must differ by this share and this much for each operation; fewer are lost among the headers.
const BYTES_SHARE_MIN: f64 = 0.1;
const BYTES_DIFFERENCE_MIN: f64 = 1024.0;
/// Times to a reply must differ by this share to be the reason of a difference that is certain.
const REPLY_SHARE_MIN: f64 = 0.02;

/// Which side a finding speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Favours {
    Baseline,
    Candidate,
    Neither,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) favours: Favours,
    pub(super) text: String,
}

/// Everything the rules find, the weightiest first. Times to a reply are looked at only for a difference that
/// is `certain` and that counts do not explain: they are noise otherwise.
pub(super) fn findings(baseline: &Facts<'_>, candidate: &Facts<'_>, certain: bool) -> Vec<Finding> {
    let sides = [(baseline, candidate, Favours::Baseline), (candidate, baseline, Favours::Candidate)];
    let either = |rule: Rule| sides.iter().find_map(|(one, other, side)| rule(one, other, *side));
    let requests = either(cache_served).or_else(|| either(fewer_requests));
    let by_requests = requests.is_some();
    let by_writes = either(fewer_disk_writes).filter(|_| certain);
    let disk = if by_writes.is_some() { None } else { disk_bound(baseline, candidate) };
    requests
        .into_iter()
        .chain(either(slot_bound))
        .chain(either(recalled))
        .chain(either(fewer_bytes))
        .chain(by_writes)
        .chain(either(processor_bound).or_else(|| either(server_bound)).filter(|_| certain))
        .chain(either(quicker_replies).filter(|_| certain && !by_requests))
        .chain(latency_bound(baseline, candidate).filter(|_| !by_requests))
        .chain(disk.filter(|_| !by_requests))
        .chain(either(revalidation))
        .collect()
}

/// A rule about `one` against `other`; `side` is the side of `one`.
type Rule = fn(&Facts<'_>, &Facts<'_>, Favours) -> Option<Finding>;

pub(super) fn finding(favours: Favours, text: String) -> Option<Finding> {
    Some(Finding { favours, text })
}

/// `one` answers operations without asking the server.
fn cache_served(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let (own, others) = (one.requests?, other.requests?);
    let moved = one.amplification.is_none_or(|bytes| bytes >= CACHED_REQUESTS_MAX);
    if own >= CACHED_REQUESTS_MAX || own > others * CACHED_REQUESTS_MAX || moved {
        return None;
    }
    let saved = if one.rtt_ms > 0.0 {
        let saved_ms = (others - own) * one.rtt_ms;
        format!(", which saves {} ms of waiting at {} delay", number(saved_ms), delay(one.rtt_ms))
    } else {
        String::new()
    };
    let text = format!(
        "{} serves {} of the operations from its cache: {} requests per operation against {} of {}{saved}.",
        one.name,
        percent(1.0 - own),
        per_operation(own),
        per_operation(others),
        other.name
    );
    finding(side, text)
}

/// `one` gets by with fewer requests; what `other` sends beyond them is named.
fn fewer_requests(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let (own, others) = (one.requests?, other.requests?);
    let more = others - own;
    if more < REQUESTS_DIFFERENCE_MIN || more < others * REQUESTS_DIFFERENCE_MIN {
        return None;
    }
    let names = beyond(other, one);
    let instead = beyond(one, other);
    let what = match (names.is_empty(), instead.is_empty()) {
        (true, _) => "more requests".to_owned(),
        (false, true) => list(&names),
        (false, false) => format!("{} instead of {}", list(&names), list(&instead)),
    };
    let cost = if one.rtt_ms > 0.0 {
        format!(" × {} = {} ms", delay(one.rtt_ms), number(more * one.rtt_ms))
    } else {
        format!(" ({} against {})", per_operation(others), per_operation(own))
    };
    let text =
        format!("{} sends {what}: {} more requests per operation{cost}.", other.name, per_operation(more));
    finding(side, text)
}

/// The operations that `one` sends notably more often than `other`, most first.
fn beyond<'a>(one: &Facts<'a>, other: &Facts<'a>) -> Vec<&'a str> {
    let names: BTreeSet<&str> = one.by_name.keys().chain(other.by_name.keys()).copied().collect();
    let count = |facts: &Facts<'_>, name: &str| facts.by_name.get(name).copied().unwrap_or(0.0);
    let mut more: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (count(one, name) - count(other, name), name))
        .filter(|(difference, _)| *difference >= NAMED_DIFFERENCE_MIN)
        .collect();
    // In tenths, so that operations that come in pairs stay together although a few were cut off at the end.
    let tenths = |difference: f64| (difference * 10.0).round();
    more.sort_by(|(left, left_name), (right, right_name)| {
        let by_life = life_order(left_name).cmp(&life_order(right_name)).then(left_name.cmp(right_name));
        tenths(*right).total_cmp(&tenths(*left)).then(by_life)
    });
    more.into_iter().map(|(_, name)| name).take(NAMED_MAX).collect()
}

/// Where an operation comes in the use of a file.
fn life_order(name: &str) -> usize {
    const LIFE: [&str; 12] = [
        "LOOKUP", "CREATE", "OPEN", "ACCESS", "GETATTR", "LOCK", "READ", "WRITE", "COMMIT", "UNLOCK",
        "LOCKU", "CLOSE",
    ];
    LIFE.iter().position(|known| *known == name).unwrap_or(LIFE.len())
}

/// The requests of `other` wait for slots and those of `one` do not.
fn slot_bound(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let (own, others) = (one.queue_share()?, other.queue_share()?);
    if others < SLOT_BOUND_SHARE || own >= SLOT_BOUND_SHARE {
        return None;
    }
    let text = format!(
        "Requests of {} wait {} of {} ms in the client for a free slot or the connection ({}; {}: {}).",
        other.name,
        number(other.queue_ms),
        number(other.queue_ms + other.wire_ms),
        percent(others),
        one.name,
        percent(own)
    );
    finding(side, text)
}

/// `one` moves fewer bytes for the same work.
fn fewer_bytes(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let (own, others) = (one.wire_bytes?, other.wire_bytes?);
    if own <= 0.0 || others - own < (others * BYTES_SHARE_MIN).max(BYTES_DIFFERENCE_MIN) {
        return None;
    }
    let text = format!(
        "{} moves {} per operation over the wire, {} {}.",
        one.name,
        bytes(own),
        other.name,
        bytes(others)
    );
    finding(side, text)
}

/// The same requests are answered sooner.
fn quicker_replies(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    if one.wire_ms <= 0.0 || other.wire_ms - one.wire_ms < other.wire_ms * REPLY_SHARE_MIN {
        return None;
    }
    let text = format!(
        "A request of {} is answered in {} ms, one of {} in {} ms: the time goes into each request, not into \
         more of them.",
        one.name,
        number(one.wire_ms),
        other.name,
        number(other.wire_ms)
    );
    finding(side, text)
}

/// The delay leaves nothing for the versions to differ in.
fn latency_bound(baseline: &Facts<'_>, candidate: &Facts<'_>) -> Option<Finding> {
    let (left, right) = (baseline.delay_share()?, candidate.delay_share()?);
    if left < LATENCY_BOUND_SHARE || right < LATENCY_BOUND_SHARE {
        return None;
    }
    let text = format!(
        "Both are bound by the delay: {} requests per operation × {} is at least {} of an operation's time.",
        per_operation(baseline.requests?),
        delay(baseline.rtt_ms),
        percent(left.min(right).min(1.0))
    );
    finding(Favours::Neither, text)
}

/// A large part of the requests of `other` only asks whether its cache is valid.
fn revalidation(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let (own, others) = (one.revalidation_share()?, other.revalidation_share()?);
    let more = others * other.requests? - own * one.requests?;
    if others < REVALIDATION_SHARE || more < NAMED_DIFFERENCE_MIN {
        return None;
    }
    let text = format!(
        "{} of the requests of {} only ask whether its cache is still valid (GETATTR, ACCESS).",
        percent(others),
        other.name
    );
    finding(side, text)
}

#[cfg(test)]
mod tests {
    use super::super::reason;
    use crate::results::{Cell, Floors, WireBytes};
    use crate::samples;
    use crate::statistics::Outcome;

    /// A cell of 1,000 operations of 4 KiB with these requests.
    fn cell(version: &str, rtt_ms: f64, rpcs: &[(&str, u64)]) -> Cell {
        let total: u64 = rpcs.iter().map(|(_, count)| count).sum();
        Cell {
            against: Vec::new(),
            compound_operations: Default::default(),
            callbacks: Default::default(),
            read_bytes: 0,
            application_read_bytes: 0,
            latency_ms: None,
            latency_histogram: Default::default(),
            setting: samples::setting(version, rtt_ms),
            runs: vec![100.0, 101.0, 102.0],
            looks: Vec::new(),
            mean: 101.0,
            ci95: Some([98.5, 103.5]),
            seconds: 1.0,
            operations: 1000,
            application_bytes: 4_096_000,
            rpcs: rpcs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            rpcs_total: total,
            floors: None,
            wire_bytes: WireBytes { sent: 200 * total, received: 4_300_000 },
            queue_ms: 0.0,
            wire_ms: rtt_ms + 0.1,
            resources: None,
            start_skew_ms: 0.0,
            fairness: None,
            doubts: vec![],
            run_details: vec![],
        }
    }

    #[test]
    fn extra_operations_are_named_and_multiplied_by_the_delay() {
        let v3 = cell("3", 10.0, &[("READ", 1000)]);
        let v4 = cell("4.1", 10.0, &[("READ", 1000), ("OPEN", 1000), ("CLOSE", 1000)]);
        let reason = reason(&v3, &v4, Outcome::Slower);
        assert!(
            reason.starts_with(
                "v4.1 sends OPEN and CLOSE: 2.00 more requests per operation × 10 ms = 20.0 ms."
            ),
            "{reason}"
        );
    }

    #[test]
    fn operations_that_replace_others_are_named_with_them() {
        let v3 = cell("3", 0.0, &[("LOOKUP", 1000), ("CREATE", 1000)]);
        let v4 = cell("4.1", 0.0, &[("OPEN", 1000), ("CLOSE", 1000), ("SETATTR", 1000)]);
        let reason = reason(&v3, &v4, Outcome::Slower);
        assert!(
            reason.contains("OPEN, CLOSE and SETATTR instead of LOOKUP and CREATE: 1.00 more"),
            "{reason}"
        );
        assert!(reason.contains("(3.00 against 2.00)"), "{reason}");
    }

    #[test]
    fn a_cache_that_serves_is_named_with_what_it_saves() {
        let v3 = cell("3", 10.0, &[("ACCESS", 1000), ("GETATTR", 1000), ("READ", 1000)]);
        let mut v4 = cell("4.1", 10.0, &[("OPEN", 10), ("READ", 10)]);
        v4.wire_bytes = WireBytes { sent: 4_000, received: 45_000 };
        let reason = reason(&v3, &v4, Outcome::Faster);
        assert!(
            reason.starts_with("v4.1 serves 98 % of the operations from its cache: 0.02 requests"),
            "{reason}"
        );
        assert!(reason.contains("saves 29.8 ms of waiting at 10 ms delay"), "{reason}");
    }

    #[test]
    fn large_requests_are_not_taken_for_a_cache() {
        let v3 = cell("3", 0.0, &[("READ", 250)]);
        let v4 = cell("4.1", 0.0, &[("READ", 60)]);
        let reason = reason(&v3, &v4, Outcome::Faster);
        assert!(!reason.contains("cache"), "{reason}");
        assert!(reason.contains("v3 sends READ: 0.19 more requests"), "{reason}");
    }

    #[test]
    fn waiting_for_slots_is_told_from_waiting_for_the_server() {
        let v3 = cell("3", 10.0, &[("CREATE", 1000)]);
        let mut v4 = cell("4.1", 10.0, &[("CREATE", 1000)]);
        v4.queue_ms = 12.0;
        let reason = reason(&v3, &v4, Outcome::Slower);
        assert!(
            reason.contains("Requests of v4.1 wait 12.0 of 22.1 ms in the client for a free slot"),
            "{reason}"
        );
        assert!(reason.contains("(54 %; v3: 0 %)"), "{reason}");
    }

    #[test]
    fn a_delay_that_explains_everything_makes_versions_alike() {
        let mut cells = [cell("3", 10.0, &[("WRITE", 1000)]), cell("4.1", 10.0, &[("WRITE", 1000)])];
        for cell in &mut cells {
            cell.seconds = 10.5 / f64::from(cell.setting.clients * cell.setting.threads);
        }
        let reason = reason(&cells[0], &cells[1], Outcome::Same);
        assert!(
            reason.starts_with("Both are bound by the delay: 1.00 requests per operation × 10 ms"),
            "{reason}"
        );
        assert!(reason.contains("95 %"), "{reason}");
    }

    #[test]
    fn slower_replies_to_the_same_requests_point_at_the_server() {
        let v3 = cell("3", 0.0, &[("WRITE", 1000)]);
        let mut v4 = cell("4.1", 0.0, &[("WRITE", 1000)]);
        v4.wire_ms = 0.4;
        let reason = reason(&v3, &v4, Outcome::Slower);
        assert!(reason.contains("answered in 0.100 ms, one of v4.1 in 0.400 ms"), "{reason}");
    }

    #[test]
    fn revalidation_is_named_with_its_share() {
        let v3 = cell("3", 1.0, &[("GETATTR", 1000), ("READ", 1000)]);
        let v4 = cell("4.1", 1.0, &[("READ", 1000)]);
        let reason = reason(&v3, &v4, Outcome::Faster);
        assert!(reason.contains("v3 sends GETATTR: 1.00 more"), "{reason}");
        assert!(reason.contains("50 % of the requests of v3 only ask"), "{reason}");
    }

    #[test]
    fn evidence_against_the_outcome_is_reported() {
        let v3 = cell("3", 0.0, &[("CREATE", 1000)]);
        let mut v4 = cell("4.1", 0.0, &[("OPEN", 1000), ("CLOSE", 1000)]);
        v4.wire_ms = 0.01;
        let reason = reason(&v3, &v4, Outcome::Faster);
        assert!(
            reason.starts_with("v4.1 sends 2.00 requests per operation and v3 1.00; counts alone"),
            "{reason}"
        );
        assert!(reason.contains("Against that: v4.1 sends OPEN and CLOSE instead of CREATE"), "{reason}");
    }

    #[test]
    fn the_fewest_requests_are_told_of_both_or_not_at_all() {
        let mut v3 = cell("3", 0.0, &[("LOOKUP", 1000), ("READ", 1000)]);
        let mut v4 = cell("4.1", 0.0, &[("OPEN", 1500), ("READ", 20)]);
        v3.floors = Some(Floors { posix: 2.0, compound: 2.0 });
        assert!(!reason(&v3, &v4, Outcome::Faster).contains("fewest"));
        v4.floors = Some(Floors { posix: 3.0, compound: 1.0 });
        for outcome in [Outcome::Faster, Outcome::Slower, Outcome::Same, Outcome::Unclear] {
            let text = reason(&v3, &v4, outcome);
            assert!(
                text.ends_with(
                    "The fewest requests per operation, with one call at a time and with the operation known \
                     as a whole, are 2.00 and 2.00 for v3 (sent: 2.00) and 3.00 and 1.00 for v4.1 (sent: \
                     1.52)."
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn too_few_or_scattered_runs_say_so() {
        let v3 = cell("3", 0.0, &[("READ", 1000)]);
        let mut v4 = cell("4.1", 0.0, &[("READ", 1000)]);
        v4.ci95 = Some([60.6, 141.4]);
        let scattered = reason(&v3, &v4, Outcome::Unclear);
        assert!(
            scattered.starts_with(
                "The difference is too small for the spread of the runs (v3 ± 2 % and v4.1 ± 40 %)."
            ),
            "{scattered}"
        );
        let single = |cell: &Cell| Cell { ci95: None, ..cell.clone() };
        let alone = reason(&single(&v3), &single(&v4), Outcome::Unclear);
        assert!(alone.starts_with("A single run decides nothing. Both send 1.00 requests"), "{alone}");
    }

    #[test]
    fn a_cell_without_operations_still_has_an_answer() {
        let mut v3 = cell("3", 0.0, &[]);
        v3.operations = 0;
        let v4 = cell("4.1", 0.0, &[("READ", 1000)]);
        for outcome in [Outcome::Faster, Outcome::Slower, Outcome::Same, Outcome::Unclear] {
            let reason = reason(&v3, &v4, outcome);
            assert!(!reason.is_empty() && !reason.contains("NaN") && !reason.contains("inf"), "{reason}");
        }
    }
}
