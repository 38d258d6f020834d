//! The way to the server for one delay: the network as it is, or a relay that adds the delay. Calibrated
//! before use.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use client::ProgramPorts;
use netlab::{LinkOptions, Relay};

use super::Error;
use super::arm::Arm;
use crate::results::Link as LinkResult;
use crate::statistics::percentile;
use crate::workload::{Address, Habits, Mount};

/// A link may be off by this share of the delay that was asked for, or by [`OFF_MS_MAX`], whichever is
/// larger.
const OFF_SHARE_MAX: f64 = 0.02;
const OFF_MS_MAX: f64 = 0.2;
/// A link that is off by this share of what is allowed is left as it is.
const GOOD_SHARE: f64 = 0.3;
/// After so many calibrations one that is off by no more than is allowed will do.
const CALIBRATIONS_CHOOSY: u32 = 4;
/// How often a link is calibrated, corrected each time, before it is used as it is, with a doubt.
const CALIBRATIONS_MAX: u32 = 12;
/// Calibration takes about this long.
const CALIBRATION_MS: f64 = 600.0;
const CALLS_MIN: f64 = 21.0;
const CALLS_MAX: f64 = 201.0;
/// Calls before those that count: the first ones find cold caches and a slow-starting connection.
const CALLS_UNCOUNTED: u32 = 5;

/// A link in use.
pub(crate) struct Link {
    /// The delay asked for.
    pub(crate) rtt_ms: f64,
    /// Where clients connect to.
    pub(crate) address: Address,
    /// One for NFS, and with version 3 one for each program that has a port of its own.
    relays: Vec<Relay>,
}

impl Link {
    /// The way to `server` as it is, and what it measures.
    pub(crate) async fn direct(server: &Address, arm: &Arm, name: &str) -> Result<(Self, LinkResult), Error> {
        let link = Self { rtt_ms: 0.0, address: server.clone(), relays: Vec::new() };
        let measured = link.calibrate(arm, name).await?;
        Ok((link, measured))
    }

    /// A link that adds `rtt_ms` to the path to `server`, which measured `direct`, and what it measures.
    /// The shortest of many round trips decides, since a busy machine only lengthens them. What the relay
    /// adds of its own is taken off its delay. A link that stays off after all calibrations is used all the
    /// same: [`doubt`] says so. The relay listens at `listen`, else for this machine alone.
    pub(crate) async fn delayed(
        (server, listen): (&Address, Option<IpAddr>),
        rtt_ms: f64,
        direct: &LinkResult,
        arm: &Arm,
        name: &str,
    ) -> Result<(Self, LinkResult), Error> {
        let (mut relay_ms, mut calibrations) = (rtt_ms, 1);
        loop {
            let (link, measured) = Self::relayed((server, listen), rtt_ms, relay_ms, arm, name).await?;
            let Some(corrected_ms) = correction(&measured, direct, relay_ms, calibrations) else {
                return Ok((link, measured));
            };
            link.close().await;
            calibrations += 1;
            relay_ms = corrected_ms;
        }
    }

    async fn relayed(
        (server, listen): (&Address, Option<IpAddr>),
        rtt_ms: f64,
        relay_ms: f64,
        arm: &Arm,
        name: &str,
    ) -> Result<(Self, LinkResult), Error> {
        let failed = |cause: String| Error::Relay { rtt_ms, cause };
        let target = server.resolve().await.map_err(failed)?;
        let start = |target: SocketAddr| {
            let options = LinkOptions::round_trip_ms(relay_ms);
            let listen = SocketAddr::new(listen.unwrap_or(Ipv4Addr::LOCALHOST.into()), 0);
            Relay::start_at(listen, target, options).map_err(|error| failed(error.to_string()))
        };
        let mut relays = vec![start(target)?];
        let mut through = ProgramPorts::default();
        let there = program_ports(server).await;
        for (port, relayed) in [(there.mount, &mut through.mount), (there.lock, &mut through.lock)] {
            if let Some(port) = port {
                let relay = start(SocketAddr::new(target.ip(), port))?;
                *relayed = Some(relay.address().port());
                relays.push(relay);
            }
        }
        let address = server.through(relays[0].address(), through).map_err(failed)?;
        let link = Self { rtt_ms, address, relays };
        let measured = link.calibrate(arm, name).await?;
        Ok((link, measured))
    }

    /// The median and the shortest round trip of NULL calls over `arm`'s version, and how many they were.
    pub(crate) async fn calibrate(&self, arm: &Arm, server: &str) -> Result<LinkResult, Error> {
        let kind = if !self.relays.is_empty() { "relay" } else { "none" };
        if self.address.directory().is_some() {
            return Ok(LinkResult { kind: kind.to_owned(), ..LinkResult::default() });
        }
        let failed = |error: &crate::workload::Error| Error::Server {
            server: server.to_owned(),
            version: arm.version().to_owned(),
            cause: error.to_string(),
        };
        let mount = Mount::connect(&self.address, arm.version(), arm.habits())
            .await
            .map_err(|error| failed(&error))?;
        let calls = calls(self.rtt_ms);
        let times = null_calls(&mount, calls).await.map_err(|error| failed(&error));
        mount.shut_down().await;
        let times = times?;
        Ok(LinkResult {
            rtt_ms: self.rtt_ms,
            measured_ms: percentile(&times, 50.0).unwrap_or_default(),
            minimum_ms: times.iter().copied().reduce(f64::min).unwrap_or_default(),
            calls,
            kind: kind.to_owned(),
        })
    }

    /// Lets connections be made and closed without the delay, which belongs to the work between.
    pub(crate) async fn set_delayed(&self, delayed: bool) {
        for relay in &self.relays {
            let round_trip = if delayed { relay.options().round_trip } else { Duration::ZERO };
            relay.set_round_trip(round_trip).await.expect("it was accepted when the relay started");
        }
    }

