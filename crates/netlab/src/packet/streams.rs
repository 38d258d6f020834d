//! Streams of plain TCP from the server to every client, as fast as they go, and what arrives of them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::sockopt::set_tcp_congestion;
use socket2::{Domain, Socket, Type};

use super::flow::Flow;
use super::network::Network;

/// The port that the server sends from.
const SERVER_PORT: u16 = 5001;

const BLOCK_BYTES: usize = 64 << 10;

/// Threads are small: they hold a block and a socket.
const STACK_BYTES: usize = 256 << 10;

/// A connection that is not there by then never will be.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// Which streams to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Connections of each client, from 1 to 16.
    pub connections_per_client: u32,
    /// What controls the congestion of each stream; that of the network if `None`.
    pub congestion_control: Option<String>,
    /// The port of each client's first connection; the others follow. It decides, with the seed, which queues
    /// they are hashed to.
    pub first_port: u16,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { connections_per_client: 1, congestion_control: None, first_port: 40_000 }
    }
}

/// Streams that are flowing. They end when dropped.
#[derive(Debug)]
pub struct Streams {
    /// Of each client, in their order.
    flows: Vec<Vec<Flow>>,
    received: Vec<Arc<AtomicU64>>,
    ends: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Streams {
    /// Connects all streams, then lets them all flow.
    ///
    /// # Errors
    /// `InvalidInput` for options outside their bounds; `TimedOut` when the network lets no connection
    /// through; `NotFound` when the kernel has no such congestion control; what else it refuses.
    pub fn start(network: &Network, options: &StreamOptions) -> io::Result<Self> {
        check(options)?;
        let server = SocketAddrV4::new(network.server().address(), SERVER_PORT);
        let listener = network.server().inside(|| TcpListener::bind(server))??;
        let mut streams =
            Self { flows: Vec::new(), received: Vec::new(), ends: Vec::new(), threads: Vec::new() };
        let mut pairs = Vec::new();
        for client in network.clients() {
            let received = Arc::new(AtomicU64::new(0));
            let mut flows = Vec::new();
            for number in 0..options.connections_per_client as u16 {
                let address = SocketAddrV4::new(client.address(), options.first_port + number);
                let receiver = client.inside(|| connect(address, server))??;
                // It is there: the handshake is over.
                let (sender, _) = listener.accept()?;
                if let Some(name) = &options.congestion_control {
                    set_tcp_congestion(&sender, name)?;
                }
                streams.ends.extend([sender.try_clone()?, receiver.try_clone()?]);
                flows.push(Flow::tcp(server, address));
                pairs.push((sender, receiver, Arc::clone(&received)));
            }
            streams.flows.push(flows);
            streams.received.push(received);
        }
        for (sender, receiver, received) in pairs {
            streams.threads.push(spawn("netlab-receiver", move || receive(receiver, &received))?);
            streams.threads.push(spawn("netlab-sender", move || send(sender))?);
        }
        Ok(streams)
    }

    /// Each client's flows from the server.
    #[must_use]
    pub fn flows(&self) -> &[Vec<Flow>] {
        &self.flows
    }

    /// The bytes that each client's applications have been given up to now.
    #[must_use]
    pub fn received(&self) -> Vec<u64> {
        self.received.iter().map(|bytes| bytes.load(Relaxed)).collect()
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        for end in &self.ends {
            // One that the other side has ended is as good.
            let _ = end.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn check(options: &StreamOptions) -> io::Result<()> {
    let last_port = u32::from(options.first_port) + options.connections_per_client;
    if (1..=16).contains(&options.connections_per_client) && options.first_port > 0 && last_port < 1 << 16 {
        return Ok(());
    }
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        "each client has from 1 to 16 connections, on ports that there are",
    ))
}

fn connect(from: SocketAddrV4, to: SocketAddrV4) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // The last run may have left the port waiting for stray packets.
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::V4(from).into())?;
    socket.connect_timeout(&SocketAddr::V4(to).into(), CONNECT_WITHIN)?;
    Ok(socket.into())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(work)
}

fn send(mut stream: TcpStream) {
    let block = vec![0; BLOCK_BYTES];
    // Until it is shut down.
    while stream.write_all(&block).is_ok() {}
}

fn receive(mut stream: TcpStream, received: &AtomicU64) {
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match stream.read(&mut block) {
            Ok(length) if length > 0 => received.fetch_add(length as u64, Relaxed),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // It is shut down.
            _ => return,
        };
    }
}
