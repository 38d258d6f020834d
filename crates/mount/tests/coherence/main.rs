//! Programs on several mounts of one export hammer its files at once, by the system calls of ordinary
//! programs, and everything that they see is compared with what they may see.
//!
//! Which request meets which is up to the machine; who does what follows from a seed. `PRIMETIME_SEEDS=50`
//! runs more of them, from `PRIMETIME_FIRST_SEED` on. What was allowed is told by the history that the
//! client's checker has, too.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, unreachable_pub)]

mod drive;
mod files;
#[allow(dead_code, unused_imports, unused_macros)]
#[path = "../integration/fixture.rs"]
mod fixture;
mod ground;
#[path = "../../../client/tests/coherence/history.rs"]
mod history;
mod locks;
mod mapped;
mod names;
#[path = "../../../client/tests/coherence/random.rs"]
mod random;
#[path = "../../../client/tests/coherence/rows.rs"]
mod rows;
#[path = "../../../client/tests/coherence/scene.rs"]
mod scene;
#[path = "../integration/sys.rs"]
mod sys;
#[allow(dead_code)]
#[path = "../../../client/benches/creates/world.rs"]
mod world;

use drive::all_seeds;
use scene::{DELEGATED, DOUBTING_V3, Kind, Mode, V3, V4, WRITING};

const DOUBTING_V4: Kind = Kind { believes: false, ..V4 };
const DOUBTING_DELEGATED: Kind = Kind { believes: false, ..DELEGATED };

macro_rules! scenes {
    ($($(#[$attribute:meta])* $name:ident: $mode:ident $([$($kind:ident),*])*;)*) => {
        $($(#[$attribute])* #[test]
        fn $name() {
            $(all_seeds(Mode::$mode, &[$($kind),*]);)*
        })*
    };
}

scenes! {
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next: CloseToOpen [V4, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_on_three_mounts: CloseToOpen [V4, V4, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_under_delegations: CloseToOpen [DELEGATED, DELEGATED];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_where_some_have_delegations: CloseToOpen [DELEGATED, DELEGATED, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_over_nfsv3: CloseToOpen [V3, V3];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_over_nfsv3_on_three_mounts: CloseToOpen [V3, V3, V3];
    what_was_closed_is_seen_by_who_opens_next_over_nfsv3_that_believes_nothing: CloseToOpen [DOUBTING_V3, DOUBTING_V3];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_whatever_the_version: CloseToOpen [V3, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_whatever_the_version_under_delegations: CloseToOpen [V3, DELEGATED, DELEGATED];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_read_under_a_delegation_without_opening_again: Delegations [DELEGATED, DELEGATED];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_read_under_a_delegation_while_others_have_none: Delegations [DELEGATED, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_read_under_a_delegation_on_three_mounts: Delegations [DELEGATED, DELEGATED, V3];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_written_under_a_lock_is_seen_under_the_next: Locks [V4, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_written_under_a_lock_is_seen_under_the_next_on_three_mounts: Locks [V4, V4, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_written_under_a_lock_is_seen_under_the_next_with_delegations: Locks [DELEGATED, DELEGATED];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_written_under_a_lock_is_seen_under_the_next_over_nfsv3: Locks [V3, V3];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    locks_of_both_versions_keep_each_other_out_and_show_what_was_written: Locks [V3, V4, DELEGATED];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_under_delegations_for_writing: CloseToOpen [WRITING, WRITING];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_where_some_have_delegations_for_writing: CloseToOpen [WRITING, DELEGATED, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_seen_by_who_opens_next_whatever_the_version_under_delegations_for_writing: CloseToOpen [WRITING, V3];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_written_under_a_lock_is_seen_under_the_next_with_delegations_for_writing: Locks [WRITING, WRITING];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_written_under_a_lock_is_seen_under_the_next_where_some_have_delegations_for_writing: Locks [WRITING, DELEGATED, V3];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_read_under_a_delegation_for_writing_without_opening_again: Delegations [WRITING, WRITING];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    what_was_closed_is_read_under_a_delegation_for_writing_while_others_have_none: Delegations [WRITING, V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    a_name_is_opened_as_it_was_left: Names [DOUBTING_V4, DOUBTING_V4];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    a_name_is_opened_as_it_was_left_on_three_mounts: Names [DOUBTING_V4, DOUBTING_V4, DOUBTING_V3];
    #[ignore = "fails: the kernel believes a name while its file's delegation goes back"]
    a_name_is_opened_as_it_was_left_under_delegations: Names [DOUBTING_DELEGATED, DOUBTING_DELEGATED];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    a_name_is_opened_as_it_was_left_over_nfsv3: Names [DOUBTING_V3, DOUBTING_V3];
    #[ignore = "what it meets is up to the machine: played by hand, with many seeds"]
    a_name_whose_file_was_replaced_is_opened_as_it_was_left: Replacements [DOUBTING_V3, DOUBTING_V4];
}
