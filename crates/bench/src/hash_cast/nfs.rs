//! Sequential reads of NFS over the emulated network: a server of our own in the server's machine, and in
//! each client's machine a client that reads one file from its beginning to its end, again and again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use netlab::packet::Network;
use tokio::runtime::{Builder, Runtime};

use super::Error;
use crate::runner::{self, OwnServer, Stop};
use crate::workload::{Access, Address, Habits, Mount, WorkDirectory, files};

const VERSION: &str = "4.1";

const HABITS: Habits = Habits { delegations: true, readahead: true, data_cache: true };

/// The port of the server, which is alone in its machine. With those of the clients it decides the queues.
const PORT: u16 = 2049;

/// Larger than what a window holds, small beside what a run reads.
const FILE_BYTES: u64 = 32 << 20;

/// Small requests, so that what is counted is spread evenly over time.
const IO_BYTES: u64 = 64 << 10;

/// A client that is not connected by then never will be.
const CONNECTED_WITHIN: Duration = Duration::from_secs(30);

/// The timeout for destroying a session at the end of a run.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(200);

/// The server, with the one file that all clients read.
pub(super) struct Server {
    runtime: Runtime,
    server: OwnServer,
    url: String,
    place: WorkDirectory,
}

impl Server {
    /// Starts it in the network's server, and writes its file from there.
    pub(super) fn start(network: &Network, command: &Path, seed: u64, stop: &Stop) -> Result<Self, Error> {
        let place = WorkDirectory { directory: String::new(), clients: network.clients().len() as u32, seed };
        let started = network.server().inside(|| {
            // Threads of its own keep reading what the server says.
            let runtime =
                Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(Error::Threads)?;
            let address = network.server().address();
            let server =
                runtime.block_on(stop.or(OwnServer::start_at(command, (address, PORT).into(), &[])))?;
            let url = format!("{}?rsize={IO_BYTES}", server.url());
            runtime.block_on(stop.or(make_file(&url, &place)))?;
            Ok::<_, Error>((runtime, server, url))
        });
        let (runtime, server, url) = started.map_err(Error::Network)??;
        Ok(Self { runtime, server, url, place })
    }

    /// Stops it and removes its directory.
    pub(super) fn stop(self) -> Result<(), Error> {
        Ok(self.runtime.block_on(self.server.stop())?)
    }

    fn address(&self, connections: u32) -> Result<Address, Error> {
        let text = format!("{}&nconnect={connections}", self.url);
        Address::parse(&text).map_err(|error| runner::Error::OwnServer(error).into())
    }
}

async fn make_file(url: &str, place: &WorkDirectory) -> Result<(), runner::Error> {
    let failed =
        |cause: String| runner::Error::Server { server: url.to_owned(), version: VERSION.to_owned(), cause };
    let address = Address::parse(url).map_err(failed)?;
    let mount = Mount::connect(&address, VERSION, HABITS).await.map_err(|error| failed(error.to_string()))?;
    let mount = Arc::new(mount);
    let made = files::make_large(&mount, &files::shared(place), place.seed, 0, FILE_BYTES).await;
    mount.shut_down().await;
    made.map_err(|error| failed(error.to_string()))
}

/// Clients that are reading. They stop when dropped.
pub(super) struct Readers {
    received: Vec<Arc<AtomicU64>>,
    stopped: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Readers {
    /// Starts all clients, each with as many connections from `first_port` on, and returns when each has read
    /// something.
    pub(super) fn start(
        network: &Arc<Network>,
        server: &Server,
        (first_port, connections): (u16, u32),
        stop: &Stop,
    ) -> Result<Self, Error> {
        let address = server.address(connections)?;
        for client in network.clients() {
            let last_port = first_port.saturating_add((connections as u16).saturating_sub(1));
            client.set_local_ports(first_port..=last_port).map_err(Error::Network)?;
        }
        let mut readers = Self { received: Vec::new(), stopped: Arc::default(), threads: Vec::new() };
        for client in 0..network.clients().len() {
            let received = Arc::new(AtomicU64::new(0));
            let reader = Reader {
                place: server.place.clone(),
                address: address.clone(),
                received: Arc::clone(&received),
                stopped: Arc::clone(&readers.stopped),
            };
            let network = Arc::clone(network);
            let run = move || run(&network, client, &reader);
            let thread = std::thread::Builder::new()
                .name("hash-cast-reader".into())
                .spawn(run)
                .map_err(Error::Threads)?;
            readers.received.push(received);
            readers.threads.push(thread);
        }
        let deadline = std::time::Instant::now() + CONNECTED_WITHIN;
        while readers.received().contains(&0) && std::time::Instant::now() < deadline {
            if readers.threads.iter().any(JoinHandle::is_finished) {
                break;
            }
            stop.sleep(Duration::from_millis(10))?;
        }
        Ok(readers)
    }

    /// The bytes that each client's application was given up to now.
    pub(super) fn received(&self) -> Vec<u64> {
        self.received.iter().map(|bytes| bytes.load(Relaxed)).collect()
    }

    /// Ends all clients; fails when one of them had to end before.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.stopped.store(true, Relaxed);
        let ends: Vec<Result<(), Error>> = self.threads.drain(..).map(ended).collect();
        ends.into_iter().collect()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.stopped.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // What it has to say is told by `finish` only.
            let _ = ended(thread);
        }
    }
}

fn ended(thread: JoinHandle<Result<(), Error>>) -> Result<(), Error> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

struct Reader {
    place: WorkDirectory,
    address: Address,
    received: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

/// One client, in its machine.
fn run(network: &Network, client: usize, reader: &Reader) -> Result<(), Error> {
    let inside = network.clients()[client].inside(|| {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Threads)?;
        runtime.block_on(read(reader)).map_err(|error| Error::client(client, &error))
    });
    inside.map_err(Error::Network)?
}

async fn read(reader: &Reader) -> Result<(), crate::workload::Error> {
    let mount = Mount::connect(&reader.address, VERSION, HABITS).await?;
    let path = files::shared(&reader.place);
    let pattern = files::large_pattern(&reader.place, 0, 0);
    while !reader.stopped.load(Relaxed) {
        // Each pass asks the server again.
        mount.forget(&path).await?;
        let file = mount.open(&path, Access::Read).await?;
        let mut offset = 0;
        while offset < FILE_BYTES && !reader.stopped.load(Relaxed) {
            let data = file.read(offset, IO_BYTES as usize).await?;
            files::check(pattern, &file, offset, &data, IO_BYTES)?;
            offset += IO_BYTES;
            reader.received.fetch_add(IO_BYTES, Relaxed);
        }
        if reader.stopped.load(Relaxed) {
            break;
        }
        file.close().await?;
    }
    // The reply waits behind all that was read ahead, for seconds; the server ends soon, and needs none of
    // it.
    let _ = tokio::time::timeout(LAST_WORDS_WITHIN, mount.shut_down()).await;
    Ok(())
}
