//! How long a COMPOUND keeps others waiting.

use futures_util::FutureExt;
use proto::nfs4::{ChannelAttributes, Operation, Status};

use crate::peer::{Peer, TestServer};

/// How often a COMPOUND of so many operations is polled.
fn polls(peer: &mut Peer, operations: usize) -> usize {
    let mut answer = peer.begin(|c| {
        c.push(Operation::PutRootFh, &());
        for _ in 0..operations {
            c.push(Operation::GetFh, &());
        }
    });
    for polls in 1..1000 {
        if let Some(results) = (&mut answer).now_or_never() {
            assert_eq!((results.status, results.count as usize), (Status::Ok, operations + 2));
            return polls;
        }
    }
    panic!("it never ends");
}

#[test]
fn compound_that_takes_long_lets_others_run_in_between() {
    let server = TestServer::new();
    let channel = ChannelAttributes { operations_max: 200, ..Peer::channel() };
    let mut peer = Peer::new(&server, 1).with_channel(channel);
    assert_eq!(polls(&mut peer, 100), 1, "no time passes");
    server.world.set_ms_per_read(2);
    assert_eq!(polls(&mut peer, 5), 1, "it is short");
    assert_eq!(polls(&mut peer, 100), 1 + 102 / 8, "one yield for every eight operations");
}
