//! A large directory: `cargo bench -p primetime --bench directory [-- [--entries N] [--rounds N]
//! [--reply-bytes N] [--without-ganesha] [--directory DIR]]`.
//!
//! Empty files are made on this machine in a directory that primetime serves, and then listed with their
//! attributes: here, with getdents64(2) and a statx(2) by name relative to the directory for each entry, and
//! through the server, with READDIRPLUS and with NFSv4.1's READDIR, by one connection with one request at a
//! time. Each listing is checked to have every name once. In every round a server has just been started when
//! it is listed first ("cold"), and is listed once more ("warm"); the kernel's caches are warm always.
//! NFS-Ganesha, where it is installed, serves a second directory with links to the same files.
//!
//! A LOOKUP of one name after the other, by a connection of its own, is timed alone, beside a listing on this
//! machine, and beside one through the server, and so is an echo of a thread of the bench, which tells what
//! of that is the machine's. Ratios are of the same round, with 95 % intervals. The generator is raw sockets.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, clippy::unwrap_used)]

mod connection;
mod echo;
mod entries;
#[allow(dead_code, reason = "a part is for the tests")]
#[path = "../../tests/support/foreign/mod.rs"]
mod foreign;
mod listing;
mod local;
mod lookups;
mod nfs3;
mod nfs4;
mod options;
#[allow(dead_code, reason = "a part is for another bench")]
#[path = "../peers/process.rs"]
mod process;
mod server;
#[allow(dead_code, reason = "a part is for another bench")]
#[path = "../peers/requests/session.rs"]
mod session;
mod table;
#[allow(dead_code, reason = "a part is for another bench")]
#[path = "../peers/requests/wire.rs"]
mod wire;

use std::time::Duration;

use foreign::ganesha::Ganesha;
use netlab::guest::Lab;

use entries::Folder;
use listing::{Listed, Place, VERSIONS};
use lookups::Waits;
use options::Options;
use server::Server;

/// Then the other server is killed, whatever became of this process.
const TIME_LIMIT: Duration = Duration::from_secs(7200);

fn main() {
    let options = Options::from_arguments();
    let lab = options
        .ganesha
        .then(Lab::new)
        .and_then(|lab| lab.map_err(|reason| println!("without NFS-Ganesha: {reason}\n")).ok());
    match lab {
        None => measure(&options, None),
        Some(lab) => {
            let ganesha = Ganesha::start(&lab, TIME_LIMIT);
            lab.inside(|| measure(&options, ganesha.as_ref())).expect("the lab's network");
        }
    }
}

/// What was measured, round by round.
#[derive(Default)]
pub struct Measured {
    pub local: Vec<Listed>,
    /// Of each version: the first listing of a server, and its second.
    pub ours: [[Vec<Listed>; 2]; 2],
    pub ganesha: [Vec<Listed>; 2],
    pub lookups: [Lookups; 2],
    pub memory: [Vec<Memory>; 2],
}

/// Of one version.
#[derive(Default)]
pub struct Lookups {
    pub alone: Vec<Waits>,
    pub beside_local: Vec<Waits>,
    pub beside_listing: Vec<Waits>,
    pub echo_alone: Vec<Waits>,
    pub echo_beside_listing: Vec<Waits>,
}

/// What a server has before, and after two listings.
pub struct Memory {
    pub before_bytes: u64,
    pub after_bytes: u64,
    pub descriptors_after: usize,
}

/// Runs in the network of the lab, if there is one.
fn measure(options: &Options, ganesha: Option<&Ganesha>) {
    let folder = Folder::make(options.entries, options.directory.as_deref());
    let ganesha = ganesha.map(|ganesha| {
        folder.link_into(&ganesha.export());
        Place::of_ganesha(ganesha)
    });
    let idle_bytes = ganesha.as_ref().map(|place| place.process.resident_bytes());
    let mut measured = Measured::default();
    for round in 0..options.rounds {
        measured.local.push(local::list(folder.path(), options.entries));
        for turn in 0..VERSIONS.len() {
            // Whoever went first goes last next time.
            let version = (round + turn) % VERSIONS.len();
            measure_version(version, options, &folder, &mut measured);
            if let Some(place) = &ganesha {
                measured.ganesha[version].push(listing::list(version, place, options));
            }
        }
    }
    println!(
        "{} entries, {} rounds, replies of {:?} bytes at most; rates are means, ratios have 95 % intervals\n",
        options.entries, options.rounds, options.reply_bytes
    );
    table::print(options, &measured);
    if let Some((place, idle)) = ganesha.zip(idle_bytes) {
        table::print_ganesha_memory(idle, place.process.resident_bytes());
    }
}

/// One round of one version, with a server of its own.
fn measure_version(version: usize, options: &Options, folder: &Folder, measured: &mut Measured) {
    let server = Server::start(folder.path());
    let place = server.place();
    let before_bytes = place.process.resident_bytes();
    for listings in &mut measured.ours[version] {
        listings.push(listing::list(version, &place, options));
    }
    measured.memory[version].push(Memory {
        before_bytes,
        after_bytes: place.process.resident_bytes(),
        descriptors_after: server.open_descriptors(),
    });
    let lookups = &mut measured.lookups[version];
    let time = |work: Option<&(dyn Fn() + Sync)>| lookups::time(version, &place, options, work);
    lookups.alone.push(time(None));
    lookups.beside_local.push(time(Some(&|| _ = local::list(folder.path(), options.entries))));
    let list: &(dyn Fn() + Sync) = &|| _ = listing::list(version, &place, options);
    lookups.beside_listing.push(time(Some(list)));
    lookups.echo_alone.push(echo::time(folder.path(), None));
    lookups.echo_beside_listing.push(echo::time(folder.path(), Some(list)));
}
