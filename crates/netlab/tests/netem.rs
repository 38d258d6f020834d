//! Links that the kernel makes: on this machine where its kernel can, and in any case in a guest, whose
//! kernel can.

#![allow(clippy::unwrap_used)]

use std::env;
use std::fs;
use std::time::Duration;

use netlab::guest::{GuestOptions, Lab};
use netlab::packet::{DirectionOptions, NetemLink, TcpOptions, netem};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_link_of_the_kernel_delays_and_paces_or_it_is_told_why_there_is_none() {
    if let Err(reason) = netem() {
        let reason = reason.to_string();
        assert!(
            reason.contains("netem") && (reason.contains("; use ") || reason.contains(": run it as root")),
            "{reason}"
        );
        return eprintln!("skipped: {reason}");
    }
    let way =
        DirectionOptions { delay: MS * 20, rate_bytes_per_second: Some(1_000_000), ..Default::default() };
    let back = DirectionOptions { delay: MS * 10, ..Default::default() };
    let link = NetemLink::start(way, back, &TcpOptions::default()).unwrap();
    let found = link.calibrate().unwrap();
    assert!(found.round_trip_min >= MS * 30, "{found:?}");
    assert!(found.to_client_bytes_per_second.unwrap() > 0.0, "{found:?}");
    assert_eq!(found.to_server_bytes_per_second, None);
}

#[test]
fn the_kernel_of_a_guest_has_netem() {
    let Some(lab) = Lab::for_test() else { return };
    // This program again, in the guest: what it is to test takes no other machine.
    let options = GuestOptions {
        script: "cp \"$EXCHANGE/test\" /tmp/test && chmod +x /tmp/test\n\
                 /tmp/test --exact a_link_of_the_kernel_delays_and_paces_or_it_is_told_why_there_is_none \
                 --nocapture 2>&1"
            .into(),
        files: vec![("test".into(), fs::read(env::current_exe().unwrap()).unwrap())],
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    assert!(result.output.contains("1 passed") && !result.output.contains("skipped"), "{}", result.output);
}
