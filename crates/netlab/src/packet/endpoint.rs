//! One machine of a network: a network namespace with one TUN device in it.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, unshare};
use tun_rs::{DeviceBuilder, SyncDevice};

use super::congestion::unavailable;
use super::options::TcpOptions;
use super::switch::address;
use crate::inside::inside;

const DEVICE: &str = "net0";

/// Packets that wait in the device until they are read. More than all that a burst of TCP brings, so that
/// queueing happens in the link, where it is emulated and counted.
const DEVICE_PACKETS_MAX: u32 = 10_000;

/// The smallest and the usual first size of a receive buffer, as the kernel has them.
const RECEIVE_BUFFER_BYTES: (u32, u32) = (4 << 10, 128 << 10);

/// The receive buffer beside a bounded window, which the kernel makes half of it at first.
const BUFFER_PER_WINDOW: u32 = 2;

/// One machine of a network.
#[derive(Debug)]
pub struct Endpoint {
    address: Ipv4Addr,
    /// Keeps the namespace.
    namespace: File,
}

impl Endpoint {
    /// Makes a machine for a port of the switch, and gives its device.
    pub(super) fn create(port: usize, tcp: &TcpOptions) -> io::Result<(Self, SyncDevice)> {
        let (address, namespace) = (address(port), namespace()?);
        let device = inside(&namespace, || {
            let device = DeviceBuilder::new().name(DEVICE).build_sync()?;
            device.set_nonblocking(true)?;
            connect(DEVICE, address, tcp)?;
            Ok::<_, io::Error>(device)
        })??;
        Ok((Self { address, namespace }, device))
    }

    /// A machine that is connected already.
    pub(super) fn new(address: Ipv4Addr, namespace: File) -> Self {
        Self { address, namespace }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Lets sockets that name no port have one of `ports` only, so that what is hashed is known.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or the kernel refuses these ports.
    pub fn set_local_ports(&self, ports: RangeInclusive<u16>) -> io::Result<()> {
        self.inside(|| set("ip_local_port_range", &format!("{} {}", ports.start(), ports.end())))?
    }

    /// Runs `work` in a thread of this machine. Sockets, and processes that it starts, stay there.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    ///
    /// # Panics
    /// When `work` does.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(&self.namespace, work)
    }
}

/// A new network namespace. It lives as long as this, or something in it.
pub(super) fn namespace() -> io::Result<File> {
    // Namespaces belong to threads; this one's is left with it.
    let made = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open("/proc/thread-self/ns/net")
    });
    made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gives the machine that this thread is in its address, by a device that is there, and its TCP.
pub(super) fn connect(device: &str, address: Ipv4Addr, tcp: &TcpOptions) -> io::Result<()> {
    set_tcp(tcp)?;
    // Nobody speaks IPv6 here; a kernel without it has no such file.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    // Not by calls on the device: those for its queue are for root of the whole machine only.
    let (mtu, packets) = (super::MTU_BYTES.to_string(), DEVICE_PACKETS_MAX.to_string());
    program("ip", &["link", "set", device, "mtu", &mtu, "txqueuelen", &packets, "up"])?;
    program("ip", &["address", "add", &format!("{address}/24"), "dev", device])?;
    program("ip", &["link", "set", "lo", "up"])?;
    let mut metrics = Vec::new();
    if let Some(name) = &tcp.congestion_control {
        metrics.extend(["congctl".to_owned(), name.clone()]);
    }
    if let Some(bytes) = tcp.window_bytes_max {
        metrics.extend(["window".to_owned(), bytes.to_string()]);
    }
    match metrics.is_empty() {
        true => Ok(()),
        false => set_route(device, address, &metrics).map_err(|error| match &tcp.congestion_control {
            Some(name) => unavailable(name),
            None => error,
        }),
    }
}

/// Gives all connections the metrics of a route (ip-route(8)): `congctl`, the congestion control, and
/// `window`, which sets what TCP_WINDOW_CLAMP sets for one socket. The namespace's setting of congestion
/// control takes only what the host lets ordinary users have; a route takes whatever the kernel has.
fn set_route(device: &str, address: Ipv4Addr, metrics: &[String]) -> io::Result<()> {
    let [first, second, third, _] = address.octets();
    let network = format!("{first}.{second}.{third}.0/24");
    let source = address.to_string();
    let route =
        ["route", "replace", &network, "dev", device, "scope", "link", "src", &source, "proto", "kernel"];
    let metrics: Vec<&str> = metrics.iter().map(String::as_str).collect();
    program("ip", &[&route[..], &metrics].concat())
}

fn set_tcp(tcp: &TcpOptions) -> io::Result<()> {
    // Each connection begins anew: what an earlier one learnt would decide how the next one starts.
    set("tcp_no_metrics_save", "1")?;
    let (least, first) = RECEIVE_BUFFER_BYTES;
    match (tcp.window_bytes_max, tcp.receive_buffer_bytes_max) {
        // A buffer that grows takes the window along, whatever bounds it.
        (Some(window), _) => {
            let bytes = window * BUFFER_PER_WINDOW;
            set("tcp_rmem", &format!("{least} {bytes} {bytes}"))
        }
        (None, Some(most)) => set("tcp_rmem", &format!("{least} {} {most}", first.min(most))),
        (None, None) => Ok(()),
    }
}

fn set(name: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    fs::write(&path, value)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot set {path}: {error}")))
}

/// Runs ip(8) or tc(8) in the namespace of this thread.
pub(super) fn program(name: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(name).args(arguments).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{name} {}: {}", arguments.join(" "), complaint.trim())))
}
