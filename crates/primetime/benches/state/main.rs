//! What the server's state costs: `cargo bench -p primetime --bench state`.
//!
//! Recall: how long an open waits that a delegation stands in the way of, beside one that nothing stands in
//! the way of. Scale: memory of a real `serve` for each client with its session, each open and each lock, and
//! how long a restart with all of them takes. Nothing here is asserted: it prints figures and ratios.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, clippy::unwrap_used)]

mod peer;
mod recall;
mod scale;
mod serve;

#[tokio::main]
async fn main() {
    recall::measure().await;
    scale::measure().await;
}
