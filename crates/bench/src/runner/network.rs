//! The ways to all servers: at each delay a link to each.

use std::net::IpAddr;

use super::Error;
use super::link::{self, Link};
use super::target::Server;
use crate::results;

/// The links of one delay.
pub(crate) struct Delay {
    /// The delay asked for.
    pub(crate) rtt_ms: f64,
    /// One for each server, in their order.
    pub(crate) links: Vec<Link>,
}

/// The links of all delays.
pub(crate) struct Network {
    /// In the order of the plan.
    pub(crate) delays: Vec<Delay>,
    /// What each server measures without any delay added.
    direct: Vec<results::Link>,
}

impl Network {
    /// Opens and calibrates the links to `servers`. Returns what they measure too, and a doubt about each
    /// that is off. Links with a delay are at an address of `listen`, else for this machine alone.
    pub(crate) async fn open(
        servers: &[Server],
        delays_ms: &[f64],
        listen: Option<IpAddr>,
    ) -> Result<(Self, Vec<results::Link>, Vec<String>), Error> {
        let (mut measured_links, mut doubts) = (Vec::new(), Vec::new());
        let mut direct = Vec::new();
        for server in servers {
            let (_, measured) = Link::direct(&server.address, &server.witness_arm(), &server.name).await?;
            direct.push(measured);
        }
        let mut delays = Vec::new();
        for rtt_ms in delays_ms {
            let mut links = Vec::new();
            for (server, direct) in servers.iter().zip(&direct) {
                let (arm, name) = (server.witness_arm(), &server.name);
                let (link, measured) = if *rtt_ms == 0.0 {
                    Link::direct(&server.address, &arm, name).await?
                } else {
                    Link::delayed((&server.address, listen), *rtt_ms, direct, &arm, name).await?
                };
                doubts.extend(link::doubt(&measured, direct));
                measured_links.push(measured);
                links.push(link);
            }
            delays.push(Delay { rtt_ms: *rtt_ms, links });
        }
        Ok((Self { delays, direct }, measured_links, doubts))
    }

    /// Calibrates the links once more, since the machine may have become busier, and closes them. Returns a
    /// doubt about each that is off.
    pub(crate) async fn close(self, servers: &[Server]) -> Result<Vec<String>, Error> {
        let mut doubts = Vec::new();
        for delay in self.delays {
            for ((link, server), direct) in delay.links.into_iter().zip(servers).zip(&self.direct) {
                let measured = link.calibrate(&server.witness_arm(), &server.name).await?;
                let doubt = link::doubt(&measured, direct);
                doubts.extend(doubt.map(|doubt| format!("At the end of the runs: {doubt}")));
                link.close().await;
            }
        }
        Ok(doubts)
    }
}
