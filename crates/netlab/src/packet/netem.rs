//! The same link made by the kernel: two machines joined by a pair of virtual cards, each with netem
//! (tc-netem(8)) in front.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process;

use super::calibration::{self, LinkCalibration};
use super::endpoint::{Endpoint, program};
use super::options::{DirectionOptions, Discipline, QueueLimit, TcpOptions};
use super::switch::{SERVER_PORT, address};
use crate::inside::inside;
use crate::unavailable::Unavailable;

const DEVICE: &str = "net0";

/// One client and one server whose packets the kernel delays, paces and loses.
#[derive(Debug)]
pub struct NetemLink {
    server: Endpoint,
    client: Endpoint,
    to_client: DirectionOptions,
    to_server: DirectionOptions,
}

/// Says whether this kernel has netem and virtual cards, by making one of each in a network namespace that is
/// gone afterwards.
///
/// # Errors
/// When it has not, or this process has no right to try.
pub fn netem() -> Result<(), Unavailable> {
    let lacking = |what: &str| {
        Err(Unavailable(format!("this kernel has no {what}; use a packet-level network over TUN")))
    };
    let Ok(namespace) = super::endpoint::namespace() else {
        return Err(Unavailable(
            "netem needs network namespaces, which this user may not make: run it as root".into(),
        ));
    };
    let try_out = |words: &str| inside(&namespace, || program("ip", &split(words)).is_ok()).unwrap_or(false);
    if !try_out(&format!("link add {DEVICE} type veth peer name net1")) {
        return lacking("virtual cards (veth)");
    }
    let tried =
        inside(&namespace, || program("tc", &split(&format!("qdisc add dev {DEVICE} root netem delay 1ms"))));
    if tried.is_ok_and(|tried| tried.is_ok()) { Ok(()) } else { lacking("netem (sch_netem)") }
}

impl NetemLink {
    /// Makes the machines and the link. Only [`Discipline::Fifo`] with a limit in packets can be had: netem
    /// has one queue.
    ///
    /// # Errors
    /// `InvalidInput` for options outside their bounds or beyond netem; otherwise what the kernel, ip(8) or
    /// tc(8) refuses.
    pub fn start(
        to_client: DirectionOptions,
        to_server: DirectionOptions,
        tcp: &TcpOptions,
    ) -> io::Result<Self> {
        let words = [netem_words(&to_client)?, netem_words(&to_server)?];
        tcp.check()?;
        let namespaces = [super::endpoint::namespace()?, super::endpoint::namespace()?];
        join(&namespaces)?;
        let mut ends = Vec::new();
        for ((namespace, port), words) in namespaces.into_iter().zip([SERVER_PORT, 1]).zip(&words) {
            let end = address(port);
            inside(&namespace, || prepare(end, tcp, words))??;
            ends.push(Endpoint::new(end, namespace));
        }
        let (client, server) = (ends.pop(), ends.pop());
        let (Some(client), Some(server)) = (client, server) else { unreachable!("two were pushed") };
        Ok(Self { server, client, to_client, to_server })
    }

    /// The machine that stands for a server.
    #[must_use]
    pub fn server(&self) -> &Endpoint {
        &self.server
    }

    /// The other one.
    #[must_use]
    pub fn client(&self) -> &Endpoint {
        &self.client
    }

    /// Measures the link while nothing else uses it.
    ///
    /// # Errors
    /// `TimedOut` when too little arrives; what the kernel refuses.
    pub fn calibrate(&self) -> io::Result<LinkCalibration> {
        calibration::calibrate_link([&self.to_client, &self.to_server], &self.server, &self.client)
    }
}

/// A pair of virtual cards, one in each namespace.
fn join([first, second]: &[File; 2]) -> io::Result<()> {
    // ip(8) finds the other namespace by our descriptor of it.
    let other = format!("/proc/{}/fd/{}", process::id(), second.as_raw_fd());
    let arguments = ["link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", &other];
    inside(first, || program("ip", &arguments))?
}

/// Makes the machine that this thread is in ready.
fn prepare(end: Ipv4Addr, tcp: &TcpOptions, words: &[String]) -> io::Result<()> {
    super::endpoint::connect(DEVICE, end, tcp)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    program("tc", &[&["qdisc", "add", "dev", DEVICE, "root", "netem"], &words[..]].concat())
}

/// The options as tc-netem(8) takes them.
fn netem_words(direction: &DirectionOptions) -> io::Result<Vec<String>> {
    direction.check()?;
    let QueueLimit::Packets(packets) = direction.limit else { return Err(beyond("limits are in packets")) };
    if direction.discipline != Discipline::Fifo {
        return Err(beyond("it has one queue"));
    }
    let mut words = format!(
        "limit {packets} delay {}us {}us loss random {}%",
        direction.delay.as_micros(),
        direction.jitter.as_micros(),
        direction.loss * 100.0
    );
    if let Some(rate) = direction.rate_bytes_per_second {
        words.push_str(&format!(" rate {}bit", rate * 8));
    }
    Ok(words.split_whitespace().map(str::to_owned).collect())
}

fn beyond(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("netem cannot do this ({what}); use a packet-level network over TUN"),
    )
}

fn split(words: &str) -> Vec<&str> {
    words.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn options_are_told_as_netem_takes_them() {
        let direction = DirectionOptions {
            delay: Duration::from_millis(5),
            jitter: Duration::from_millis(1),
            rate_bytes_per_second: Some(1_000_000),
            loss: 0.01,
            ..Default::default()
        };
        let words = netem_words(&direction).unwrap().join(" ");
        assert_eq!(words, "limit 1000 delay 5000us 1000us loss random 1% rate 8000000bit");
    }

    #[test]
    fn unsupported_netem_options_are_refused() {
        let card =
            DirectionOptions { discipline: Discipline::MultiQueue { queues: 8 }, ..Default::default() };
        let bytes = DirectionOptions { limit: QueueLimit::Bytes(10_000), ..Default::default() };
        for direction in [card, bytes] {
            assert_eq!(netem_words(&direction).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
