//! How a running server is looked at and told what to do: a Unix socket for its own user and the superuser,
//! and one command per connection, in lines of JSON.
//!
//! Owns the socket and who may use it; what is asked and answered is in [`protocol`].

mod actions;
mod files;
mod find;
mod lists;
pub mod protocol;
mod socket;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rpc_net::memory::MemoryBudget;
use server::dispatch::Programs;
use server::services::StateService;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::exports::{ExportStore, Exported};
use super::records::Health;
pub use find::find_sockets;
use protocol::{Answer, Request, VERSION};
use socket::Socket;
pub use socket::{SOCKET_NAME, SocketError};

/// Commands at a time; one more is closed at once.
const CONNECTIONS_MAX: usize = 8;
/// The longest command in bytes.
const REQUEST_BYTES_MAX: u64 = 16 << 10;
/// How long it may take to send a command, or to read a piece of the answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a command looks at and works on.
#[derive(Debug)]
pub struct Controlled {
    pub(super) address: SocketAddr,
    pub(super) started: Instant,
    pub(super) services: StateService,
    pub(super) keeper: Arc<ExportStore>,
    pub(super) programs: Arc<Programs<Exported, StateService, StateService>>,
    pub(super) records: Option<Arc<Health>>,
    pub(super) memory: Arc<MemoryBudget>,
}

/// Somebody asks for the configuration to be read again; the answer says what became of it, or why nothing
/// did.
pub type ReloadRequest = oneshot::Sender<Result<protocol::Reloaded, String>>;

/// Listens for commands until it is dropped.
#[derive(Debug)]
pub struct Control {
    task: JoinHandle<()>,
}

impl Control {
    /// Begins to listen at `path`, where a socket that nobody listens at any more is replaced. Requests to
    /// reload are sent to `reloads`.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub fn start(
        path: PathBuf,
        controlled: Controlled,
        reloads: mpsc::Sender<ReloadRequest>,
    ) -> Result<Self, SocketError> {
        let socket = Socket::bind(path)?;
        let shared = Arc::new((controlled, reloads));
        Ok(Self { task: tokio::spawn(accept(socket, shared)) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Shared = Arc<(Controlled, mpsc::Sender<ReloadRequest>)>;

async fn accept(mut socket: Socket, shared: Shared) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Some(stream) = socket.accept().await else { continue };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!(connections = CONNECTIONS_MAX, "too many commands at a time: one was refused");
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            if let Err(error) = serve(stream, &shared).await {
                tracing::debug!(%error, "a command was not answered to its end");
            }
            drop(place);
        });
    }
}

/// Answers one command.
async fn serve(stream: UnixStream, shared: &Shared) -> std::io::Result<()> {
    let (from, to) = stream.into_split();
    let mut line = Vec::new();
    let mut from = BufReader::new(from.take(REQUEST_BYTES_MAX));
    tokio::time::timeout(PATIENCE, from.read_until(b'\n', &mut line)).await??;
    let mut answers = Answers { to, rows: 0 };
    let outcome = match request(&line) {
        Ok(request) => answers.answer(request, shared).await?,
        Err(sentence) => Err(sentence),
    };
    match outcome {
        Ok(()) => answers.end().await,
        Err(sentence) => answers.send(&Answer::Error(sentence)).await,
    }
}

fn request(line: &[u8]) -> Result<Request, String> {
    if line.last() != Some(&b'\n') {
        return Err(format!("the command is longer than {REQUEST_BYTES_MAX} bytes or has no end"));
    }
    let request: Request =
        serde_json::from_slice(line).map_err(|error| format!("the command is not understood: {error}"))?;
    if request.version != VERSION {
        return Err(format!(
            "the server speaks version {VERSION} of the protocol and not {}; use the `primetime` that it was \
             started with",
            request.version
        ));
    }
    Ok(request)
}

/// The way back. Whoever reads slowly holds up nobody: nothing is locked while a piece is sent.
struct Answers {
    to: OwnedWriteHalf,
    rows: u64,
}

impl Answers {
    async fn send(&mut self, answer: &Answer) -> std::io::Result<()> {
        let mut line = protocol::line(answer);
        line.push(b'\n');
        tokio::time::timeout(PATIENCE, self.to.write_all(&line)).await?
    }

    async fn row(&mut self, row: &impl serde::Serialize) -> std::io::Result<()> {
        self.rows += 1;
        // Every row is of a kind that JSON has.
        let row = serde_json::to_value(row).unwrap_or_default();
        self.send(&Answer::Row(row)).await
    }

    async fn end(&mut self) -> std::io::Result<()> {
        let rows = self.rows;
        self.send(&Answer::End { rows }).await
    }
}
