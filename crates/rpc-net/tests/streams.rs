//! A connection over a stream that is no socket: two queues in memory, which take few bytes at a time and
//! give no hints.

#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{BufMut, BytesMut};
use parking_lot::Mutex;
use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::{ServerOptions, Stream, serve_stream};
use testkit::wire::{RawCall, TEST_PROGRAM, record, success};
use xdr::Encoder;

/// Bytes that one direction holds.
const ROOM_BYTES: usize = 100;

/// One direction.
#[derive(Debug, Default)]
struct Lane {
    bytes: VecDeque<u8>,
    is_ended: bool,
    waiting: Vec<Waker>,
}

impl Lane {
    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

/// One end of a pipe: reads from the lane of its number, and writes to the other.
#[derive(Debug, Clone)]
struct End {
    lanes: Arc<[Mutex<Lane>; 2]>,
    number: usize,
}

impl End {
    fn pair() -> [Self; 2] {
        let lanes = Arc::new([Mutex::default(), Mutex::default()]);
        [0, 1].map(|number| Self { lanes: Arc::clone(&lanes), number })
    }

    fn poll(
        &self,
        lane: usize,
        context: &mut Context<'_>,
        is_ready: impl Fn(&Lane) -> bool,
    ) -> Poll<io::Result<()>> {
        let mut lane = self.lanes[lane].lock();
        if is_ready(&lane) {
            return Poll::Ready(Ok(()));
        }
        lane.waiting.push(context.waker().clone());
        Poll::Pending
    }

    fn end(&self) {
        let mut lane = self.lanes[1 - self.number].lock();
        lane.is_ended = true;
        lane.wake();
    }
}

impl Stream for End {
    fn peer(&self) -> SocketAddr {
        ([192, 0, 2, 1], 7).into()
    }

    fn local(&self) -> Option<SocketAddr> {
        None
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(self.number, context, |lane| lane.is_ended || !lane.bytes.is_empty())
    }

    fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        let mut lane = self.lanes[self.number].lock();
        let count = lane.bytes.len().min(buffer.capacity() - buffer.len());
        if count == 0 && !lane.is_ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        lane.bytes.drain(..count).for_each(|byte| buffer.put_u8(byte));
        lane.wake();
        Ok(count)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(1 - self.number, context, |lane| lane.bytes.len() < ROOM_BYTES)
    }

    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut lane = self.lanes[1 - self.number].lock();
        let room = ROOM_BYTES - lane.bytes.len();
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).take(room).collect();
        if bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        lane.bytes.extend(&bytes);
        lane.wake();
        Ok(bytes.len())
    }

    fn shut_down(&self) {
        for lane in self.lanes.iter() {
            let mut lane = lane.lock();
            lane.is_ended = true;
            lane.wake();
        }
    }
}

/// Answers with the arguments.
struct Echo;

impl Service for Echo {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        assert_eq!((call.peer, call.connection.local()), (([192, 0, 2, 1], 7).into(), None));
        reply.buffer_mut().extend_from_slice(call.arguments.rest_ref());
        Ok(Disposition::Reply)
    }
}

async fn write(end: &End, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        poll_fn(|context| end.poll_write_ready(context)).await.unwrap();
        match end.try_write(&[IoSlice::new(bytes)]) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
}

async fn read(end: &End, count: usize) -> Vec<u8> {
    let mut buffer = BytesMut::with_capacity(count);
    while buffer.len() < count {
        poll_fn(|context| end.poll_read_ready(context)).await.unwrap();
        // Room for the missing bytes, and no more.
        let mut piece = BytesMut::with_capacity((count - buffer.len()).min(64));
        if end.try_read(&mut piece).unwrap() == 0 {
            break;
        }
        buffer.put_slice(&piece);
    }
    buffer.to_vec()
}

fn call(xid: u32, arguments: &[u8]) -> Vec<u8> {
    RawCall::new(xid, (TEST_PROGRAM, 1, 1)).with_bytes(arguments).record()
}

fn reply(xid: u32, arguments: &[u8]) -> Vec<u8> {
    record(&success(xid, arguments))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_answered_over_a_stream_that_takes_few_bytes_at_a_time() {
    let [ours, theirs] = End::pair();
    let stop = std::future::pending();
    let served = tokio::spawn(serve_stream(Box::new(theirs), Arc::new(Echo), ServerOptions::default(), stop));
    let large: Vec<u8> = (0..20_000_u32).map(|number| number as u8).collect();
    let calls = [call(1, b"some"), call(2, &large), call(3, b"more")].concat();
    let expected = [reply(1, b"some"), reply(2, &large), reply(3, b"more")].concat();
    let sent = write(&ours, &calls);
    let received = read(&ours, expected.len());
    let ((), received) = tokio::join!(sent, received);
    assert_eq!(received, expected);
    ours.end();
    served.await.unwrap();
}
