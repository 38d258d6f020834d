//! One guest removes and replaces what the other one has open.

use netlab::guest::Lab;

use crate::guests::{Member, boot, counts, entries, finish};
use crate::server::Server;

#[test]
fn linux_goes_on_with_open_files_that_another_client_removes() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let guests = [("ann", "bob"), ("bob", "ann")].map(|(name, peer)| {
        let member = Member {
            name,
            script: ". $EXCHANGE/removed.sh",
            files: &[("removed.sh", include_str!("removed.sh")), ("removed.pl", include_str!("removed.pl"))],
            env: &[("PEER", peer)],
            ..Member::default()
        };
        boot(&lab, &member)
    });
    let [ann, bob] = finish(guests).map(|result| counts(&result));
    assert_eq!((ann.requests("REMOVE"), ann.requests("RENAME")), (0, 0), "it is bob who removes");
    assert_eq!((bob.requests("REMOVE"), bob.requests("RENAME")), (3, 1));
    assert_eq!(entries(server.directory()), 0, "nothing is left behind");
}
