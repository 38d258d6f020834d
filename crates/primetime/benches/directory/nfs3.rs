//! NFSv3: READDIRPLUS and LOOKUP.

use crate::connection::{Connection, Words};
use crate::entries::Seen;
use crate::listing::{Client, Place};
use crate::wire::{MOUNT, NFS, call, connect, exchange};

/// Of `fattr3`.
const ATTRIBUTES_BYTES: usize = 84;
const REGULAR: u32 = 1;

pub struct Nfs3 {
    connection: Connection,
    directory: Vec<u8>,
    cookie: u64,
    verifier: [u8; 8],
}

impl Nfs3 {
    pub fn connect(place: &Place) -> Self {
        let mut mounting = connect(place.mount_address);
        let mut mounted =
            exchange(&mut mounting, &call(MOUNT, 3, 1, |e| e.opaque(place.paths[0].as_bytes())));
        assert_eq!(mounted.u32(), Ok(0), "MNT");
        Self {
            connection: Connection::new(connect(place.address)),
            directory: mounted.opaque(64).expect("handle").to_vec(),
            cookie: 0,
            verifier: [0; 8],
        }
    }
}

/// Panics unless they are of a file with that number.
fn check(fileid: u64, attributes: &[u8], handle: &[u8]) {
    assert!(!attributes.is_empty() && !handle.is_empty(), "attributes and handle");
    let mut attributes = Words::new(attributes);
    assert_eq!(attributes.u32(), REGULAR, "type");
    // Mode, links, owner and group; size, used, device, file system.
    attributes.take(4 * 4 + 4 * 8);
    assert_eq!(attributes.u64(), fileid);
}

impl Client for Nfs3 {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn read_on(&mut self, reply_bytes: u32, seen: &mut Seen) -> bool {
        let request = call(NFS, 3, 17, |e| {
            e.opaque(&self.directory);
            e.u64(self.cookie);
            e.fixed(&self.verifier);
            e.u32(reply_bytes);
            e.u32(reply_bytes);
        });
        let mut reply = self.connection.exchange(&request);
        assert_eq!(reply.u32(), 0, "READDIRPLUS");
        if reply.u32() == 1 {
            reply.take(ATTRIBUTES_BYTES);
        }
        self.verifier = *reply.take(8).first_chunk().expect("verifier");
        while reply.u32() == 1 {
            let fileid = reply.u64();
            let name = reply.opaque();
            self.cookie = reply.u64();
            let attributes = if reply.u32() == 1 { reply.take(ATTRIBUTES_BYTES) } else { &[] };
            let handle = if reply.u32() == 1 { reply.opaque() } else { &[] };
            if !name.starts_with(b".") {
                check(fileid, attributes, handle);
            }
            seen.take(name);
        }
        reply.u32() == 1
    }

    fn look_up(&mut self, name: &[u8]) {
        let request = call(NFS, 3, 3, |e| {
            e.opaque(&self.directory);
            e.opaque(name);
        });
        assert_eq!(self.connection.exchange(&request).u32(), 0, "LOOKUP");
    }

    fn finish(self: Box<Self>) {}
}
