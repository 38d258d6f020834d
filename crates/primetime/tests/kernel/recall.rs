//! One guest opens for writing what another one has delegations for: each open is sent once, held until the
//! delegation is back, and answered. With `--nocapture` the tests say how long that took.

use std::fs;

use netlab::guest::{GuestResult, Lab, mountstats};

use crate::guests::{Member, boot, finish};
use crate::server::Server;

const FILES: u64 = 100;

#[test]
fn an_open_is_held_while_another_client_returns_its_delegation() {
    recall(None);
}

#[test]
fn so_it_is_over_a_link_with_delay() {
    recall(Some(10));
}

/// Each guest has `delay_ms` on its way to the server, none on the way back.
fn recall(delay_ms: Option<u32>) {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    for number in 1..=FILES {
        fs::write(server.directory().join(format!("free{number}")), "text\n").unwrap();
        fs::write(server.directory().join(format!("delegated{number}")), "text\n").unwrap();
    }
    let files = FILES.to_string();
    let guests = [("ann", "bob"), ("bob", "ann")].map(|(name, peer)| {
        let member = Member {
            name,
            script: ". $EXCHANGE/recall.sh",
            files: &[("recall.sh", include_str!("recall.sh"))],
            env: &[("PEER", peer), ("FILES", &files)],
            netem_delay_ms: delay_ms,
            ..Member::default()
        };
        boot(&lab, &member)
    });
    let [ann, bob] = finish(guests);

    let returned = reading(&ann, "recalled").since(&reading(&ann, "delegated"));
    assert_eq!(returned.requests("DELEGRETURN"), FILES, "every file was delegated, and recalled");
    let (before, free, recalled) =
        (reading(&bob, "before"), reading(&bob, "free"), reading(&bob, "recalled"));
    let (free, held) = (opens(&free.since(&before)), opens(&recalled.since(&free)));
    for opens in [free, held] {
        assert_eq!(opens.requests, FILES);
        assert_eq!(opens.transmissions, FILES, "sent once");
        assert_eq!(opens.errors, 0, "none was sent away with DELAY");
    }
    let mean_ms = |opens: mountstats::OperationCounts| opens.rtt_ms as f64 / FILES as f64;
    eprintln!(
        "delay {} ms: an OPEN took {:.2} ms, one that waited for a delegation {:.2} ms",
        delay_ms.unwrap_or(0),
        mean_ms(free),
        mean_ms(held)
    );
}

fn reading(guest: &GuestResult, name: &str) -> mountstats::Mount {
    mountstats::parse(&guest.read(&format!("mountstats-{name}")).unwrap()).unwrap().remove(0)
}

/// With a delegation of its own the kernel opens by OPEN_NOATTR: no file here is opened so.
fn opens(mount: &mountstats::Mount) -> mountstats::OperationCounts {
    assert_eq!(mount.requests("OPEN_NOATTR"), 0);
    mount.operation("OPEN")
}
