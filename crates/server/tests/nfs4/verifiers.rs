//! Write verifiers (RFC 8881 §18.32.4): a loss of unstable data between a WRITE and its COMMIT must show.

use std::sync::Arc;

use proto::nfs4::*;

use crate::losing::Losing;
use crate::peer::{Peer, Setup, TestServer};

#[test]
fn write_lost_during_itself_changes_the_verifier() {
    let server = Arc::new(TestServer::over(Losing::new(None), Setup::default()));
    let mut peer = Peer::new(&server, 1);
    let (file, state_id) = peer.create("file");
    let write = WriteArgs { state_id, offset: 0, stable: StableHow::Unstable, data: "data".into() };
    let written: WriteResult = peer.on(&file, Operation::Write, &write).body(Operation::Write);
    let commit = CommitArgs { offset: 0, count: 0 };
    let committed: CommitResult = peer.on(&file, Operation::Commit, &commit).body(Operation::Commit);
    assert_ne!(written.verifier, committed.verifier);
}
