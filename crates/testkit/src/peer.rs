//! One end of a TCP connection, as client or as server: sends bytes as they are and receives records.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use xdr::Decoder;

pub use crate::record_reader::RECORD_BYTES_MAX;
use crate::record_reader::RecordReader;
use crate::wire::RawCall;

/// Returns a listener on a free port of 127.0.0.1, and its address.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// One end of a connection.
#[derive(Debug)]
pub struct RawPeer {
    stream: TcpStream,
    input: RecordReader,
}

impl RawPeer {
    /// Connects to a server. Segments leave at once (TCP_NODELAY).
    ///
    /// # Errors
    /// Those of the system.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address)?)
    }

    /// Accepts the connection of a client.
    ///
    /// # Errors
    /// Those of the system.
    pub fn accept(listener: &TcpListener) -> io::Result<Self> {
        Self::over(listener.accept()?.0)
    }

    /// Uses a connection that exists. Segments leave at once from now on.
    ///
    /// # Errors
    /// Those of the system.
    pub fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: RecordReader::default() })
    }

    /// Limits how long a read may wait. Without a limit it waits until bytes come or the connection ends.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(limit))
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// Those of the system.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits for the next record and returns its message.
    ///
    /// # Errors
    /// Those of the system; `UnexpectedEof` when the connection ends first; `InvalidData` when the record
    /// has more than [`RECORD_BYTES_MAX`] bytes.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(message) = self.input.take()? {
                return Ok(message);
            }
            self.read_some()?;
        }
    }

    /// Reads once, and returns the messages of the records that are complete then.
    ///
    /// # Errors
    /// As [`RawPeer::receive`].
    pub fn receive_once(&mut self) -> io::Result<Vec<Vec<u8>>> {
        self.read_some()?;
        std::iter::from_fn(|| self.input.take().transpose()).collect()
    }

    /// Sends a call and returns the results of its reply.
    ///
    /// # Errors
    /// As [`RawPeer::receive`].
    ///
    /// # Panics
    /// If the reply is not that of an accepted and successful call with this transaction id, or has a
    /// verifier.
    pub fn call(&mut self, call: &RawCall) -> io::Result<Decoder> {
        self.send(&call.record())?;
        let (xid, results) = self.results()?;
        assert_eq!(xid, call.xid(), "the reply has the transaction id of the call");
        Ok(results)
    }

    /// Waits for the next reply and returns its transaction id and results.
    ///
    /// # Errors
    /// As [`RawPeer::receive`].
    ///
    /// # Panics
    /// If the reply is not that of an accepted and successful call, or has a verifier.
    pub fn results(&mut self) -> io::Result<(u32, Decoder)> {
        let mut from = Decoder::new(self.receive()?.into());
        let xid = from.u32().expect("a reply has a transaction id");
        for expected in [1, 0, 0, 0, 0] {
            assert_eq!(from.u32(), Ok(expected), "the head of an accepted reply");
        }
        Ok((xid, from))
    }

    fn read_some(&mut self) -> io::Result<()> {
        let mut piece = [0; 1 << 16];
        match self.stream.read(&mut piece)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.input.push(&piece[..count]);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{record, success, words};

    fn pair() -> (RawPeer, RawPeer) {
        let (listener, address) = listen();
        let client = RawPeer::connect(address).unwrap();
        (client, RawPeer::accept(&listener).unwrap())
    }

    #[test]
    fn call_returns_the_results_of_its_reply() {
        let (mut client, mut server) = pair();
        let call = RawCall::new(5, (1, 2, 3)).with_bytes(b"args");
        server.send(&record(&success(5, b"done"))).unwrap();
        let results = client.call(&call).unwrap();
        assert_eq!(results.rest_ref(), b"done");
        assert_eq!(server.receive().unwrap(), call.message());
    }

    #[test]
    fn fragments_are_joined_and_records_separated() {
        let (mut client, mut server) = pair();
        client.send(&[&words(&[2])[..], b"ab", &record(b"cd"), &record(b"second")].concat()).unwrap();
        assert_eq!(server.receive().unwrap(), b"abcd");
        assert_eq!(server.receive().unwrap(), b"second");
    }

    #[test]
    fn one_read_returns_all_complete_records() {
        let (mut client, mut server) = pair();
        client.send(&[record(b"a"), record(b"b"), words(&[0x8000_0001])].concat()).unwrap();
        assert_eq!(server.receive_once().unwrap(), [b"a", b"b"]);
        client.send(b"c").unwrap();
        assert_eq!(server.receive_once().unwrap(), [b"c"]);
    }

    #[test]
    fn lost_connections_and_oversized_records_are_errors() {
        let (mut client, mut server) = pair();
        client.send(&words(&[0x8000_0000 | (RECORD_BYTES_MAX as u32 + 1)])).unwrap();
        assert_eq!(server.receive().unwrap_err().kind(), io::ErrorKind::InvalidData);
        let (client, mut server) = pair();
        drop(client);
        assert_eq!(server.receive().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    #[should_panic(expected = "the head of an accepted reply")]
    fn refused_call_ends_the_test() {
        let (mut client, mut server) = pair();
        server.send(&record(&words(&[5, 1, 0, 0, 0, 1]))).unwrap();
        drop(client.results());
    }
}
