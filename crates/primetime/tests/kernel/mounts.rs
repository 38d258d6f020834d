//! What Linux tells the MOUNT service when it mounts and unmounts over NFSv3.

use netlab::guest::Lab;

use crate::guests::{Member, boot, finish, wait_until};
use crate::peer::Peer;
use crate::server::{PORT, Server};

/// `umount` tells it in the version that `mount` used; older ones of the service, which know no handle of
/// NFSv3, are not there.
#[test]
fn linux_tells_of_its_mount_and_of_its_end() {
    let Some(lab) = Lab::for_test() else { return };
    // umount(8) asks where the service is, though mount(8) was told; it says nothing when nobody answers.
    let server = Server::mapping_ports(&lab);
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
