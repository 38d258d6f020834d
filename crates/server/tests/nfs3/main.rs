//! NFSv3 as a peer sees it: arguments in, results out, without a network.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod errors;
