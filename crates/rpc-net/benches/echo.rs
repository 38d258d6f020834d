//! Small calls per second through client and server on the same cores: `cargo bench -p primetime-rpc-net`.

#![allow(missing_docs, clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::{Client, ClientOptions, ServerOptions, serve};
use tokio::net::TcpListener;
use xdr::Encoder;

struct Echo;

impl Service for Echo {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        reply.buffer_mut().extend_from_slice(&call.arguments.rest());
        Ok(Disposition::Reply)
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("address");
    tokio::spawn(serve(listener, Arc::new(Echo), ServerOptions::default(), std::future::pending()));
    for (connections, in_flight) in [(1, 1), (1, 64), (5, 16)] {
        let mut tasks = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(2);
        for _ in 0..connections {
            let client = Client::connect(address, ClientOptions::default()).await.expect("connect");
            for _ in 0..in_flight {
                let client = client.clone();
                tasks.push(tokio::spawn(async move {
                    let mut calls = 0u64;
                    while Instant::now() < deadline {
                        client.call(1, 1, 1, |e| e.fixed(&[1; 128])).await.expect("call");
                        calls += 1;
                    }
                    calls
                }));
            }
        }
        let mut calls = 0;
        for task in tasks {
            calls += task.await.expect("task");
        }
        println!("{connections} x {in_flight}: {:>8} calls/s", calls / 2);
    }
}
