//! A single call to a program somewhere: a port mapper, or what listens at a client.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use rpc::message::{self, Message};
use rpc::{CallError, CallHeader, Credential, RecordLimits, RecordReader, Transport};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, UdpSocket, UnixStream};
use tokio::time::{Instant, timeout, timeout_at};
use xdr::Decoder;

use crate::call_frame::frame_call;

/// The longest reply in bytes.
const REPLY_BYTES_MAX: usize = 64 << 10;
/// The pause before a datagram is sent again; it doubles each time.
const RESEND: Duration = Duration::from_millis(500);

/// Where a call goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A host and port.
    Network {
        /// What carries it.
        transport: Transport,
        /// The address that it comes from; any of ours when `None`.
        local: Option<IpAddr>,
        /// Where to.
        to: SocketAddr,
    },
    /// A socket on this host.
    Local(PathBuf),
}

/// What is called.
#[derive(Debug, Clone)]
pub struct OneCall {
    /// Program number.
    pub program: u32,
    /// Version of the program.
    pub version: u32,
    /// Procedure of the program.
    pub procedure: u32,
    /// Who calls.
    pub credential: Credential,
    /// The arguments.
    pub arguments: Vec<u8>,
}

/// Calls, over a connection of its own, and yields the results. A datagram is sent again while there is time.
///
/// # Errors
/// See [`CallError`]; [`CallError::Connect`] also when the host says that nobody listens there.
pub async fn call_once(
    destination: &Destination,
    call: OneCall,
    time_limit: Duration,
) -> Result<Bytes, CallError> {
    let xid = RandomState::new().hash_one(call.procedure) as u32;
    let OneCall { program, version, procedure, credential, arguments } = call;
    let header = CallHeader { xid, program, version, procedure };
    let frame = frame_call(&header, &credential, |to| to.buffer_mut().extend_from_slice(&arguments));
    let exchanged = async {
        match destination {
            Destination::Local(path) => {
                let stream = UnixStream::connect(path).await.map_err(CallError::Connect)?;
                exchange_record(stream, &frame, xid).await
            }
            Destination::Network { transport: Transport::Tcp, local, to } => {
                let stream = connect(*local, *to).await.map_err(CallError::Connect)?;
                exchange_record(stream, &frame, xid).await
            }
            Destination::Network { transport: Transport::Udp, local, to } => {
                exchange_datagram((*local, *to), &frame[4..], xid).await
            }
        }
    };
    timeout(time_limit, exchanged).await.map_err(|_| CallError::Timeout)?
}

async fn connect(local: Option<IpAddr>, to: SocketAddr) -> io::Result<tokio::net::TcpStream> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(local) = local {
        socket.bind(SocketAddr::new(local, 0))?;
    }
    socket.connect(to).await
}

async fn exchange_record(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    frame: &[u8],
    xid: u32,
) -> Result<Bytes, CallError> {
    let lost = |_| CallError::Disconnected;
    stream.write_all(frame).await.map_err(lost)?;
    let limits = RecordLimits { record_bytes_max: REPLY_BYTES_MAX, fragments_max: 16 };
    let mut reader = RecordReader::new(limits);
    loop {
        if let Some(record) = reader.next_record().map_err(|_| CallError::Disconnected)? {
            match results(record, xid)? {
                Some(results) => return Ok(results),
                None => continue,
            }
        }
        if stream.read_buf(reader.buffer()).await.map_err(lost)? == 0 {
            return Err(CallError::Disconnected);
        }
    }
}

async fn exchange_datagram(
    (local, to): (Option<IpAddr>, SocketAddr),
    datagram: &[u8],
    xid: u32,
) -> Result<Bytes, CallError> {
    let any = if to.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) };
    let from = SocketAddr::new(local.unwrap_or(any), 0);
    let socket = UdpSocket::bind(from).await.map_err(CallError::Connect)?;
    // From now on it only receives from there.
    socket.connect(to).await.map_err(CallError::Connect)?;
    let mut buffer = vec![0; REPLY_BYTES_MAX];
    let mut pause = RESEND;
    loop {
        socket.send(datagram).await.map_err(CallError::Connect)?;
        let again = Instant::now() + pause;
        pause *= 2;
        while let Ok(received) = timeout_at(again, socket.recv(&mut buffer)).await {
            let length = received.map_err(CallError::Connect)?;
            match results(Bytes::copy_from_slice(&buffer[..length]), xid) {
                Ok(Some(results)) => return Ok(results),
                Err(refused @ CallError::Refused(_)) => return Err(refused),
                // Anybody may send what is no reply.
                Ok(None) | Err(_) => {}
            }
        }
    }
}

/// The results of a reply; `None` for a message that is not the reply to this call.
fn results(message: Bytes, xid: u32) -> Result<Option<Bytes>, CallError> {
    let mut decoder = Decoder::new(message);
    match message::decode(&mut decoder).map_err(CallError::Protocol)? {
        Message::Reply { xid: of } if of == xid => {
            message::decode_reply(&mut decoder).map_err(CallError::Protocol)?.map_err(CallError::Refused)?;
            Ok(Some(decoder.rest()))
        }
        _ => Ok(None),
    }
}
