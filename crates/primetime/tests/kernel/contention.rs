//! Two guests want the same files at the same time.

use netlab::guest::{Lab, mountstats};

use crate::guests::{Member, boot, entries, finish};
use crate::server::Server;

const INCREMENTS: u32 = 100;
const NAMES: u32 = 1000;
const DELEGATED: u32 = 40;
const QUEUED: u32 = 20;

#[test]
fn two_linux_clients_take_turns_and_see_what_the_other_one_did() {
    contend("vers=4.1");
}

#[test]
fn so_they_do_in_minor_version_2() {
    contend("vers=4.2");
}

fn contend(options: &str) {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let numbers = [INCREMENTS, NAMES, 50, DELEGATED, QUEUED].map(|number| number.to_string());
    let guests = [("ann", "bob"), ("bob", "ann")].map(|(name, peer)| {
        let member = Member {
            name,
            script: ". $EXCHANGE/contention.sh",
            files: &[
                ("contention.sh", include_str!("contention.sh")),
                ("contention.pl", include_str!("contention.pl")),
            ],
            env: &[
                ("PEER", peer),
                ("MOUNT_OPTIONS", options),
                ("INCREMENTS", &numbers[0]),
                ("NAMES", &numbers[1]),
                ("LINES", &numbers[2]),
                ("DELEGATED", &numbers[3]),
                ("QUEUED", &numbers[4]),
            ],
            ..Member::default()
        };
        boot(&lab, &member)
    });
    let [ann, _] = finish(guests);
    assert_eq!(entries(&server.directory().join("race")), NAMES as usize);

    let reading =
        |name: &str| mountstats::parse(&ann.read(&format!("mountstats-{name}")).unwrap()).unwrap().remove(0);
    let (delegated, recalled) = (reading("delegated"), reading("recalled"));
    let during_recalls = recalled.since(&delegated);
    assert_eq!(
        during_recalls.requests("DELEGRETURN"),
        u64::from(DELEGATED),
        "bob's changes recalled them all"
    );
}
