//! A network namespace with a bridge, driven by ip(8).

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{self, Command, Stdio};

/// Followed by the id of the process that made the namespace, a hyphen, and a number.
pub(super) const PREFIX: &str = "primetime-";

const BRIDGE: &str = "bridge";

/// The network card of a host that is no guest.
const CARD: &str = "eth0";

/// Bytes in a frame, on the bridge and in guests.
pub(super) const MTU: &str = "9000";

/// Deleted when dropped.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes namespace number `number` of this process, with `host` as the address of its host side.
    pub(super) fn create(number: u32, host: Ipv4Addr) -> io::Result<Namespace> {
        let name = format!("{PREFIX}{}-{number}", process::id());
        let namespace = Namespace::add(name)?;
        // A bridge takes the lowest address of its ports if it is not told its own: one more guest, and the
        // others would send to an address that is nobody's any more.
        let [_, _, subnet, number] = host.octets();
        let ethernet = ethernet(subnet, number);
        namespace.ip(&["link", "add", BRIDGE, "address", &ethernet, "type", "bridge"])?;
        namespace.ip(&["link", "set", BRIDGE, "mtu", MTU, "up"])?;
        namespace.ip(&["address", "add", &format!("{host}/24"), "dev", BRIDGE])?;
        Ok(namespace)
    }

    /// Makes the namespace of another host on the bridge, machine number `number` of the lab, with `address`.
    pub(super) fn create_host(&self, number: u8, address: Ipv4Addr) -> io::Result<Namespace> {
        let host = Namespace::add(format!("{}-host{number}", self.name))?;
        let port = format!("veth{number}");
        let [_, _, subnet, _] = address.octets();
        let ethernet = ethernet(subnet, number);
        let peer = ["peer", "name", CARD, "address", &ethernet, "netns", &host.name];
        self.ip(&[&["link", "add", &port, "type", "veth"], &peer[..]].concat())?;
        self.ip(&["link", "set", &port, "mtu", MTU, "master", BRIDGE, "up"])?;
        host.ip(&["address", "add", &format!("{address}/24"), "dev", CARD])?;
        host.ip(&["link", "set", CARD, "mtu", MTU, "up"])?;
        Ok(host)
    }

    /// An empty namespace. It is deleted again if a later step fails.
    pub(super) fn add(name: String) -> io::Result<Namespace> {
        ip(&["netns", "add", &name])?;
        let namespace = Namespace { name };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Gives the namespace a card with `address` of a /24, whose other end is `port` of `bridge` in the
    /// network of this thread, and a default route by `gateway`.
    pub(super) fn connect(
        &self,
        port: &str,
        bridge: &str,
        address: Ipv4Addr,
        gateway: Ipv4Addr,
    ) -> io::Result<()> {
        let peer = ["peer", "name", CARD, "netns", &self.name];
        ip(&[&["link", "add", port, "type", "veth"], &peer[..]].concat())?;
        ip(&["link", "set", port, "master", bridge, "up"])?;
        self.ip(&["address", "add", &format!("{address}/24"), "dev", CARD])?;
        self.ip(&["link", "set", CARD, "up"])?;
        self.ip(&["route", "add", "default", "via", &gateway.to_string()])
    }

    /// The namespace itself.
    pub(super) fn open(&self) -> io::Result<fs::File> {
        fs::File::open(Path::new("/run/netns").join(&self.name))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Adds a port to the bridge for one guest.
    pub(super) fn add_tap(&self, tap: &str) -> io::Result<()> {
        self.ip(&["tuntap", "add", "mode", "tap", "dev", tap])?;
        self.ip(&["link", "set", tap, "mtu", MTU, "master", BRIDGE, "up"])
    }

    /// Deletes the namespaces of processes that are gone.
    pub(super) fn remove_stale() -> io::Result<()> {
        let Ok(entries) = fs::read_dir("/run/netns") else {
            // There was never a namespace on this machine.
            return Ok(());
        };
        for entry in entries {
            if let Some(name) = entry?.file_name().to_str().filter(|name| is_stale(name, PREFIX)) {
                // Another lab may be deleting it at the same time.
                let _ = ip(&["netns", "delete", name]);
            }
        }
        Ok(())
    }

    fn ip(&self, arguments: &[&str]) -> io::Result<()> {
        ip(&[&["-netns", self.name.as_str()], arguments].concat())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Nobody could be told of a failure; the next lab removes what is left.
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

/// The hardware address of a machine of a lab: the last two parts of its other address.
pub(super) fn ethernet(subnet: u8, number: u8) -> String {
    format!("02:00:00:00:{subnet:02x}:{number:02x}")
}

/// Whether `name` is `prefix`, the id of a process that is gone, a hyphen, and anything.
pub(super) fn is_stale(name: &str, prefix: &str) -> bool {
    let owner = name.strip_prefix(prefix).and_then(|rest| rest.split_once('-'));
    owner
        .and_then(|(pid, _)| pid.parse::<u32>().ok())
        .is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

pub(super) fn ip(arguments: &[&str]) -> io::Result<()> {
    output_of(arguments).map(drop)
}

/// Runs ip(8) and returns its output.
pub(super) fn output_of(arguments: &[&str]) -> io::Result<String> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {}: {}", arguments.join(" "), complaint.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_process_that_is_gone_has_made_is_stale() {
        // No process has this id: it is above the greatest that Linux gives (2^22).
        assert!(is_stale("primetime-4194305-1", "primetime-"));
        assert!(!is_stale(&format!("primetime-{}-1", process::id()), "primetime-"));
        assert!(!is_stale("primetime-lab-1", "primetime-"));
        assert!(!is_stale("other-4194305-1", "primetime-"));
        assert!(!is_stale("primetime-4194305", "primetime-"));
    }
}
