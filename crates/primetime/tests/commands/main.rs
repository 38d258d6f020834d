//! The everyday commands on addresses, each as a process of its own, at a server that is one too.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/altering.rs"]
mod altering;
mod archives;
mod copies;
mod hostile_names;
mod hostile_nfs3;
mod interruptions;
mod lists;
#[path = "../../../client/tests/integration/peer.rs"]
#[allow(dead_code, reason = "the tests of the client use all of it")]
mod peer;
mod place;
mod removals;
mod tree;

/// Makes a test of a rule for each version of NFS.
macro_rules! in_all_versions {
    ($($rule:ident)*) => {
        mod v3 { $(#[test] fn $rule() { super::$rule("3"); })* }
        mod v4_1 { $(#[test] fn $rule() { super::$rule("4.1"); })* }
        mod v4_2 { $(#[test] fn $rule() { super::$rule("4.2"); })* }
    };
}
pub(crate) use in_all_versions;
