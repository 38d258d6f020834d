//! Several clients hammer the files of one export at once, and everything that is seen is compared with what
//! may be seen.
//!
//! Which request meets which is up to the machine; who does what follows from a seed. `PRIMETIME_SEEDS=50`
//! runs more of them, from `PRIMETIME_FIRST_SEED` on. What was allowed is told by [`history`], which knows
//! nothing of caches, and has tests of its own.

#![allow(missing_docs, clippy::unwrap_used, unreachable_pub)]

mod drive;
mod files;
#[allow(dead_code, unused_imports, unused_macros)]
#[path = "../integration/fixture.rs"]
mod fixture;
mod ground;
mod history;
mod names;
mod random;
mod rows;
mod scene;
#[allow(dead_code)]
#[path = "../../benches/creates/world.rs"]
mod world;

use drive::{Scene, run};
use scene::{DELEGATED, DOUBTING_V3, Kind, Met, Mode, V3, V4, WRITING};

async fn all_seeds(mode: Mode, clients: &'static [Kind]) {
    let (first, count) = (number("PRIMETIME_FIRST_SEED", 0), number("PRIMETIME_SEEDS", 2));
    let mut met = Vec::new();
    for seed in first..first + count {
        met.push(run(Scene { mode, clients, seed }).await);
    }
    met.into_iter().sum::<Met>().check(mode, clients, true);
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

macro_rules! scenes {
    ($($name:ident: $mode:ident $([$($kind:ident),*])*;)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            $(all_seeds(Mode::$mode, &[$($kind),*]).await;)*
        })*
    };
}

scenes! {
    what_was_closed_is_seen_by_who_opens_next: CloseToOpen [V4, V4] [V4, V4, V4];
    what_was_closed_is_seen_by_who_opens_next_under_delegations:
        CloseToOpen [DELEGATED, DELEGATED] [DELEGATED, DELEGATED, V4];
    what_was_closed_is_seen_by_who_opens_next_over_nfsv3: CloseToOpen [V3, V3] [V3, V3, V3];
    what_was_closed_is_seen_by_who_opens_next_whatever_the_version: CloseToOpen [V3, V4] [V3, DELEGATED, DELEGATED];
    what_was_written_under_a_lock_is_seen_under_the_next: Locks [V4, V4] [V4, V4, V4];
    what_was_written_under_a_lock_is_seen_under_the_next_with_delegations:
        Locks [DELEGATED, DELEGATED] [DELEGATED, DELEGATED, DELEGATED];
    locks_of_both_versions_keep_each_other_out_and_show_what_was_written: Locks [V3, V3] [V3, V4, DELEGATED];
    what_was_closed_is_read_under_a_delegation_without_opening_again:
        Delegations [DELEGATED, DELEGATED] [DELEGATED, V4] [DELEGATED, DELEGATED, V3];
    what_was_closed_is_seen_by_who_opens_next_under_delegations_for_writing:
        CloseToOpen [WRITING, WRITING] [WRITING, DELEGATED, V4] [WRITING, V3];
    what_was_written_under_a_lock_is_seen_under_the_next_with_delegations_for_writing:
        Locks [WRITING, WRITING] [WRITING, V4] [WRITING, DELEGATED, V3];
    what_was_closed_is_read_under_a_delegation_for_writing_without_opening_again:
        Delegations [WRITING, WRITING] [WRITING, DELEGATED, V4];
    a_name_is_opened_as_it_was_left_under_delegations_for_writing: Names [WRITING, WRITING] [WRITING, V4, DOUBTING_V3];
    a_name_is_opened_as_it_was_left: Names [V4, V4] [DELEGATED, DELEGATED] [DELEGATED, V4, DOUBTING_V3];
    a_name_is_opened_as_it_was_left_over_nfsv3_that_believes_nothing: Names [DOUBTING_V3, DOUBTING_V3];
    a_name_whose_file_was_replaced_is_opened_as_it_was_left_over_nfsv3: Replacements [V3, V3] [V3, DELEGATED];
}
