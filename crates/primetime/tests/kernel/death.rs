//! A guest is killed, with locks and delegations that nobody gives back.

use std::fs;

use netlab::guest::{Guest, Lab};

use crate::guests::{Member, boot, finish, wait_until};
use crate::server::Server;

const DELEGATED: u32 = 10;

fn boot_one(lab: &Lab, name: &str, script: &str) -> Guest {
    let member = Member {
        name,
        script,
        files: &[("death.sh", include_str!("death.sh")), ("death.pl", include_str!("death.pl"))],
        env: &[("DELEGATED", &DELEGATED.to_string())],
        ..Member::default()
    };
    boot(lab, &member)
}

/// Boots ann, who takes locks and delegations, and bob, who is refused the locks. Kills ann.
fn boot_and_kill(lab: &Lab) -> Guest {
    let ann = boot_one(lab, "ann", ". $EXCHANGE/death.sh; hold");
    let bob = boot_one(lab, "bob", ". $EXCHANGE/death.sh; inherit");
    wait_until(lab, "bob has been refused the locks", || lab.shared().join("refused").exists());
    drop(ann);
    fs::create_dir(lab.shared().join("dead")).unwrap();
    bob
}

#[test]
fn locks_of_a_killed_linux_client_end_with_its_lease() {
    let Some(lab) = Lab::for_test() else { return };
    let _server = Server::with_lease(&lab, 5);
    finish([boot_and_kill(&lab)]);
}

#[test]
fn state_of_a_killed_linux_client_is_free_when_it_is_back() {
    let Some(lab) = Lab::for_test() else { return };
    let _server = Server::with_lease(&lab, 3600);
    let bob = boot_and_kill(&lab);
    wait_until(&lab, "bob has been refused the locks of the dead", || {
        lab.shared().join("refused-by-the-dead").exists()
    });
    let ann = boot_one(&lab, "ann", "await inherited");
    finish([ann, bob]);
}
