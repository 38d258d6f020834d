//! Rules about what the work took of the machine: processors, disk, and the clients that had to give
//! delegations back.

use super::facts::Facts;
use super::rules::{Favours, Finding, finding};
use crate::text::{number, per_operation, percent};

/// Processors or a disk decide when they are busy for this share of the time.
const BOUND_SHARE: f64 = 0.9;
/// Processor time must differ by this share to be the reason of a difference.
const WORK_SHARE_MIN: f64 = 0.05;
/// Writes to the disk must differ by this share to be the reason of a difference.
const WRITES_SHARE_MIN: f64 = 0.1;
/// They are no reason where the disk has requests for less of the time.
const WRITES_BUSY_SHARE: f64 = 0.25;
/// Recalls are worth a sentence from this many for each operation.
const RECALLS_MIN: f64 = 0.02;

/// The processors have no time left: who needs less of it is faster.
pub(super) fn processor_bound(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    if one.busy? < BOUND_SHARE || other.busy? < BOUND_SHARE {
        return None;
    }
    let (own, others) = (one.processor_ms?, other.processor_ms?);
    if others - own < others * WORK_SHARE_MIN {
        return None;
    }
    let text = format!(
        "The processors of this machine are busy for {} of the time: an operation of {} takes {} ms of them, \
         one of {} {} ms{}.",
        percent(one.busy?.min(other.busy?)),
        one.name,
        number(own),
        other.name,
        number(others),
        whose(one, other)
    );
    finding(side, text)
}

/// Which side of the connection the difference is on, where both are known.
fn whose(one: &Facts<'_>, other: &Facts<'_>) -> String {
    match (one.server_ms, other.server_ms) {
        (Some(own), Some(others)) => {
            format!(" ({} and {} ms of that in the server)", number(own), number(others))
        }
        _ => String::new(),
    }
}

/// The processors of the server's machine have no time left.
pub(super) fn server_bound(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let busy = one.server_busy?.min(other.server_busy?);
    let (own, others) = (one.server_machine_ms?, other.server_machine_ms?);
    if busy < BOUND_SHARE || others - own < others * WORK_SHARE_MIN {
        return None;
    }
    let text = format!(
        "The processors of the server\u{2019}s machine are busy for {} of the time: an operation of {} takes \
         {} ms of all of them together, one of {} {} ms.",
        percent(busy),
        one.name,
        number(own),
        other.name,
        number(others)
    );
    finding(side, text)
}

/// A disk is always busy: the protocol has nothing to decide.
pub(super) fn disk_bound(baseline: &Facts<'_>, candidate: &Facts<'_>) -> Option<Finding> {
    let (disk, busy) = busy_disk(baseline, candidate, BOUND_SHARE)?;
    let writes = writes(baseline, candidate);
    let text = format!("Both wait for {disk}, which has requests for {} of the time{writes}.", percent(busy));
    finding(Favours::Neither, text)
}

/// The disk has work, and `other` writes to it more often for the same work.
pub(super) fn fewer_disk_writes(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let (disk, busy) = busy_disk(one, other, WRITES_BUSY_SHARE)?;
    let (own, others) = (one.disk_writes?, other.disk_writes?);
    if others - own < others * WRITES_SHARE_MIN {
        return None;
    }
    let writes = writes(other, one);
    let (first, rest) = disk.split_at(1);
    let disk = format!("{}{rest}", first.to_uppercase());
    finding(side, format!("{disk} has requests for {} of the time{writes}.", percent(busy)))
}

