//! What a card gives to whom: the shares that follow from where its flows were hashed to.
//!
//! Owns pure functions.

use std::collections::BTreeMap;

/// Each client's part of what the card sends, from the queues of its flows: busy queues send equal parts, and
/// flows that wait in one queue share its part equally. A flow without a queue of its own number (fair
/// queueing) is a queue of its own. The parts add up to 1; a client without a flow has 0.
#[must_use]
pub fn predicted(queues: &[Vec<Option<u32>>]) -> Vec<f64> {
    let mut sharers = BTreeMap::new();
    let mut alone = 0_u32;
    for queue in queues.iter().flatten() {
        match queue {
            Some(queue) => *sharers.entry(*queue).or_insert(0_u32) += 1,
            None => alone += 1,
        }
    }
    let busy = f64::from(sharers.len() as u32 + alone);
    let part = |queue: &Option<u32>| match queue {
        Some(queue) => 1.0 / (busy * f64::from(sharers[queue])),
        None => 1.0 / busy,
    };
    queues.iter().map(|flows| flows.iter().map(part).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_share_a_queue_share_its_part() {
        let one_each =
            |queues: &[u32]| predicted(&queues.iter().map(|queue| vec![Some(*queue)]).collect::<Vec<_>>());
        // The published example: five flows in four of six queues.
        assert_eq!(one_each(&[0, 1, 2, 3, 3]), [0.25, 0.25, 0.25, 0.125, 0.125]);
        assert_eq!(one_each(&[7, 7, 7, 7]), [0.25; 4]);
        assert_eq!(predicted(&[]), Vec::<f64>::new());
    }

    #[test]
    fn a_client_gets_what_all_its_flows_get() {
        let shares = predicted(&[vec![Some(0), Some(1)], vec![Some(1)], vec![]]);
        assert_eq!(shares, [0.75, 0.25, 0.0]);
    }

    #[test]
    fn flows_that_are_queued_fairly_share_with_nobody() {
        assert_eq!(predicted(&[vec![None, None], vec![None], vec![None]]), [0.5, 0.25, 0.25]);
    }
}
