//! Sessions of NFSv4.1.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};

use xdr::{Decoder, Encoder};

use super::wire::{NFS, call, exchange};

/// Asked for.
const SLOTS: u32 = 512;
static NEXT_CLIENT: AtomicU32 = AtomicU32::new(0);

/// A session of a client that nobody else is, on a connection of its own.
pub struct Session {
    pub stream: TcpStream,
    pub id: [u8; 16],
    pub client: u64,
    /// How many requests may be in flight.
    pub slots: u32,
    /// What the first slot was last used with.
    pub sequence_id: u32,
}

impl Session {
    pub fn create(mut stream: TcpStream) -> Self {
        let number = NEXT_CLIENT.fetch_add(1, Ordering::Relaxed);
        let name = format!("peers {} {number}", std::process::id());
        let mut exchanged = exchange(
            &mut stream,
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
        begin(&mut exchanged, "EXCHANGE_ID");
        result(&mut exchanged, 42);
        let (client, sequence_id) = (exchanged.u64().expect("client"), exchanged.u32().expect("sequence"));
        let mut created = exchange(&mut stream, &create_session(client, sequence_id));
        begin(&mut created, "CREATE_SESSION");
        result(&mut created, 43);
        let id = created.fixed().expect("session");
        // Sequence, flags, and of the fore channel what stands before the number of requests.
        (0..7).for_each(|_| _ = created.u32().expect("numbers of the session"));
        let slots = created.u32().expect("requests at once");
        let mut session = Self { stream, id, client, slots, sequence_id: 0 };
        // Nothing to reclaim: before this is said, no file may be opened (RFC 8881 §18.51.3).
        session.exchange("RECLAIM_COMPLETE", 1, |e| {
            e.u32(58);
            e.bool(false);
        });
        session
    }

    /// The handle of what stands at the end of a path from the root.
    pub fn find<'a>(&mut self, path: impl Iterator<Item = &'a str>) -> Vec<u8> {
        let names: Vec<_> = path.collect();
        let mut found = self.exchange("COMPOUND with LOOKUP", names.len() as u32 + 2, |e| {
            e.u32(24);
            for name in &names {
                e.u32(15);
                e.opaque(name.as_bytes());
            }
            e.u32(10);
        });
        result(&mut found, 24);
        names.iter().for_each(|_| result(&mut found, 15));
        result(&mut found, 10);
        found.opaque(128).expect("handle").to_vec()
    }

    /// Sends SEQUENCE and other operations; the decoder stands behind the result of the former.
    fn exchange(&mut self, what: &str, operations: u32, others: impl FnOnce(&mut Encoder)) -> Decoder {
        self.sequence_id += 1;
        let request = call(NFS, 4, 1, |e| {
            compound(e, 1 + operations);
            sequence(e, self.id, self.sequence_id, 0);
            others(e);
        });
        let mut reply = exchange(&mut self.stream, &request);
        begin(&mut reply, what);
        result(&mut reply, 53);
        reply.fixed::<16>().expect("session");
        (0..5).for_each(|_| _ = reply.u32().expect("SEQUENCE's numbers"));
        reply
    }
}

/// Ends a session, and the client that had it: servers give new ones less room while they keep old ones.
pub fn destroy(mut stream: TcpStream, session: [u8; 16], client: u64) -> TcpStream {
    let request = call(NFS, 4, 1, |e| {
        compound(e, 1);
        e.u32(44);
        e.fixed(&session);
    });
    begin(&mut exchange(&mut stream, &request), "DESTROY_SESSION");
    let request = call(NFS, 4, 1, |e| {
        compound(e, 1);
        e.u32(57);
        e.u64(client);
    });
    begin(&mut exchange(&mut stream, &request), "DESTROY_CLIENTID");
    stream
}

fn create_session(client: u64, sequence_id: u32) -> Vec<u8> {
    call(NFS, 4, 1, |e| {
        compound(e, 1);
        e.u32(43);
        e.u64(client);
        e.u32(sequence_id);
        e.u32(0);
        for requests in [SLOTS, 1] {
            // Replies that are kept are short: servers give as many slots as they have memory for them.
            for value in [0, 2 << 20, 2 << 20, 1024, 16, requests] {
                e.u32(value);
            }
            e.u32(0);
        }
        e.u32(0x4000_0000);
        e.u32(1);
        e.u32(0);
    })
}

/// Reads the head of `COMPOUND4res`.
fn begin(from: &mut Decoder, what: &str) {
    assert_eq!(from.u32(), Ok(0), "{what}");
    from.opaque(1024).expect("tag");
    from.u32().expect("count");
}

/// Reads the head of a result.
fn result(from: &mut Decoder, operation: u32) {
    assert_eq!((from.u32(), from.u32()), (Ok(operation), Ok(0)), "result of operation {operation}");
}

/// Appends the head of `COMPOUND4args`.
pub fn compound(e: &mut Encoder, operations: u32) {
    e.opaque(b"");
    e.u32(1);
    e.u32(operations);
}

/// Appends SEQUENCE; returns where its session id stands, from the start of the record's mark.
pub fn sequence(e: &mut Encoder, session: [u8; 16], sequence_id: u32, slot: u32) -> usize {
    e.u32(53);
    let at = e.len();
    e.fixed(&session);
    e.u32(sequence_id);
    e.u32(slot);
    // The highest slot in use: no more than all of them.
    e.u32(slot);
    e.bool(false);
    at
}
