//! Prepared requests, written from the standards with nothing but an XDR encoder.

use std::io::{Read, Write};
use std::net::TcpStream;

use xdr::{Decoder, Encoder};

use crate::Requests;
use crate::serve::{FILE, Server};

const NFS: u32 = 100_003;
const MOUNT: u32 = 100_005;

/// NFSv3 with one file handle.
pub struct V3 {
    address: std::net::SocketAddr,
    request: Vec<u8>,
}

impl V3 {
    pub fn getattr(server: &Server) -> Self {
        let handle = Self::file_handle(server);
        Self::with(server, 1, |e| e.opaque(&handle))
    }

    pub fn read(server: &Server, bytes: u32) -> Self {
        let handle = Self::file_handle(server);
        Self::with(server, 6, |e| {
            e.opaque(&handle);
            e.u64(0);
            e.u32(bytes);
        })
    }

    fn with(server: &Server, procedure: u32, arguments: impl FnOnce(&mut Encoder)) -> Self {
        Self { address: server.address, request: call(NFS, 3, procedure, arguments) }
    }

    fn file_handle(server: &Server) -> Vec<u8> {
        let mut stream = connect(server.address);
        let mut mounted = exchange(&mut stream, &call(MOUNT, 3, 1, |e| e.opaque(b"/")));
        assert_eq!(mounted.u32(), Ok(0), "MNT");
        let root = mounted.opaque(64).expect("root handle");
        let mut found = exchange(
            &mut stream,
            &call(NFS, 3, 3, |e| {
                e.opaque(&root);
                e.opaque(FILE.as_bytes());
            }),
        );
        assert_eq!(found.u32(), Ok(0), "LOOKUP");
        found.opaque(64).expect("file handle").to_vec()
    }
}

impl Requests for V3 {
    fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        append_with_xid(&self.request, lane, to);
    }

    fn lane_of(&self, reply: &[u8]) -> usize {
        // xid, REPLY, accepted, verifier (two words), SUCCESS, then the status.
        assert_eq!(word(reply, 6), 0, "status of the reply");
        word(reply, 0) as usize
    }
}

/// NFSv4.1: a session with a slot for each lane.
pub struct V4 {
    address: std::net::SocketAddr,
    request: Vec<u8>,
    sequence_at: usize,
    sequences: Vec<u32>,
}

const SLOTS: u32 = 64;

impl V4 {
    pub fn getattr(server: &Server) -> Self {
        Self::with(server, 2, |e| {
            e.u32(9);
            // type, change, size, fileid, mode, numlinks, owner, group, space used, the three times.
            e.u32(2);
            e.u32(1 << 1 | 1 << 3 | 1 << 4 | 1 << 20);
            e.u32(1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 13 | 1 << 15 | 1 << 20 | 1 << 21);
        })
    }

    pub fn read(server: &Server, bytes: u32) -> Self {
        Self::with(server, 2, |e| {
            e.u32(25);
            e.fixed(&[0; 16]);
            e.u64(0);
            e.u32(bytes);
        })
    }

    /// A compound of SEQUENCE, PUTFH and one more operation.
    fn with(server: &Server, operations_after_sequence: u32, last: impl FnOnce(&mut Encoder)) -> Self {
        let mut stream = connect(server.address);
        let session = create_session(&mut stream);
        let handle = Self::file_handle(&mut stream, session);
        let mut sequence_at = 0;
        let request = call(NFS, 4, 1, |e| {
            compound(e, 1 + operations_after_sequence);
            sequence_at = sequence(e, session, 0, 0);
            e.u32(22);
            e.opaque(&handle);
            last(e);
        });
        // The session that the load uses is a fresh one on its own connection, made in `connect`.
        Self { address: server.address, request, sequence_at, sequences: vec![0; SLOTS as usize] }
    }

    fn file_handle(stream: &mut TcpStream, session: [u8; 16]) -> Vec<u8> {
        let mut found = exchange(
            stream,
            &call(NFS, 4, 1, |e| {
                compound(e, 4);
                sequence(e, session, 1, 0);
                e.u32(24);
                e.u32(15);
                e.opaque(FILE.as_bytes());
                e.u32(10);
            }),
        );
        assert_eq!(found.u32(), Ok(0), "COMPOUND with LOOKUP");
        found.opaque(1024).expect("tag");
        found.u32().expect("count");
        skip_sequence(&mut found);
        for _ in 0..4 {
            found.u32().expect("PUTROOTFH, LOOKUP");
        }
        assert_eq!((found.u32(), found.u32()), (Ok(10), Ok(0)), "GETFH");
        found.opaque(128).expect("handle").to_vec()
    }
}

