//! The client library against a server whose replies the input alters. `crates/client/tests/fuzz_corpus.rs`
//! replays the corpus through the same code.
//!
//! A real server over memory computes each reply, so that the client comes far; one byte of the input per
//! reply then decides whether the reply is left alone, altered, cut, lengthened, replaced, refused or
//! dropped.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "the target and the replay use one of them each")]

mod script;
mod server;
mod session;

use std::time::Duration;

use tokio::runtime::Runtime;

/// How far the client came.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// Whether the server accepted the client at all.
    pub connected: bool,
    /// Calls of the library that succeeded.
    pub succeeded: u32,
    /// Calls of the library that returned an error.
    pub failed: u32,
    /// Replies that the script altered.
    pub altered: u32,
}

/// No input makes a client wait longer, in virtual time.
const LIMIT: Duration = Duration::from_secs(3600);

/// Runs one client against one server. The first byte selects the version, the second the calls of the
/// client, the rest is the script.
pub fn replies(runtime: &Runtime, data: &[u8]) -> Reached {
    let Some(([version, calls], script)) = data.split_first_chunk::<2>() else { return Reached::default() };
    runtime.block_on(async {
        let script = script::Script::new(script);
        let server = server::Server::start(script).await;
        let work = session::work(server.address(), *version, *calls);
        let mut reached =
            tokio::time::timeout(LIMIT, work).await.expect("the client ends, whatever the server replies");
        reached.altered = server.altered();
        reached
    })
}
