//! A listing through a server, whichever the version.

use std::net::SocketAddr;
use std::time::Instant;

use crate::connection::Connection;
use crate::entries::Seen;
use crate::foreign::ganesha::Ganesha;
use crate::options::Options;
use crate::process::Process;
use crate::{nfs3, nfs4};

pub const VERSIONS: [&str; 2] = ["3", "4.1"];

/// Where a server is, and what it calls the directory.
pub struct Place {
    pub address: SocketAddr,
    pub mount_address: SocketAddr,
    /// What MOUNT calls the export, and what NFSv4 does.
    pub paths: [&'static str; 2],
    pub process: Process,
}

impl Place {
    pub fn of_ganesha(server: &Ganesha) -> Self {
        let place = server.place();
        Self {
            address: SocketAddr::new(place.host, place.port),
            mount_address: SocketAddr::new(place.host, place.mount_port),
            paths: [place.path; 2],
            process: Process::of_ganesha(server).expect("its process"),
        }
    }
}

/// How a listing went.
pub struct Listed {
    pub seconds: f64,
    pub requests: usize,
    /// Of these seconds, those that were not spent on waiting for the server.
    pub reader_seconds: f64,
    /// What the server, or who lists locally, had of the processor.
    pub processor_seconds: f64,
}

/// A connection to a directory.
pub trait Client {
    fn connection(&mut self) -> &mut Connection;
    /// Asks for what follows the last entry that came; true at the end.
    fn read_on(&mut self, reply_bytes: u32, seen: &mut Seen) -> bool;
    /// Asks for a name, with its handle and attributes.
    fn look_up(&mut self, name: &[u8]);
    fn finish(self: Box<Self>);
}

pub fn connect(version: usize, place: &Place) -> Box<dyn Client> {
    if version == 0 { Box::new(nfs3::Nfs3::connect(place)) } else { Box::new(nfs4::Nfs4::connect(place)) }
}

/// Lists the directory and checks that every name came once.
pub fn list(version: usize, place: &Place, options: &Options) -> Listed {
    let mut client = connect(version, place);
    let mut seen = Seen::new(options.entries);
    let (start, processor_before) = (Instant::now(), place.process.processor_seconds());
    while !client.read_on(options.reply_bytes[version], &mut seen) {}
    let seconds = start.elapsed().as_secs_f64();
    seen.check(options.entries);
    let connection = client.connection();
    let listed = Listed {
        seconds,
        requests: connection.requests,
        reader_seconds: seconds - connection.waited_seconds,
        processor_seconds: place.process.processor_seconds() - processor_before,
    };
    client.finish();
    listed
}
