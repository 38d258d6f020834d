//! A server on a TCP port whose replies a test writes.
//!
//! It does not use the server of `rpc`: a [`Script`] may reply in pieces, too late, twice or never.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_util::poll;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rpc::Refusal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use xdr::Decoder;

use crate::ProcedureNumber;
use crate::record_reader::RecordReader;
use crate::wire::{fragments, record, refusal, success};

/// The longest body of a credential or verifier, in bytes (RFC 5531 §8.2).
const AUTH_BYTES_MAX: u32 = 400;

/// A call as it came.
#[derive(Debug)]
pub struct ScriptedCall {
    /// The transaction id.
    pub xid: u32,
    /// Program, version and procedure.
    pub number: ProcedureNumber,
    /// Flavor and body of the credential.
    pub credential: (u32, Bytes),
    /// The arguments.
    pub arguments: Decoder,
}

impl ScriptedCall {
    /// Reads a message.
    fn new(message: Vec<u8>) -> xdr::Result<Self> {
        let mut from = Decoder::new(message.into());
        let (xid, _call, _rpc_version) = (from.u32()?, from.u32()?, from.u32()?);
        let number = (from.u32()?, from.u32()?, from.u32()?);
        let credential = (from.u32()?, from.opaque(AUTH_BYTES_MAX)?);
        let _verifier = (from.u32()?, from.opaque(AUTH_BYTES_MAX)?);
        Ok(Self { xid, number, credential, arguments: from })
    }
}

/// What the server does about a call.
#[derive(Debug)]
pub enum Answer {
    /// Replies with these results.
    Results(Vec<u8>),
    /// Replies with these results, in fragments of at most so many bytes, each in a write of its own.
    Fragments(Vec<u8>, usize),
    /// Replies that the call is refused.
    Refused(Refusal),
    /// Sends these bytes as they are, in place of a record.
    Bytes(Vec<u8>),
    /// Sends nothing.
    Dropped,
    /// Closes the connection.
    Closed,
}

impl From<Result<Vec<u8>, Refusal>> for Answer {
    fn from(results: Result<Vec<u8>, Refusal>) -> Self {
        results.map_or_else(Self::Refused, Self::Results)
    }
}

/// Decides about calls.
///
/// Calls of a connection are begun in the order in which they came. Each is then awaited by itself, so that a
/// script delays one by waiting.
pub trait Script: Send + Sync + 'static {
    /// Decides about a call.
    fn answer(&self, call: ScriptedCall) -> impl Future<Output = Answer> + Send;
}

/// Serves on a free port of 127.0.0.1 until the runtime ends, and returns the address.
///
/// # Panics
/// If there is no port.
pub async fn serve(script: Arc<impl Script>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // The client notices when the connection ends.
            tokio::spawn(converse(stream, Arc::clone(&script)));
        }
    });
    address
}

async fn converse(mut stream: TcpStream, script: Arc<impl Script>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut from, mut to) = stream.split();
    let (mut input, mut piece) = (RecordReader::default(), Vec::with_capacity(1 << 16));
    let mut waiting = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some((xid, answer)) = waiting.next() => {
                if !carry_out(xid, answer, &mut to).await? {
                    return Ok(());
                }
            }
            read = from.read_buf(&mut piece) => {
                if read? == 0 {
                    return Ok(());
                }
                input.push(&piece);
                piece.clear();
                while let Some(message) = input.take()? {
                    let call = ScriptedCall::new(message).map_err(io::Error::other)?;
                    let (xid, script) = (call.xid, &script);
                    let mut answering = Box::pin(async move { (xid, script.answer(call).await) });
                    match poll!(&mut answering) {
                        Poll::Pending => waiting.push(answering),
                        Poll::Ready((xid, answer)) => {
                            if !carry_out(xid, answer, &mut to).await? {
                                return Ok(());
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns false when the connection is to be closed.
async fn carry_out(xid: u32, answer: Answer, to: &mut (impl AsyncWriteExt + Unpin)) -> io::Result<bool> {
    match answer {
        Answer::Results(results) => to.write_all(&record(&success(xid, &results))).await?,
        Answer::Fragments(results, bytes_max) => {
            for fragment in fragments(&success(xid, &results), bytes_max) {
                to.write_all(&fragment).await?;
            }
        }
        Answer::Refused(refused) => to.write_all(&record(&refusal(xid, &refused))).await?,
        Answer::Bytes(bytes) => to.write_all(&bytes).await?,
        Answer::Dropped => {}
        Answer::Closed => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;
    use tokio::task::spawn_blocking;

    use super::*;
    use crate::peer::RawPeer;
    use crate::wire::{RawCall, TEST_PROGRAM};

    /// Procedures 0 to 5 are the kinds of answers; procedure 6 waits for one that is dropped.
    struct Kinds(Semaphore);

    impl Script for Kinds {
        async fn answer(&self, call: ScriptedCall) -> Answer {
            let echo = call.arguments.rest_ref().to_vec();
            match call.number.2 {
                0 => Answer::Results(echo),
                1 => Answer::Fragments(echo, 3),
                2 => Answer::Refused(Refusal::ProgramMismatch { low: 5, high: 6 }),
                3 => Answer::Bytes(record(&success(call.xid, b"own"))),
                4 => {
                    self.0.add_permits(1);
                    Answer::Dropped
                }
                5 => Answer::Closed,
                _ => {
                    self.0.acquire().await.unwrap().forget();
                    Answer::Results(echo)
                }
            }
        }
    }

    fn call(procedure: u32) -> RawCall {
        RawCall::new(procedure, (TEST_PROGRAM, 1, procedure)).with_bytes(b"args")
    }

    #[tokio::test]
    async fn script_replies_delays_drops_and_closes() {
        let address = serve(Arc::new(Kinds(Semaphore::new(0)))).await;
        let client = spawn_blocking(move || {
            let mut client = RawPeer::connect(address).unwrap();
            for (procedure, results) in [(0, b"args".as_slice()), (1, b"args"), (3, b"own")] {
                assert_eq!(client.call(&call(procedure)).unwrap().rest_ref(), results);
            }
            client.send(&call(2).record()).unwrap();
            assert_eq!(client.receive().unwrap(), refusal(2, &Refusal::ProgramMismatch { low: 5, high: 6 }));
            client.send(&call(6).record()).unwrap();
            assert_eq!(
                client.call(&call(0)).unwrap().rest_ref(),
                b"args",
                "calls do not wait for each other"
            );
            client.send(&call(4).record()).unwrap();
            assert_eq!(client.results().unwrap().0, 6);
            client.send(&call(5).record()).unwrap();
            assert_eq!(client.receive().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        });
        client.await.unwrap();
    }
}