/// The disk that is busy on both sides for `share_min` of the time, and for which share of it at least.
fn busy_disk(one: &Facts<'_>, other: &Facts<'_>, share_min: f64) -> Option<(&'static str, f64)> {
    let both =
        |of: fn(&Facts<'_>) -> Option<f64>| Some(of(one)?.min(of(other)?)).filter(|busy| *busy >= share_min);
    let there = both(|facts| facts.server_disk_busy).map(|busy| ("the server\u{2019}s disk", busy));
    there.or_else(|| both(|facts| facts.disk_busy).map(|busy| ("the disk", busy)))
}

/// Writes to the disk for each operation of both, where they are known.
fn writes(one: &Facts<'_>, other: &Facts<'_>) -> String {
    let (Some(own), Some(others)) = (one.disk_writes, other.disk_writes) else { return String::new() };
    let [own_shown, others_shown] = [own, others].map(per_operation);
    format!(
        ": {own_shown} writes to it for each operation of {}, {others_shown} for each of {}",
        one.name, other.name
    )
}

/// The server takes delegations of `other` back again and again.
pub(super) fn recalled(one: &Facts<'_>, other: &Facts<'_>, side: Favours) -> Option<Finding> {
    let (own, others) = (one.recalls.unwrap_or(0.0), other.recalls?);
    if others - own < RECALLS_MIN {
        return None;
    }
    let text = format!(
        "The server recalls delegations of {} {} times for each operation: its files are wanted by several \
         clients.",
        other.name,
        per_operation(others)
    );
    finding(side, text)
}

#[cfg(test)]
mod tests {
    use super::super::reason;
    use crate::results::{Cell, Disk, Resources};
    use crate::samples;
    use crate::statistics::Outcome;

    /// Two cells that send the same and differ in nothing but what they took.
    fn cells(used: [Resources; 2]) -> [Cell; 2] {
        let sample = samples::results().cells.remove(0);
        [("3", used[0]), ("4.1", used[1])].map(|(version, resources)| {
            let mut cell = sample.clone();
            cell.setting = samples::setting(version, 0.0);
            (cell.operations, cell.wire_ms, cell.resources) = (1000, 0.1, Some(resources));
            cell.run_details.clear();
            cell
        })
    }

    fn used(busy: f64, client_seconds: f64, disk_busy: f64) -> Resources {
        let (server_seconds, disk_busy) = (Some(0.05), Some(disk_busy));
        Resources { busy, client_seconds, server_seconds, disk_busy, ..Resources::default() }
    }

    #[test]
    fn busy_processors_are_named_with_what_an_operation_takes_of_them() {
        let [v3, v4] = cells([used(0.99, 0.05, 0.0), used(0.97, 0.15, 0.0)]);
        let busy = reason(&v3, &v4, Outcome::Slower);
        assert!(
            busy.contains(
                "busy for 97 % of the time: an operation of v3 takes 0.100 ms of them, one of v4.1 0.200 ms \
                 (0.0500 and 0.0500 ms of that in the server)."
            ),
            "{busy}"
        );
        let [v3, v4] = cells([used(0.5, 0.05, 0.0), used(0.97, 0.15, 0.0)]);
        assert!(!reason(&v3, &v4, Outcome::Slower).contains("processors"), "one had time left");
    }

    #[test]
    fn a_busy_disk_makes_versions_alike() {
        let [v3, v4] = cells([used(0.2, 0.1, 0.95), used(0.2, 0.1, 1.0)]);
        let text = reason(&v3, &v4, Outcome::Same);
        assert!(text.contains("Both wait for the disk, which has requests for 95 % of the time."), "{text}");
    }

    /// What an agent on the server's machine told, where nothing was busy here.
    fn there(server_busy: f64, server_disk_busy: f64) -> Resources {
        let (server_busy, server_disk_busy) = (Some(server_busy), Some(server_disk_busy));
        Resources { server_busy, server_disk_busy, ..used(0.2, 0.1, 0.0) }
    }

    #[test]
    fn busy_server_machine_is_named_with_its_cost_of_an_operation() {
        let [v3, mut v4] = cells([there(0.96, 0.0), there(0.99, 0.0)]);
        v4.seconds *= 2.0;
        let busy = reason(&v3, &v4, Outcome::Slower);
        // A thousand operations in so many seconds are so many milliseconds each.
        let each = |share: f64, seconds: f64| crate::text::number(share * seconds);
        let expected = format!(
            "The processors of the server\u{2019}s machine are busy for 96 % of the time: an operation of v3 \
             takes {} ms of all of them together, one of v4.1 {} ms.",
            each(0.96, v3.seconds),
            each(0.99, v4.seconds)
        );
        assert!(busy.contains(&expected), "{busy}");
        let [v3, mut v4] = cells([there(0.5, 0.0), there(0.99, 0.0)]);
        v4.seconds *= 2.0;
        assert!(!reason(&v3, &v4, Outcome::Slower).contains("server\u{2019}s machine"), "one had time left");
    }

    #[test]
    fn a_busy_disk_of_the_server_is_told_from_one_that_is_here() {
        let [v3, v4] = cells([there(0.2, 0.95), there(0.2, 1.0)]);
        let text = reason(&v3, &v4, Outcome::Same);
        let expected = "Both wait for the server\u{2019}s disk, which has requests for 95 % of the time.";
        assert!(text.contains(expected), "{text}");
    }

    fn with_writes(busy: f64, writes: u64, is_of_export: bool) -> Resources {
        let disk = Disk { is_of_export, writes, ..Disk::default() };
        Resources { disk: Some(disk), ..used(0.2, 0.1, busy) }
    }

    #[test]
    fn writes_to_a_busy_disk_are_counted_for_each_operation() {
        let [v3, v4] = cells([with_writes(0.95, 960, true), with_writes(0.99, 2700, true)]);
        let expected = "The disk has requests for 95 % of the time: 2.70 writes to it for each operation of \
                        v4.1, 0.96 for each of v3.";
        let slower = reason(&v3, &v4, Outcome::Slower);
        assert!(slower.starts_with(expected), "{slower}");
        let same = reason(&v3, &v4, Outcome::Same);
        assert!(
            same.contains("0.96 writes to it for each operation of v3, 2.70 for each of v4.1."),
            "{same}"
        );
        for (busy, is_of_export) in [(0.2, true), (0.99, false)] {
            let [v3, v4] =
                cells([with_writes(busy, 960, is_of_export), with_writes(busy, 2700, is_of_export)]);
            let text = reason(&v3, &v4, Outcome::Slower);
            assert!(!text.contains("writes to it"), "an idle disk, or one that others use: {text}");
        }
    }

    #[test]
    fn recalls_are_counted_for_each_operation() {
        let [v3, mut v4] = cells([used(0.2, 0.1, 0.0), used(0.2, 0.1, 0.0)]);
        v4.callbacks.insert("CB_RECALL".into(), 500);
        let text = reason(&v3, &v4, Outcome::Slower);
        assert!(
            text.contains("The server recalls delegations of v4.1 0.50 times for each operation"),
            "{text}"
        );
    }
}
