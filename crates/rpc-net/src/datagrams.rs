//! Serving calls that come in single datagrams (RFC 5531 §10): small ones, from senders whose address nothing
//! proves.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rpc::auth::{Authenticator, ClaimPlace};
use rpc::message::{self, Message};
use rpc::{CallHeader, Connection, Refusal, Service, Transport};
use tokio::net::UdpSocket;
use xdr::{Decoder, Encoder};

use crate::driver::{Judged, NO_UPGRADE, Parties, Turn, answer, answer_control};
use crate::recent_replies::{CallKey, CallState, RecentReplies};

/// Bounds of a socket for datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramOptions {
    /// The longest call in bytes; longer ones are dropped.
    pub call_bytes_max: usize,
    /// The most calls under way; more are dropped.
    pub in_flight_max: usize,
    /// How many times as long as its call a reply may be; instead of a longer one the caller gets SYSTEM_ERR.
    /// The sender's address may be a lie: whoever it names must not be flooded with what others ask for.
    pub amplification_max: usize,
}

impl Default for DatagramOptions {
    fn default() -> Self {
        Self { call_bytes_max: 8 << 10, in_flight_max: 256, amplification_max: 3 }
    }
}

/// The room for a record mark, which belongs to streams.
const MARK_BYTES: usize = 4;
/// Pause after an error of the socket.
const ERROR_PAUSE: Duration = Duration::from_millis(20);

/// A call that is being answered, with the length of its datagram.
type Answering = Pin<Box<dyn Future<Output = (CallKey, SocketAddr, usize, Option<Vec<u8>>)> + Send>>;

/// Serves datagrams until `stop`. What is no call is dropped without an answer.
///
/// # Errors
/// When the socket does not know its own address.
pub async fn serve_datagrams<S: Service>(
    socket: UdpSocket,
    service: Arc<S>,
    options: DatagramOptions,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let local = Some(socket.local_addr()?).filter(|local| !local.ip().is_unspecified());
    let authenticator = service.authenticator();
    let mut server = Datagrams { service, authenticator, options, local, recent: RecentReplies::default() };
    let mut answering: FuturesUnordered<Answering> = FuturesUnordered::new();
    let mut stop = std::pin::pin!(stop);
    // One more byte tells a datagram that was cut off.
    let mut buffer = vec![0; options.call_bytes_max + 1];
    loop {
        tokio::select! {
            // Calls that can end do so before the next is received: they leave room for it.
            biased;
            () = &mut stop => return Ok(()),
            Some((key, sender, length, reply)) = answering.next(), if !answering.is_empty() => {
                let reply = reply.map(|reply| server.bounded(reply, length));
                server.recent.end(key, reply.as_deref());
                if let Some(reply) = reply {
                    send(&socket, &reply, sender);
                }
            }
            received = socket.recv_from(&mut buffer) => match received {
                Ok((length, sender)) if length <= options.call_bytes_max => {
                    let room = answering.len() < options.in_flight_max;
                    match server.receive(&buffer[..length], sender, room) {
                        Received::Nothing => {}
                        Received::Reply(reply) => send(&socket, &reply, sender),
                        Received::Call(call) => answering.push(call),
                    }
                }
                Ok((length, sender)) => tracing::debug!(%sender, length, "a long datagram was dropped"),
                Err(error) => {
                    tracing::debug!(%error, "no datagram was received");
                    tokio::time::sleep(ERROR_PAUSE).await;
                }
            },
        }
    }
}

/// A datagram that cannot be sent now is lost, as any may be: its receiver asks again.
fn send(socket: &UdpSocket, reply: &[u8], to: SocketAddr) {
    if let Err(error) = socket.try_send_to(reply, to) {
        tracing::debug!(%error, %to, "a reply was not sent");
    }
}

enum Received {
    Nothing,
    Reply(Bytes),
    Call(Answering),
}

