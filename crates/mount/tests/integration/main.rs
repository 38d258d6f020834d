//! The mounted tree, by the system calls of ordinary programs.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on fails"
)]

mod appends;
mod coherence;
#[path = "../compared/mod.rs"]
mod compared;
mod files;
#[allow(dead_code, reason = "the coherence checker has it, too")]
mod fixture;
mod ground;
mod killed;
mod locks;
mod many_processes;
mod mapped_stores;
mod mappings;
mod names;
mod other_process;
mod posix;
mod range_locks;
#[path = "../../../client/tests/integration/relay.rs"]
mod relay;
mod removals;
mod set_id;
mod sparse;
mod sys;
mod unmounting;
mod waiting;
mod xattrs;
