//! What was found, in sentences, and what makes it doubtful.

use super::cures;
use super::document::{HashCast, Measurement};
use crate::text::{list, number, percent};

/// From here on clients are called evenly served.
const EVEN: f64 = 0.99;

/// The link should carry at least this part of its rate, or clients and not the card were the limit.
const CARRIED_MIN: f64 = 0.9;

/// Measured and predicted shares may differ by this much, on the mean, before it is said.
const PREDICTION_OFF_MAX: f64 = 0.15;

/// What it comes to.
pub(super) fn verdict(document: &HashCast) -> String {
    let mut sentences = vec![chance(document)];
    for workload in ["tcp", "nfs"] {
        let found = |scenario| document.measurement(workload, scenario);
        if let Some(card) = found("card") {
            sentences.push(on_the_card(name(workload), card, document.probabilities.queues));
            let cures =
                ["fair-queueing", "one-queue", "more-connections"].map(|scenario| found(scenario).map(cure));
            let cures: Vec<String> = cures.into_iter().flatten().collect();
            if !cures.is_empty() {
                sentences.push(format!("Jain\u{2019}s index became {}.", list(&cures)));
            }
            sentences.extend(cures::sentence(document, workload));
        }
    }
    sentences.join(" ")
}

fn name(workload: &str) -> &str {
    if workload == "tcp" { "plain TCP" } else { "NFS" }
}

fn chance(document: &HashCast) -> String {
    let probabilities = &document.probabilities;
    let at_least = |ratio| percent(probabilities.of(ratio).unwrap_or_default());
    format!(
        "With {} busy flows hashed to {} transmit queues, the best served flow gets at least twice as much \
         as the worst served one with a probability of {}, three times as much with {}, five times with {}.",
        probabilities.flows,
        probabilities.queues,
        at_least(2),
        at_least(3),
        at_least(5)
    )
}

fn on_the_card(workload: &str, card: &Measurement, queues: u32) -> String {
    let fairness = card.fairness();
    let worst = match card.worst_ratio() {
        Some(ratio) => {
            format!("the best served client got up to {} times as much as the worst", number(ratio))
        }
        None => "some client got nothing at all".to_owned(),
    };
    let even = if fairness >= EVEN { "; the hash happened to spread the flows evenly" } else { "" };
    format!(
        "Over {workload} on a card with {queues} queues {worst} (Jain\u{2019}s index {fairness:.3}){even}."
    )
}

fn cure(measurement: &Measurement) -> String {
    let how = match measurement.scenario.as_str() {
        "fair-queueing" => "with fair queueing".to_owned(),
        "one-queue" => "with one queue".to_owned(),
        _ => format!("with {} connections for each client", measurement.connections),
    };
    format!("{:.3} {how}", measurement.fairness())
}

/// What makes it doubtful.
pub(super) fn doubts(document: &HashCast) -> Vec<String> {
    let Some(setup) = &document.setup else { return Vec::new() };
    let rate = setup.rate_bytes_per_second as f64;
    let mut doubts = Vec::new();
    // Cures within TCP have no queues that wait, and what they cost is a result.
    for measurement in document.measurements.iter().filter(|measurement| !cures::is_cure(measurement)) {
        let place = format!("{} over {}", measurement.scenario, name(&measurement.workload));
        let carried = measurement.total() / rate;
        if carried < CARRIED_MIN {
            doubts.push(format!(
                "In {place} the clients took {} of what the link carries: they, or a machine that is busy \
                 otherwise, were the limit, not the card.",
                percent(carried)
            ));
        }
        if off(measurement) > PREDICTION_OFF_MAX {
            doubts.push(format!(
                "In {place} clients got {} more or less, on the mean, than the queues of their flows \
                 predict.",
                percent(off(measurement))
            ));
        }
    }
    doubts
}

/// The mean over clients and runs of the difference between measured and predicted, as a share of the
/// predicted.
fn off(measurement: &Measurement) -> f64 {
    let pairs = || {
        measurement
            .runs
            .iter()
            .flat_map(|run| run.client_bytes_per_second.iter().zip(&run.predicted_bytes_per_second))
    };
    let differences: f64 = pairs()
        .filter(|(_, predicted)| **predicted > 0.0)
        .map(|(measured, predicted)| (measured / predicted - 1.0).abs())
        .sum();
    differences / (pairs().count() as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_cast::samples;

    #[test]
    fn the_verdict_names_the_chance_the_loss_and_every_cure() {
        let text = verdict(&samples::document());
        for part in [
            "8 busy flows",
            "8 transmit queues",
            "plain TCP",
            "NFS",
            "fair queueing",
            "one queue",
            "4 connections",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let mut unmeasured = samples::document();
        unmeasured.measurements.clear();
        assert!(!verdict(&unmeasured).contains("Over "));
    }

    #[test]
    fn a_link_that_is_not_filled_and_shares_that_do_not_fit_are_doubts() {
        let mut document = samples::document();
        assert_eq!(doubts(&document), Vec::<String>::new());
        let run = &mut document.measurements[0].runs[0];
        run.total_bytes_per_second /= 3.0;
        run.client_bytes_per_second.reverse();
        let found = doubts(&document);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("card over plain TCP"), "{found:?}");
    }
}
