//! The way to the server for one delay: the network as it is, or a relay that adds the delay. Calibrated before use.

use std::net::SocketAddr;
use std::time::Instant;

use client::ProgramPorts;
use netlab::{LinkOptions, Relay};

use super::Error;
use super::arm::Arm;
use crate::results::Link as LinkResult;
use crate::statistics::percentile;
use crate::workload::{Address, Habits, Mount};

/// A link may be off by this share of the delay that was asked for, or by [`OFF_MS_MAX`], whichever is larger.
const OFF_SHARE_MAX: f64 = 0.02;
const OFF_MS_MAX: f64 = 0.2;
/// A link that is off by this share of what is allowed is left as it is.
const GOOD_SHARE: f64 = 0.3;
/// After so many calibrations one that is off by no more than is allowed will do.
const CALIBRATIONS_CHOOSY: u32 = 4;
/// How often a link is calibrated, corrected each time, before it is refused: the machine may be busy with something else for a while.
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

    /// A link that adds `rtt_ms` to the way to `server`, which takes `direct_ms` anyway, and what it measures. What the
    /// relay adds of its own, and the machine with what else it does, is taken off its delay.
    pub(crate) async fn delayed(
        server: &Address,
        rtt_ms: f64,
        direct_ms: f64,
        arm: &Arm,
        name: &str,
    ) -> Result<(Self, LinkResult), Error> {
        let (mut relay_ms, mut calibrations) = (rtt_ms, 1);
        loop {
            let (link, measured) = Self::relayed(server, rtt_ms, relay_ms, arm, name).await?;
            let off_ms = measured.measured_ms - rtt_ms - direct_ms;
            let share = if calibrations < CALIBRATIONS_CHOOSY { GOOD_SHARE } else { 1.0 };
            if off_ms.abs() <= allowed_ms(rtt_ms) * share {
                return Ok((link, measured));
            }
            link.close().await;
            if calibrations == CALIBRATIONS_MAX {
                return Err(off(&measured, direct_ms));
            }
            calibrations += 1;
            relay_ms = (relay_ms - off_ms).max(0.0);
        }
    }

    async fn relayed(
        server: &Address,
        rtt_ms: f64,
        relay_ms: f64,
        arm: &Arm,
        name: &str,
    ) -> Result<(Self, LinkResult), Error> {
        let failed = |cause: String| Error::Relay { rtt_ms, cause };
        let target = server.resolve().await.map_err(failed)?;
        let start = |target: SocketAddr| {
            let options = LinkOptions::round_trip_ms(relay_ms);
            Relay::start(target, options).map_err(|error| failed(error.to_string()))
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

    /// The median round trip of NULL calls over `arm`'s version, and how many they were.
    pub(crate) async fn calibrate(&self, arm: &Arm, server: &str) -> Result<LinkResult, Error> {
        let kind = if !self.relays.is_empty() { "relay" } else { "none" };
        if self.address.directory().is_some() {
            return Ok(LinkResult { kind: kind.to_owned(), ..LinkResult::default() });
        }
        let failed = |error: &crate::workload::Error| Error::Server {
            server: server.to_owned(),
            version: arm.version.clone(),
            cause: error.to_string(),
        };
        let mount = Mount::connect(&self.address, &arm.version, arm.habits())
            .await
            .map_err(|error| failed(&error))?;
        let calls = calls(self.rtt_ms);
        let times = null_calls(&mount, calls).await.map_err(|error| failed(&error));
        mount.shut_down().await;
        Ok(LinkResult {
            rtt_ms: self.rtt_ms,
            measured_ms: percentile(&times?, 50.0).unwrap_or_default(),
            calls,
            kind: kind.to_owned(),
        })
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

/// Fails when `measured` is not the delay asked for on top of `direct_ms`, which the way takes anyway.
pub(crate) fn check(measured: &LinkResult, direct_ms: f64) -> Result<(), Error> {
    let off_ms = measured.measured_ms - measured.rtt_ms - direct_ms;
    if off_ms.abs() <= allowed_ms(measured.rtt_ms) { Ok(()) } else { Err(off(measured, direct_ms)) }
}

fn off(measured: &LinkResult, direct_ms: f64) -> Error {
    let expected_ms = measured.rtt_ms + direct_ms;
    Error::Link { rtt_ms: measured.rtt_ms, expected_ms, measured_ms: measured.measured_ms }
}

fn allowed_ms(rtt_ms: f64) -> f64 {
    (rtt_ms * OFF_SHARE_MAX).max(OFF_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rtt_ms: f64, measured_ms: f64) -> LinkResult {
        LinkResult { rtt_ms, measured_ms, calls: 21, kind: "relay".to_owned() }
    }

    #[test]
    fn a_link_may_be_off_by_two_percent_or_by_a_fifth_of_a_millisecond() {
        assert!(check(&measured(1.0, 1.25), 0.1).is_ok());
        assert!(check(&measured(1.0, 1.35), 0.1).is_err());
        assert!(check(&measured(40.0, 40.8), 0.1).is_ok());
        assert!(check(&measured(40.0, 41.0), 0.1).is_err());
        assert!(check(&measured(40.0, 39.0), 0.1).is_err());
    }

    #[test]
    fn long_links_are_calibrated_with_fewer_calls() {
        assert_eq!([calls(0.0), calls(10.0), calls(1000.0)], [201, 61, 21]);
    }
}
