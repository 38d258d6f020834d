//! Connections take turns, however much one of them has under way.

#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::{ServerOptions, serve};
use testkit::wire::null_call;
use tokio::net::TcpListener;
use xdr::Encoder;

const MANY: u32 = 512;
/// The transaction id of the lone call.
const LONE: u32 = u32::MAX;
/// Calls of a turn, where there is room for others beside it.
const CALLS_OF_A_TURN: usize = 64;
/// Of a reply: its mark and six words.
const REPLY_BYTES: usize = 28;

/// Notes the transaction ids of the calls in the order in which they are carried out.
#[derive(Default)]
struct Order(Mutex<Vec<u32>>);

impl Service for Order {
    async fn call(&self, call: Call<'_>, _reply: &mut Encoder) -> Result<Disposition, Refusal> {
        self.0.lock().unwrap().push(call.header.xid);
        Ok(Disposition::Reply)
    }
}

#[tokio::test]
async fn lone_call_does_not_wait_for_another_connection() {
    let place = place_of_a_lone_call_beside(1).await;
    assert!(place < MANY as usize / 2, "behind {place} of {MANY}");
}

#[tokio::test]
async fn connections_that_all_have_much_under_way_take_shorter_turns() {
    let place = place_of_a_lone_call_beside(8).await;
    // The first of them had no other when it began.
    assert!(place < CALLS_OF_A_TURN + 8 * CALLS_OF_A_TURN / 2, "behind {place}");
}

/// How many calls are carried out before that of one connection, beside others with many under way. All are
/// answered, those of each connection in their order.
async fn place_of_a_lone_call_beside(connections: u32) -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = Arc::new(Order::default());
    let server = serve(listener, Arc::clone(&service), ServerOptions::default(), std::future::pending());
    let server = tokio::spawn(server);
    let mut busy = Vec::new();
    for _ in 0..connections {
        busy.push(connected(address).await);
    }
    let mut lone = connected(address).await;
    service.0.lock().unwrap().clear();
    // In one thread: the server finds them all when it looks.
    for (connection, stream) in (0..).zip(&mut busy) {
        let calls: Vec<u8> = (0..MANY).flat_map(|number| null_call(connection * MANY + number)).collect();
        stream.write_all(&calls).unwrap();
    }
    lone.write_all(&null_call(LONE)).unwrap();
    for stream in busy {
        read_replies(stream, MANY as usize).await;
    }
    read_replies(lone, 1).await;
    server.abort();
    let order = std::mem::take(&mut *service.0.lock().unwrap());
    assert_eq!(order.len(), (connections * MANY) as usize + 1);
    for connection in 0..connections {
        let own = connection * MANY..(connection + 1) * MANY;
        let carried_out: Vec<u32> = order.iter().copied().filter(|xid| own.contains(xid)).collect();
        assert_eq!(carried_out, own.collect::<Vec<_>>(), "each connection in its own order");
    }
    order.iter().position(|xid| *xid == LONE).unwrap()
}

/// A connection that the server knows.
async fn connected(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&null_call(0)).unwrap();
    read_replies(stream, 1).await
}

/// Waits for so many replies while the server goes on.
async fn read_replies(mut stream: TcpStream, count: usize) -> TcpStream {
    let reading = tokio::task::spawn_blocking(move || {
        stream.read_exact(&mut vec![0; count * REPLY_BYTES]).unwrap();
        stream
    });
    reading.await.unwrap()
}