impl Requests for V4 {
    fn connect(&self) -> TcpStream {
        let mut stream = connect(self.address);
        let session = create_session(&mut stream);
        SESSION.with(|cell| cell.set(session));
        stream
    }

    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        let start = to.len();
        append_with_xid(&self.request, lane, to);
        self.sequences[lane] += 1;
        let at = start + self.sequence_at;
        to[at..at + 16].copy_from_slice(&SESSION.with(std::cell::Cell::get));
        to[at + 16..at + 20].copy_from_slice(&self.sequences[lane].to_be_bytes());
        to[at + 20..at + 24].copy_from_slice(&(lane as u32).to_be_bytes());
    }

    fn lane_of(&self, reply: &[u8]) -> usize {
        assert_eq!(word(reply, 6), 0, "status of the COMPOUND");
        word(reply, 0) as usize
    }
}

thread_local! {
    static SESSION: std::cell::Cell<[u8; 16]> = const { std::cell::Cell::new([0; 16]) };
}

fn create_session(stream: &mut TcpStream) -> [u8; 16] {
    let name = format!("speed {:?} {:?}", std::thread::current().id(), std::time::SystemTime::now());
    let mut exchanged = exchange(
        stream,
        &call(NFS, 4, 1, |e| {
            compound(e, 1);
            e.u32(42);
            e.fixed(&[1; 8]);
            e.opaque(name.as_bytes());
            e.u32(0);
            e.u32(0);
            e.u32(0);
        }),
    );
    assert_eq!(exchanged.u32(), Ok(0), "EXCHANGE_ID");
    exchanged.opaque(1024).expect("tag");
    for _ in 0..3 {
        exchanged.u32().expect("count, operation, status");
    }
    let (client, sequence_id) = (exchanged.u64().expect("client"), exchanged.u32().expect("sequence"));
    let mut created = exchange(
        stream,
        &call(NFS, 4, 1, |e| {
            compound(e, 1);
            e.u32(43);
            e.u64(client);
            e.u32(sequence_id);
            e.u32(0);
            for requests in [SLOTS, 1] {
                for value in [0, 2 << 20, 2 << 20, 4096, 16, requests] {
                    e.u32(value);
                }
                e.u32(0);
            }
            e.u32(0x4000_0000);
            e.u32(1);
            e.u32(0);
        }),
    );
    assert_eq!(created.u32(), Ok(0), "CREATE_SESSION");
    created.opaque(1024).expect("tag");
    for _ in 0..3 {
        created.u32().expect("count, operation, status");
    }
    created.fixed().expect("session")
}

fn compound(e: &mut Encoder, operations: u32) {
    e.opaque(b"");
    e.u32(1);
    e.u32(operations);
}

/// Appends SEQUENCE; returns where its session id stands, from the start of the record's mark.
fn sequence(e: &mut Encoder, session: [u8; 16], sequence_id: u32, slot: u32) -> usize {
    e.u32(53);
    let at = e.len();
    e.fixed(&session);
    e.u32(sequence_id);
    e.u32(slot);
    e.u32(SLOTS - 1);
    e.bool(false);
    at
}

fn skip_sequence(from: &mut Decoder) {
    assert_eq!((from.u32(), from.u32()), (Ok(53), Ok(0)), "SEQUENCE");
    from.fixed::<16>().expect("session");
    for _ in 0..5 {
        from.u32().expect("SEQUENCE's numbers");
    }
}

/// A whole call with its record mark and AUTH_SYS of the superuser.
fn call(program: u32, version: u32, procedure: u32, arguments: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut e = Encoder::new();
    let mark = e.reserve_u32();
    for value in [0, 0, 2, program, version, procedure] {
        e.u32(value);
    }
    e.u32(1);
    e.opaque(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    e.u32(0);
    e.u32(0);
    arguments(&mut e);
    let length = u32::try_from(e.len() - 4).expect("a short request");
    e.fill_u32(mark, 0x8000_0000 | length);
    e.into_inner()
}

fn append_with_xid(request: &[u8], lane: usize, to: &mut Vec<u8>) {
    let start = to.len();
    to.extend_from_slice(request);
    to[start + 4..start + 8].copy_from_slice(&(lane as u32).to_be_bytes());
}

fn connect(address: std::net::SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connect");
    stream.set_nodelay(true).expect("nodelay");
    stream
}

/// Sends one call and returns its results.
fn exchange(stream: &mut TcpStream, request: &[u8]) -> Decoder {
    stream.write_all(request).expect("request");
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).expect("mark");
    let mut reply = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
    stream.read_exact(&mut reply).expect("reply");
    let mut decoder = Decoder::new(reply.into());
    for expected in [0, 1, 0, 0, 0, 0] {
        assert_eq!(decoder.u32(), Ok(expected), "header of the reply");
    }
    decoder
}

fn word(bytes: &[u8], index: usize) -> u32 {
    bytes[index * 4..].first_chunk().map_or(u32::MAX, |word| u32::from_be_bytes(*word))
}
