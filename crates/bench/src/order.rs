//! The order of runs: blocks in which every arm comes once, in an order that the seed decides.

use crate::seeded::Seeded;

/// The order of the arms' indexes in block `block` of the setting numbered `setting`.
pub(crate) fn of_block(seed: u64, setting: u64, block: u32, arms: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    Seeded::new(seed, setting << 32 | u64::from(block)).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_comes_once_in_each_block_and_the_order_varies() {
        let orders: Vec<Vec<usize>> = (0..20).map(|block| of_block(1, 0, block, 3)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(orders.iter().any(|order| *order != orders[0]));
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_other_settings_other_ones() {
        let orders =
            |seed, setting| (0..20).map(|block| of_block(seed, setting, block, 2)).collect::<Vec<_>>();
        assert_eq!(orders(1, 0), orders(1, 0));
        assert_ne!(orders(1, 0), orders(2, 0));
        assert_ne!(orders(1, 0), orders(1, 1));
    }
}
