//! NFSv4.1: READDIR and LOOKUP, with what the Linux kernel asks for of each entry.

use xdr::Encoder;

use crate::connection::{Connection, Words};
use crate::entries::Seen;
use crate::listing::{Client, Place};
use crate::session::{Session, compound, destroy, sequence};
use crate::wire::{NFS, call, connect};

/// type, change, size, fsid, rdattr_error, filehandle, fileid; mode, numlinks, owner, group, rawdev,
/// space_used, the three times, mounted_on_fileid.
const WANTED: [u32; 2] = [
    1 << 1 | 1 << 3 | 1 << 4 | 1 << 8 | 1 << 11 | 1 << 19 | 1 << 20,
    1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 20 | 1 << 21 | 1 << 23,
];
const REGULAR: u32 = 1;
const PUTFH: u32 = 22;
const READDIR: u32 = 26;
const LOOKUP: u32 = 15;
const GETFH: u32 = 10;
const GETATTR: u32 = 9;

pub struct Nfs4 {
    connection: Connection,
    directory: Vec<u8>,
    cookie: u64,
    verifier: [u8; 8],
    session: [u8; 16],
    client: u64,
    sequence_id: u32,
}

impl Nfs4 {
    pub fn connect(place: &Place) -> Self {
        let mut session = Session::create(connect(place.address));
        let directory = session.find(place.paths[1].split('/').filter(|name| !name.is_empty()));
        Self {
            directory,
            cookie: 0,
            verifier: [0; 8],
            session: session.id,
            client: session.client,
            sequence_id: session.sequence_id,
            connection: Connection::new(session.stream),
        }
    }

    /// A COMPOUND on the directory; returns what follows the result of PUTFH.
    fn exchange(&mut self, operations: u32, others: impl FnOnce(&mut Encoder)) -> Words<'_> {
        self.sequence_id += 1;
        let request = call(NFS, 4, 1, |e| {
            compound(e, 2 + operations);
            sequence(e, self.session, self.sequence_id, 0);
            e.u32(PUTFH);
            e.opaque(&self.directory);
            others(e);
        });
        let mut reply = self.connection.exchange(&request);
        assert_eq!(reply.u32(), 0, "COMPOUND");
        reply.opaque();
        // The count; SEQUENCE's number, status, session and five numbers; PUTFH's number and status.
        reply.take(4 + 8 + 16 + 5 * 4 + 8);
        reply
    }
}

fn wanted(e: &mut Encoder) {
    e.u32(2);
    WANTED.iter().for_each(|word| e.u32(*word));
}

impl Client for Nfs4 {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn read_on(&mut self, reply_bytes: u32, seen: &mut Seen) -> bool {
        let (mut cookie, verifier) = (self.cookie, self.verifier);
        let mut reply = self.exchange(1, |e| {
            e.u32(READDIR);
            e.u64(cookie);
            e.fixed(&verifier);
            e.u32(reply_bytes);
            e.u32(reply_bytes);
            wanted(e);
        });
        assert_eq!((reply.u32(), reply.u32()), (READDIR, 0), "READDIR");
        let verifier = *reply.take(8).first_chunk().expect("verifier");
        while reply.u32() == 1 {
            cookie = reply.u64();
            seen.take(reply.opaque());
            assert_eq!((reply.u32(), reply.u32(), reply.u32()), (2, WANTED[0], WANTED[1]), "attributes");
            assert_eq!(Words::new(reply.opaque()).u32(), REGULAR, "type");
        }
        let eof = reply.u32() == 1;
        (self.cookie, self.verifier) = (cookie, verifier);
        eof
    }

    fn look_up(&mut self, name: &[u8]) {
        let mut reply = self.exchange(3, |e| {
            e.u32(LOOKUP);
            e.opaque(name);
            e.u32(GETFH);
            e.u32(GETATTR);
            wanted(e);
        });
        assert_eq!((reply.u32(), reply.u32()), (LOOKUP, 0), "LOOKUP");
    }

    fn finish(self: Box<Self>) {
        destroy(self.connection.into_stream(), self.session, self.client);
    }
}
