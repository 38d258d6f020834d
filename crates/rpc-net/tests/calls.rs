//! Many calls under way on one connection: how they leave, how long they wait, and how they end.

#![allow(missing_docs, clippy::unwrap_used)]

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rpc::CallError;
use rpc_net::{Client, ClientOptions};
use testkit::peer::{RawPeer, listen};
use testkit::wire::{record, success};
use tokio::time::{Instant, sleep};

/// Takes calls as they come; answers when a test says so.
struct Peer(RawPeer);

impl Peer {
    fn accept(listener: &TcpListener) -> Self {
        Self(RawPeer::accept(listener).unwrap())
    }

    /// The xids of what one look at the socket brings.
    fn read(&mut self) -> Vec<u32> {
        let calls = self.0.receive_once().unwrap();
        calls.iter().map(|call| u32::from_be_bytes(*call.first_chunk().unwrap())).collect()
    }

    fn read_many(&mut self, count: usize) -> Vec<u32> {
        let mut xids = Vec::new();
        while xids.len() < count {
            xids.extend(self.read());
        }
        xids
    }

    /// Answers all of them at once.
    fn answer(&mut self, xids: &[u32]) {
        let replies: Vec<u8> = xids.iter().flat_map(|xid| record(&success(*xid, &[]))).collect();
        self.0.send(&replies).unwrap();
    }
}

async fn call(client: &Client) -> Result<(), CallError> {
    client.call(1, 1, 1, |_| {}).await.map(|_| ())
}

#[tokio::test]
async fn callers_that_are_answered_together_call_again_in_one_piece() {
    const CALLERS: usize = 16;
    let (listener, address) = listen();
    let peer = thread::spawn(move || {
        let mut peer = Peer::accept(&listener);
        let mut xids = peer.read_many(CALLERS);
        for _ in 0..10 {
            peer.answer(&xids);
            xids = peer.read();
            assert_eq!(xids.len(), CALLERS, "one system call brings all of them");
        }
        peer.answer(&xids);
    });
    let client = Client::connect(address, ClientOptions::default()).await.unwrap();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..11 {
                    call(&client).await.unwrap();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    peer.join().unwrap();
}

#[test]
fn calls_end_with_the_runtime_that_carries_their_connection() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let (carrier, callers) = (runtime().unwrap(), runtime().unwrap());
    let (listener, address) = listen();
    let client = Arc::new(carrier.block_on(Client::connect(address, ClientOptions::default())).unwrap());
    let mut peer = Peer::accept(&listener);
    let waiting = callers.spawn({
        let client = Arc::clone(&client);
        async move { call(&client).await }
    });
    assert_eq!(peer.read_many(1).len(), 1);
    drop(carrier);
    assert!(matches!(callers.block_on(waiting).unwrap(), Err(CallError::Disconnected)));
    assert!(!client.is_connected());
}
/// How long a call waits for an answer that does not come, in seconds.
async fn seconds_in_vain(client: &Client) -> u64 {
    let started = Instant::now();
    assert!(matches!(call(client).await, Err(CallError::Timeout)));
    started.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn each_call_waits_as_long_as_a_call_may() {
    let (listener, address) = listen();
    let client = Client::connect(address, ClientOptions::default()).await.unwrap();
    let late = async {
        sleep(Duration::from_secs(10)).await;
        seconds_in_vain(&client).await
    };
    assert_eq!(tokio::join!(seconds_in_vain(&client), late), (60, 60));
    // When nobody has waited for a while.
    sleep(Duration::from_secs(100)).await;
    assert_eq!(seconds_in_vain(&client).await, 60);
    assert!(client.is_connected());
    drop(listener);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_sent_again_waits_as_long_as_a_call_may_in_all() {
    let (listener, address) = listen();
    let (send, arrivals) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut call = [0; 44];
            if stream.read_exact(&mut call).is_err() || send.send((call, stream)).is_err() {
                return;
            }
        }
    });
    let options = ClientOptions {
        retransmit: true,
        attempt_timeout: Some(Duration::from_secs(25)),
        ..ClientOptions::default()
    };
    let client = Client::connect(address, options).await.unwrap();
    assert_eq!(seconds_in_vain(&client).await, 60);
    assert_eq!(client.generation(), 3, "after 25 and 50 seconds the connection is made anew");
    let sent: Vec<_> = (0..3).map(|_| arrivals.recv().unwrap().0).collect();
    assert!(sent.iter().all(|call| *call == sent[0]), "with the same xid");
}
