//! NFSv3.

use std::net::{SocketAddr, TcpStream};

use super::wire::{MOUNT, NFS, call, connect, exchange, word};
use super::{Ask, NAME_BYTES, Prepared, Requests, lane_of};
use crate::target::{READ_FILE, Target, WRITTEN_FILE};

/// RFC 1813 §3.3.7.
const FILE_SYNC: u32 = 2;

#[derive(Clone)]
pub struct V3 {
    server: &'static str,
    address: SocketAddr,
    ask: Ask,
    request: Prepared,
}

impl V3 {
    pub fn new(target: &Target, folder: Option<&str>, ask: Ask) -> Self {
        let mut mounting = connect(target.mount_address);
        let mut mounted =
            exchange(&mut mounting, &call(MOUNT, 3, 1, |e| e.opaque(target.paths[0].as_bytes())));
        assert_eq!(mounted.u32(), Ok(0), "MNT");
        let root = mounted.opaque(64).expect("root handle").to_vec();
        let mut stream = connect(target.address);
        let mut find = |name: &str| {
            let request = call(NFS, 3, 3, |e| {
                e.opaque(&root);
                e.opaque(name.as_bytes());
            });
            let mut found = exchange(&mut stream, &request);
            assert_eq!(found.u32(), Ok(0), "LOOKUP");
            found.opaque(64).expect("handle").to_vec()
        };
        let request = match ask {
            Ask::GetAttr => {
                let handle = find(READ_FILE);
                Prepared::new(call(NFS, 3, 1, |e| e.opaque(&handle)))
            }
            Ask::Lookup => Prepared::new(call(NFS, 3, 3, |e| {
                e.opaque(&root);
                e.opaque(READ_FILE.as_bytes());
            })),
            Ask::Read { bytes } => read(&find(READ_FILE), bytes),
            Ask::Write { bytes, stable } => write(&find(WRITTEN_FILE), bytes, stable),
            Ask::Create => create(&find(folder.expect("a directory for new files"))),
        };
        Self { server: target.name, address: target.address, ask, request }
    }
}

fn read(handle: &[u8], bytes: u32) -> Prepared {
    let mut offset_at = 0;
    let request = call(NFS, 3, 6, |e| {
        e.opaque(handle);
        offset_at = e.len();
        e.u64(0);
        e.u32(bytes);
    });
    Prepared { offset: Some((offset_at, bytes)), ..Prepared::new(request) }
}

fn write(handle: &[u8], bytes: u32, stable: bool) -> Prepared {
    let mut offset_at = 0;
    let request = call(NFS, 3, 7, |e| {
        e.opaque(handle);
        offset_at = e.len();
        e.u64(0);
        e.u32(bytes);
        e.u32(if stable { FILE_SYNC } else { 0 });
        e.opaque(&vec![2; bytes as usize]);
    });
    Prepared { offset: Some((offset_at, bytes)), ..Prepared::new(request) }
}

fn create(folder: &[u8]) -> Prepared {
    let mut name_at = 0;
    let request = call(NFS, 3, 8, |e| {
        e.opaque(folder);
        name_at = e.len() + 4;
        e.opaque(&[b'0'; NAME_BYTES]);
        // GUARDED; of the attributes the mode alone.
        e.u32(1);
        e.u32(1);
        e.u32(0o644);
        (0..5).for_each(|_| e.u32(0));
    });
    Prepared { name_at: Some(name_at), ..Prepared::new(request) }
}

impl Requests for V3 {
    fn server(&self) -> &'static str {
        self.server
    }

    fn connect(&mut self) -> TcpStream {
        connect(self.address)
    }

    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        self.request.append(lane, to);
    }

    fn lane_of(&self, reply: &[u8]) -> usize {
        // xid, REPLY, accepted, verifier (two words), SUCCESS, then the status.
        assert_eq!(word(reply, 6), 0, "status of the reply");
        lane_of(reply)
    }
    fn reply_bytes_min(&self) -> usize {
        self.ask.reply_bytes_min()
    }
}
