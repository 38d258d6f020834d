//! A guest is cut off for longer than its lease: it keeps what nobody wants, and learns of what it has lost.

use netlab::guest::Lab;

use crate::guests::{Member, boot, finish};
use crate::server::Server;

/// The shortest that leaves a client time to renew it.
const LEASE_SECONDS: u32 = 5;

#[test]
fn linux_keeps_unwanted_state_while_cut_off_and_learns_its_losses() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::with_lease(&lab, LEASE_SECONDS);
    let guests = [("ann", "bob"), ("bob", "ann")].map(|(name, peer)| {
        let member = Member {
            name,
            script: ". $EXCHANGE/partition.sh",
            files: &[
                ("partition.sh", include_str!("partition.sh")),
                ("partition.pl", include_str!("partition.pl")),
            ],
            env: &[("PEER", peer), ("TOO_LONG", &(2 * LEASE_SECONDS).to_string()), ("DELEGATED", "10")],
            ..Member::default()
        };
        boot(&lab, &member)
    });
    finish(guests);
    let contents = std::fs::read_to_string(server.directory().join("locked")).unwrap();
    assert_eq!(contents, "bob's", "the write of who had lost the lock does not get through");
}
