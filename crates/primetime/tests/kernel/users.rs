//! Two users of one guest, with delegations: neither gets rights of the other.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use netlab::guest::Lab;

use crate::guests::{Member, boot, counts, finish};
use crate::server::{PORT, Server};

#[test]
fn users_of_one_linux_client_keep_their_own_permissions() {
    let Some(lab) = Lab::for_test() else { return };
    let v3 = format!("vers=3,nolock,proto=tcp,mountproto=tcp,mountport={PORT}");
    for (name, options) in [("v4-1", "vers=4.1"), ("v4-2", "vers=4.2"), ("v3", &v3)] {
        let server = Server::start(&lab);
        fs::set_permissions(server.directory(), fs::Permissions::from_mode(0o777)).unwrap();
        let member = Member {
            name,
            script: ". $EXCHANGE/users.sh",
            files: &[("users.sh", include_str!("users.sh"))],
            env: &[("MOUNT_OPTIONS", options)],
            ..Member::default()
        };
        let [result] = finish([boot(&lab, &member)]);
        if name != "v3" {
            assert!(counts(&result).requests("DELEGRETURN") > 0, "{name}: delegations were granted");
        }
    }
}
