//! NFSv4.1: a session with a slot for each lane.

use std::net::{SocketAddr, TcpStream};

use xdr::Encoder;

use super::session::{Session, compound, destroy, sequence};
use super::wire::{NFS, call, connect, word};
use super::{Ask, NAME_BYTES, Prepared, Requests, lane_of};
use crate::target::{READ_FILE, Target, WRITTEN_FILE};

const PUTFH: u32 = 22;
const GETATTR: u32 = 9;
/// RFC 8881 §18.32.
const FILE_SYNC: u32 = 2;

#[derive(Clone)]
pub struct V4 {
    server: &'static str,
    pub(super) address: SocketAddr,
    ask: Ask,
    request: Prepared,
    sequence_at: usize,
    /// Where the owner of an OPEN stands: each lane is one.
    owner_at: Option<usize>,
    session: [u8; 16],
    client: u64,
    sequences: Vec<u32>,
}

impl V4 {
    pub fn new(target: &Target, folder: Option<&str>, ask: Ask) -> Self {
        let mut session = Session::create(connect(target.address));
        let folders: Vec<_> = target.paths[1].split('/').filter(|name| !name.is_empty()).collect();
        let mut find = |name: Option<&str>| session.find(folders.iter().copied().chain(name));
        let handle = match ask {
            Ask::GetAttr | Ask::Read { .. } => find(Some(READ_FILE)),
            Ask::Write { .. } => find(Some(WRITTEN_FILE)),
            Ask::Lookup => find(None),
            Ask::Create => find(folder),
        };
        drop(destroy(session.stream, session.id, session.client));
        let (mut offset_at, mut name_at, mut owner_at, mut sequence_at) = (0, 0, 0, 0);
        let bytes = call(NFS, 4, 1, |e| {
            compound(e, 2 + operations(ask));
            sequence_at = sequence(e, [0; 16], 0, 0);
            e.u32(PUTFH);
            e.opaque(&handle);
            match ask {
                Ask::GetAttr => get_attributes(e),
                Ask::Lookup => {
                    e.u32(15);
                    e.opaque(READ_FILE.as_bytes());
                    e.u32(10);
                    get_attributes(e);
                }
                Ask::Read { bytes } => {
                    // With the anonymous stateid.
                    e.u32(25);
                    e.fixed(&[0; 16]);
                    offset_at = e.len();
                    e.u64(0);
                    e.u32(bytes);
                }
                Ask::Write { bytes, stable } => {
                    e.u32(38);
                    e.fixed(&[0; 16]);
                    offset_at = e.len();
                    e.u64(0);
                    e.u32(if stable { FILE_SYNC } else { 0 });
                    e.opaque(&vec![2; bytes as usize]);
                }
                Ask::Create => (owner_at, name_at) = open_and_close(e),
            }
        });
        let is_create = ask == Ask::Create;
        let request = Prepared {
            offset: match ask {
                Ask::Read { bytes } | Ask::Write { bytes, .. } => Some((offset_at, bytes)),
                _ => None,
            },
            name_at: is_create.then_some(name_at),
            ..Prepared::new(bytes)
        };
        Self {
            server: target.name,
            address: target.address,
            ask,
            request,
            sequence_at,
            owner_at: is_create.then_some(owner_at),
            session: [0; 16],
            client: 0,
            sequences: Vec::new(),
        }
    }
}

/// Operations behind SEQUENCE and PUTFH.
fn operations(ask: Ask) -> u32 {
    match ask {
        Ask::GetAttr | Ask::Read { .. } | Ask::Write { .. } => 1,
        Ask::Create => 2,
        Ask::Lookup => 3,
    }
}

fn get_attributes(e: &mut Encoder) {
    e.u32(GETATTR);
    // type, change, size, fileid, mode, numlinks, owner, group, space used, the three times.
    e.u32(2);
    e.u32(1 << 1 | 1 << 3 | 1 << 4 | 1 << 20);
    e.u32(1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 13 | 1 << 15 | 1 << 20 | 1 << 21);
}

/// Appends OPEN of a new file for writing, and CLOSE of it; returns where owner and name stand.
fn open_and_close(e: &mut Encoder) -> (usize, usize) {
    e.u32(18);
    e.u32(0);
    // OPEN4_SHARE_ACCESS_WRITE without a delegation, OPEN4_SHARE_DENY_NONE; the client is that of the
    // session.
    e.u32(2 | 0x400);
    e.u32(0);
    e.u64(0);
    let owner_at = e.len() + 4;
    e.opaque(&[0; 4]);
    // OPEN4_CREATE, GUARDED4, the mode alone.
    e.u32(1);
    e.u32(1);
    e.u32(2);
    e.u32(0);
    e.u32(1 << 1);
    e.opaque(&0o644_u32.to_be_bytes());
    // CLAIM_NULL.
    e.u32(0);
    let name_at = e.len() + 4;
    e.opaque(&[b'0'; NAME_BYTES]);
    e.u32(4);
    e.u32(0);
    // The stateid of the OPEN (RFC 8881 §16.2.3.1.2).
    e.u32(1);
    e.fixed(&[0; 12]);
    (owner_at, name_at)
}

impl V4 {
    /// Appends a request of a session: its id, sequence, slot, and the highest slot in use. Returns where it
    /// begins.
    pub(super) fn append_of(
        &mut self,
        lane: usize,
        (session, sequence, slot, highest): (&[u8; 16], u32, u32, u32),
        to: &mut Vec<u8>,
    ) -> usize {
        let start = self.request.append(lane, to);
        let at = start + self.sequence_at;
        to[at..at + 16].copy_from_slice(session);
        for (place, number) in [sequence, slot, highest].into_iter().enumerate() {
            to[at + 16 + 4 * place..][..4].copy_from_slice(&number.to_be_bytes());
        }
        start
    }
}

impl Requests for V4 {
    fn server(&self) -> &'static str {
        self.server
    }

    /// With a session of its own.
    fn connect(&mut self) -> TcpStream {
        let session = Session::create(connect(self.address));
        (self.session, self.client) = (session.id, session.client);
        self.sequences = vec![0; session.slots as usize];
        self.sequences[0] = session.sequence_id;
        session.stream
    }

    fn lanes_max(&self) -> usize {
        self.sequences.len()
    }

    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        self.sequences[lane] += 1;
        let (session, highest) = (self.session, self.sequences.len() as u32 - 1);
        let start = self.append_of(lane, (&session, self.sequences[lane], lane as u32, highest), to);
        if let Some(at) = self.owner_at {
            to[start + at..][..4].copy_from_slice(&(lane as u32).to_be_bytes());
        }
    }

    fn lane_of(&self, reply: &[u8]) -> usize {
        assert_eq!(word(reply, 6), 0, "status of the COMPOUND");
        lane_of(reply)
    }
    fn reply_bytes_min(&self) -> usize {
        self.ask.reply_bytes_min()
    }

    fn finish(&mut self, stream: TcpStream) {
        drop(destroy(stream, self.session, self.client));
    }
}