    /// Ends the relay and all connections through it.
    pub(crate) async fn close(self) {
        for relay in self.relays {
            relay.shutdown().await;
        }
    }
}

/// Where the server has what version 3 needs beside NFS. A server that does not offer it needs nothing.
async fn program_ports(server: &Address) -> ProgramPorts {
    let habits = Habits { delegations: false, readahead: true, data_cache: true };
    let Ok(mount) = Mount::connect(server, "3", habits).await else { return ProgramPorts::default() };
    let ports = mount.program_ports().await;
    mount.shut_down().await;
    ports.unwrap_or_default()
}

async fn null_calls(mount: &Mount, calls: u32) -> Result<Vec<f64>, crate::workload::Error> {
    for _ in 0..CALLS_UNCOUNTED {
        mount.null().await?;
    }
    let mut times = Vec::new();
    for _ in 0..calls {
        let before = Instant::now();
        mount.null().await?;
        times.push(before.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(times)
}

/// As many as fit into the time for calibration, an odd number of them.
fn calls(rtt_ms: f64) -> u32 {
    ((CALIBRATION_MS / rtt_ms.max(0.01)).clamp(CALLS_MIN, CALLS_MAX) as u32) | 1
}

/// Returns the delay that a relay is given next, in milliseconds; `None` where the link is good enough, or
/// was calibrated too often. The shortest round trip decides: a busy machine lengthens the others.
fn correction(measured: &LinkResult, direct: &LinkResult, relay_ms: f64, calibrations: u32) -> Option<f64> {
    let off_ms = measured.minimum_ms - measured.rtt_ms - direct.minimum_ms;
    let share = if calibrations < CALIBRATIONS_CHOOSY { GOOD_SHARE } else { 1.0 };
    let is_good = off_ms.abs() <= allowed_ms(measured.rtt_ms) * share;
    (!is_good && calibrations < CALIBRATIONS_MAX).then(|| (relay_ms - off_ms).max(0.0))
}

/// The doubt about a link whose round trips are not the delay asked for on top of those of `direct`; `None`
/// within 2 % or 0.2 ms. The shortest round trip shows the link, the median the machine.
pub(crate) fn doubt(measured: &LinkResult, direct: &LinkResult) -> Option<String> {
    let LinkResult { rtt_ms, measured_ms, minimum_ms, .. } = *measured;
    let is_off = |found_ms: f64, direct_ms: f64| (found_ms - rtt_ms - direct_ms).abs() > allowed_ms(rtt_ms);
    if is_off(minimum_ms, direct.minimum_ms) {
        let expected_ms = rtt_ms + direct.minimum_ms;
        return Some(format!(
            "The link with a delay of {rtt_ms} ms has a shortest round trip of {minimum_ms:.2} ms instead of \
             {expected_ms:.2} ms, which is off by more than 2 % and 0.2 ms."
        ));
    }
    is_off(measured_ms, direct.measured_ms).then(|| {
        let expected_ms = rtt_ms + direct.measured_ms;
        format!(
            "The link with a delay of {rtt_ms} ms has a median round trip of {measured_ms:.2} ms instead of \
             {expected_ms:.2} ms, and a shortest of {minimum_ms:.2} ms: the machine was busy with something \
             else."
        )
    })
}

fn allowed_ms(rtt_ms: f64) -> f64 {
    (rtt_ms * OFF_SHARE_MAX).max(OFF_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rtt_ms: f64, measured_ms: f64, minimum_ms: f64) -> LinkResult {
        LinkResult { rtt_ms, measured_ms, minimum_ms, calls: 21, kind: "relay".to_owned() }
    }

    #[test]
    fn link_off_by_more_than_2_percent_and_200_us_is_a_doubt() {
        let direct = measured(0.0, 0.1, 0.1);
        let doubts = |rtt_ms, found_ms| doubt(&measured(rtt_ms, found_ms, found_ms), &direct).is_some();
        assert!(!doubts(1.0, 1.25));
        assert!(doubts(1.0, 1.35));
        assert!(!doubts(40.0, 40.8));
        assert!(doubts(40.0, 41.0));
        assert!(doubts(40.0, 39.0));
    }

    #[test]
    fn relay_is_corrected_by_the_shortest_round_trip() {
        let direct = measured(0.0, 0.5, 0.02);
        let next = |median_ms, shortest_ms, calibrations| {
            correction(&measured(10.0, median_ms, shortest_ms), &direct, 10.0, calibrations)
        };
        assert_eq!(next(14.0, 10.03, 1), None, "a busy machine changes the median alone");
        let corrected = next(10.02, 10.32, 1).unwrap();
        assert!((corrected - 9.7).abs() < 1e-9, "{corrected}");
        assert!(next(10.02, 10.12, 1).is_some() && next(10.02, 10.12, CALIBRATIONS_CHOOSY).is_none());
        assert_eq!(next(10.02, 15.0, CALIBRATIONS_MAX), None, "a doubt says so");
    }

    #[test]
    fn busy_machine_is_a_doubt_of_its_own() {
        let direct = measured(0.0, 0.02, 0.01);
        let doubt = doubt(&measured(10.0, 10.31, 10.02), &direct).unwrap();
        assert!(doubt.contains("median round trip of 10.31 ms instead of 10.02 ms"), "{doubt}");
        assert!(doubt.contains("shortest of 10.02 ms"), "{doubt}");
    }

    #[test]
    fn long_links_are_calibrated_with_fewer_calls() {
        assert_eq!([calls(0.0), calls(10.0), calls(1000.0)], [201, 61, 21]);
    }
}