struct Datagrams<S> {
    service: Arc<S>,
    authenticator: Arc<dyn Authenticator>,
    options: DatagramOptions,
    local: Option<SocketAddr>,
    recent: RecentReplies,
}

impl<S: Service> Datagrams<S> {
    fn receive(&mut self, datagram: &[u8], sender: SocketAddr, room: bool) -> Received {
        let mut decoder = Decoder::new(Bytes::copy_from_slice(datagram));
        match message::decode(&mut decoder) {
            Ok(Message::Call(header, claim)) => {
                let key = CallKey::new(sender, header.xid, datagram);
                match self.recent.begin(key) {
                    Some(CallState::UnderWay) => Received::Nothing,
                    Some(CallState::Answered(reply)) => Received::Reply(reply),
                    None if !room => {
                        self.recent.end(key, None);
                        tracing::debug!(%sender, "too many calls under way: one was dropped");
                        Received::Nothing
                    }
                    None => {
                        let received = self.judge(key, header, claim, decoder, (sender, datagram.len()));
                        if !matches!(received, Received::Call(_)) {
                            self.recent.end(key, None);
                        }
                        received
                    }
                }
            }
            Ok(Message::BadCall { xid, refusal }) => Received::Reply(refused(xid, refusal).into()),
            Ok(Message::Reply { .. }) | Err(_) => Received::Nothing,
        }
    }

    fn judge(
        &self,
        key: CallKey,
        header: CallHeader,
        claim: ClaimPlace,
        arguments: Decoder,
        (sender, length): (SocketAddr, usize),
    ) -> Received {
        let connection: Arc<dyn Connection> = Arc::new(Datagram { peer: sender, local: self.local });
        let claim = claim.of(arguments.input_ref());
        let verdict = self.authenticator.judge(&header, &claim, arguments.rest_ref(), &*connection);
        match Judged::by(verdict, header, arguments) {
            Judged::Turn(turn) => Received::Call(self.answer(key, turn, connection, length)),
            Judged::Reply(mut framed) => {
                Received::Reply(self.bounded(framed.split_off(MARK_BYTES), length).into())
            }
            // A datagram has no connection to upgrade.
            Judged::Upgrade { xid, .. } => Received::Reply(refused(xid, NO_UPGRADE).into()),
            Judged::Nothing => Received::Nothing,
        }
    }

    fn answer(&self, key: CallKey, turn: Turn, connection: Arc<dyn Connection>, length: usize) -> Answering {
        let sender = connection.peer();
        let service = Arc::clone(&self.service);
        let answered = async move {
            match turn {
                Turn::Call(arrived) => {
                    answer(Arc::new(Parties { service, connection }), arrived, Vec::new()).await
                }
                Turn::Control(call) => answer_control(connection, call).await,
            }
        };
        Box::pin(async move {
            let reply = AssertUnwindSafe(answered).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!(%sender, "a handler panicked");
                None
            });
            // Without the mark, which belongs to streams.
            (key, sender, length, reply.map(|mut framed| framed.split_off(MARK_BYTES)))
        })
    }

    fn bounded(&self, reply: Vec<u8>, call_bytes: usize) -> Vec<u8> {
        if reply.len() <= call_bytes.saturating_mul(self.options.amplification_max) {
            return reply;
        }
        let xid = reply.first_chunk().map_or(0, |xid| u32::from_be_bytes(*xid));
        refused(xid, Refusal::SystemError)
    }
}

fn refused(xid: u32, refusal: Refusal) -> Vec<u8> {
    let mut reply = Encoder::new();
    message::encode_refusal(xid, refusal, &mut reply);
    reply.into_inner()
}

/// What a datagram came by: it carries nothing the other way.
#[derive(Debug)]
struct Datagram {
    peer: SocketAddr,
    local: Option<SocketAddr>,
}

impl Connection for Datagram {
    /// No connection has this number.
    fn id(&self) -> u64 {
        0
    }

    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    fn transport(&self) -> Transport {
        Transport::Udp
    }

    fn is_open(&self) -> bool {
        false
    }
}
