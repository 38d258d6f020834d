//! What Linux tells the MOUNT service when it mounts and unmounts over NFSv3.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use netlab::guest::Lab;
use xdr::{Decoder, Encoder};

use crate::guests::{Member, boot, finish, wait_until};
use crate::peer::Peer;
use crate::server::{PORT, Server};

/// `umount` tells it in the version that `mount` used; older ones of the service, which know no handle of NFSv3, are not there.
#[test]
fn linux_tells_of_its_mount_and_of_its_end() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    // umount(8) asks where the service is, though mount(8) was told; it says nothing when nobody answers.
    lab.inside(|| map_ports(SocketAddr::new(lab.host_address(), 111))).unwrap();
    std::fs::create_dir(server.directory().join("below")).unwrap();
    let options = format!("vers=3,nolock,mountproto=tcp,mountport={PORT}");
    let member = Member {
        script: include_str!("mounts.sh"),
        env: &[("MOUNT_OPTIONS", &options)],
        ..Member::default()
    };
    let guest = boot(&lab, &member);
    let mounts = || lab.inside(|| Peer::new(Server::address(&lab), 1).mounts()).unwrap();
    wait_until(&lab, "two mounts", || lab.shared().join("mounted").exists());
    let mut paths: Vec<_> = mounts().into_iter().map(|(_, path)| path).collect();
    paths.sort();
    assert_eq!(paths, ["/", "/below"]);
    std::fs::create_dir(lab.shared().join("seen")).unwrap();
    wait_until(&lab, "one mount less", || lab.shared().join("unmounted").exists());
    assert_eq!(mounts().into_iter().map(|(_, path)| path).collect::<Vec<_>>(), ["/"]);
    std::fs::create_dir(lab.shared().join("agreed")).unwrap();
    finish([guest]);
}

/// A port mapper (RFC 1833 §3) for which every program is on the server's port.
fn map_ports(address: SocketAddr) {
    let listener = TcpListener::bind(address).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // One that ends is of no interest any more.
            let _ = stream.and_then(tell_port);
        }
    });
}

fn tell_port(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        let mut mark = [0; 4];
        stream.read_exact(&mut mark)?;
        let mut call = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        stream.read_exact(&mut call)?;
        let mut from = Decoder::new(call.into());
        let mut word = || from.u32().unwrap();
        let (xid, _, _, _, version, procedure) = (word(), word(), word(), word(), word(), word());
        let mut to = Encoder::new();
        let mark = to.reserve_u32();
        for word in [xid, 1, 0, 0, 0] {
            to.u32(word);
        }
        match (version, procedure) {
            // PROG_MISMATCH: there is version 2 only.
            (3.., _) => [2, 2, 2].into_iter().for_each(|word| to.u32(word)),
            (_, 0) => to.u32(0),
            _ => [0, u32::from(PORT)].into_iter().for_each(|word| to.u32(word)),
        }
        let length = u32::try_from(to.len() - 4).unwrap();
        to.fill_u32(mark, 0x8000_0000 | length);
        stream.write_all(&to.into_inner())?;
    }
}
