//! How unevenly clients were served: groups of winners and losers, and whether it stays so.
//!
//! Owns pure functions over plain numbers.

use serde::{Deserialize, Serialize};

/// Clients of which one gets so many times as much as the next one belong to different groups: well below the
/// smallest ratio that queues make (1.5, of three flows in a queue to two), well above what TCP makes of
/// equal shares.
const GAP: f64 = 1.25;

/// A ratio is near a whole number when it is off by at most this share of it.
const NEAR: f64 = 0.15;

/// Clients that were served about equally.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// How many they are.
    pub clients: u32,
    /// Their mean, in the unit of what was grouped.
    pub mean: f64,
    /// How many times as much as the worst served group; none when that got nothing.
    pub ratio: Option<f64>,
}

/// The groups that clients fall into, the worst served first. One group means that nobody lost.
#[must_use]
pub fn groups(rates: &[f64]) -> Vec<Group> {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let parts: Vec<&[f64]> = sorted.chunk_by(|lower, upper| *upper <= *lower * GAP).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let worst = parts.first().map_or(0.0, |part| mean(part));
    let group = |part: &&[f64]| Group {
        clients: part.len() as u32,
        mean: mean(part),
        ratio: (worst > 0.0).then(|| mean(part) / worst),
    };
    parts.iter().map(group).collect()
}

/// Whether a ratio is what whole numbers of flows in queues make: 2, 3, 4 …, within 15 %.
#[must_use]
pub fn is_near_whole(ratio: f64) -> bool {
    let whole = ratio.round();
    whole >= 2.0 && (ratio / whole - 1.0).abs() <= NEAR
}

/// How much what one client gets varies over time: the mean over the clients of standard deviation ÷ mean.
/// Each row is one stretch of time, each column a client. None with fewer than two rows, or when a client got
/// nothing in all of them.
#[must_use]
pub fn variation(rows: &[Vec<f64>]) -> Option<f64> {
    let clients = rows.iter().map(Vec::len).min().filter(|clients| *clients > 0 && rows.len() > 1)?;
    let mut sum = 0.0;
    for client in 0..clients {
        let values = || rows.iter().map(|row| row[client]);
        let mean = values().sum::<f64>() / rows.len() as f64;
        let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
        if mean <= 0.0 {
            return None;
        }
        sum += (squares / (rows.len() - 1) as f64).sqrt() / mean;
    }
    Some(sum / clients as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn winners_and_losers_are_told_apart_by_the_gaps_between_them() {
        let found = groups(&[10.2, 5.1, 9.8, 4.9, 10.0]);
        assert_eq!(found.iter().map(|group| group.clients).collect::<Vec<_>>(), [2, 3]);
        assert!((found[1].ratio.unwrap() - 2.0).abs() < 1e-9 && is_near_whole(found[1].ratio.unwrap()));
        assert_eq!(groups(&[10.0, 9.0, 8.0]).len(), 1);
        assert_eq!(groups(&[12.0, 6.0, 4.0]).len(), 3);
    }

    #[test]
    fn group_without_throughput_has_no_ratio() {
        let found = groups(&[0.0, 5.0, 5.0]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].clients, found[1].ratio), (1, None));
        assert_eq!(groups(&[0.0, 0.0]).len(), 1);
        assert!(groups(&[]).is_empty());
    }

    #[test]
    fn ratios_near_two_and_three_are_known() {
        assert!(is_near_whole(1.9) && is_near_whole(3.3) && is_near_whole(19.0));
        assert!(!is_near_whole(1.0) && !is_near_whole(1.5) && !is_near_whole(2.5));
    }

    #[test]
    fn constant_sample_has_no_spread() {
        assert_eq!(variation(&[vec![2.0, 1.0], vec![2.0, 1.0]]), Some(0.0));
        let changing = variation(&[vec![2.0, 1.0], vec![1.0, 2.0]]).unwrap();
        assert!((changing - 0.5_f64.sqrt() / 1.5).abs() < 1e-9, "{changing}");
        assert_eq!(variation(&[vec![2.0]]), None);
        assert_eq!(variation(&[vec![0.0], vec![0.0]]), None);
        assert_eq!(variation(&[]), None);
    }
}
