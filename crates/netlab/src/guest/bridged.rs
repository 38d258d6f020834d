//! Network namespaces of this machine for clients, on a bridge where this machine has an address.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process;

use super::namespace::{self, Namespace, ip, output_of};

/// RFC 2544 reserves 198.18.0.0/15 for benchmarks: no host of the internet or of a site has such an address.
const FIRST_SUBNET: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const SUBNETS: u32 = 512;
const SUBNET_BITS: u32 = 24;

/// A shorter prefix is a default route in parts, as VPNs make them. It gives way to any longer one.
const DEFAULT_BITS_MAX: u32 = 7;

/// How the names of bridges and cards begin, before the id of the process, a hyphen and a number. A name of a
/// card has at most 15 bytes.
const PREFIX: &str = "pt";

/// Namespaces with one address each. They and their bridge are deleted when dropped.
#[derive(Debug)]
pub struct BridgedNamespaces {
    // Dropped before the bridge.
    namespaces: Vec<Namespace>,
    _bridge: Bridge,
    address: Ipv4Addr,
}

#[derive(Debug)]
struct Bridge {
    name: String,
}

impl BridgedNamespaces {
    /// The most namespaces on one bridge: the addresses of a /24 without this machine's.
    pub const COUNT_MAX: u32 = 253;

    /// Makes `count` namespaces, in a subnet that no route of this machine overlaps. Their default route is
    /// this machine. Removes those of processes that are gone.
    ///
    /// # Errors
    /// `InvalidInput` unless `count` is from 1 to [`Self::COUNT_MAX`]; `AddrInUse` without a free subnet;
    /// otherwise the words of ip(8).
    pub fn create(count: u32) -> io::Result<Self> {
        if !(1..=Self::COUNT_MAX).contains(&count) {
            let reason = format!("{count} namespaces are not between 1 and {}", Self::COUNT_MAX);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Namespace::remove_stale()?;
        remove_stale_bridges()?;
        let pid = process::id();
        let routes = output_of(&["-4", "-oneline", "route", "show", "table", "all"])?;
        let subnet = free_subnet(&routes, pid).ok_or_else(|| {
            let reason = "routes of this machine cover all of 198.18.0.0/15";
            io::Error::new(io::ErrorKind::AddrInUse, reason)
        })?;
        let address = Ipv4Addr::from(subnet + 1);
        let bridge = Bridge::create(format!("{PREFIX}{pid}-0"), address)?;
        let mut made = Self { namespaces: Vec::new(), _bridge: bridge, address };
        for number in 1..=count {
            let client = Ipv4Addr::from(subnet + 1 + number);
            let namespace = Namespace::add(format!("{}{pid}-client{number}", namespace::PREFIX))?;
            namespace.connect(&format!("{PREFIX}{pid}-{number}"), &made._bridge.name, client, address)?;
            made.namespaces.push(namespace);
        }
        Ok(made)
    }

    /// The address of this machine on the bridge.
    #[must_use]
    pub fn host_address(&self) -> IpAddr {
        IpAddr::V4(self.address)
    }

    /// The names of the namespaces, for ip(8).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.namespaces.iter().map(Namespace::name)
    }
}

impl Drop for BridgedNamespaces {
    fn drop(&mut self) {
        // The kernel takes a namespace apart later than ip(8) deletes its name. The cards are to be gone at
        // once.
        for number in 1..=self.namespaces.len() {
            let _ = ip(&["link", "delete", &format!("{PREFIX}{}-{number}", process::id())]);
        }
    }
}

impl Bridge {
    fn create(name: String, address: Ipv4Addr) -> io::Result<Self> {
        ip(&["link", "add", &name, "type", "bridge"])?;
        let bridge = Self { name };
        ip(&["address", "add", &format!("{address}/{SUBNET_BITS}"), "dev", &bridge.name])?;
        ip(&["link", "set", &bridge.name, "up"])?;
        Ok(bridge)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // The next benchmark removes it otherwise.
        let _ = ip(&["link", "delete", &self.name]);
    }
}

/// Deletes the bridges and cards of processes that are gone.
fn remove_stale_bridges() -> io::Result<()> {
    let links = output_of(&["-oneline", "link", "show"])?;
    let names = links.lines().filter_map(|line| line.split_whitespace().nth(1));
    // A card is written with its other end, `name@other:`.
    let names = names.filter_map(|name| name.split(['@', ':']).next());
    for name in names.filter(|name| is_stale_link(name)) {
        // Deleting a bridge or one end of a pair may have deleted it already.
        let _ = ip(&["link", "delete", name]);
    }
    Ok(())
}

fn is_stale_link(name: &str) -> bool {
    let number = name.rsplit_once('-').map(|(_, number)| number);
    number.is_some_and(|number| number.parse::<u8>().is_ok()) && namespace::is_stale(name, PREFIX)
}

/// Returns the first address of a subnet that no route in `routes` (`ip -oneline route show`) overlaps. The
/// search begins at another subnet for each `seed`, so that benchmarks that begin together do not choose the
/// same.
fn free_subnet(routes: &str, seed: u32) -> Option<u32> {
    let taken: Vec<(u32, u32)> = routes.lines().filter_map(destination).collect();
    (0..SUBNETS)
        .map(|number| FIRST_SUBNET + (((seed + number) % SUBNETS) << (32 - SUBNET_BITS)))
        .find(|subnet| !taken.iter().any(|(start, bits)| overlaps(*subnet, *start, *bits)))
}

fn overlaps(subnet: u32, start: u32, bits: u32) -> bool {
    let mask = u32::MAX << (32 - bits.min(SUBNET_BITS));
    subnet & mask == start & mask
}

/// The destination of a route, as its first address and its length. `None` for default routes.
fn destination(route: &str) -> Option<(u32, u32)> {
    // A type, such as `local` or `unreachable`, may come first.
    let (start, bits) = route.split_whitespace().take(2).find_map(|word| {
        let (address, bits) = word.split_once('/').unwrap_or((word, "32"));
        let bits = bits.parse::<u32>().ok().filter(|bits| *bits <= 32)?;
        Some((u32::from(address.parse::<Ipv4Addr>().ok()?), bits))
    })?;
    (bits > DEFAULT_BITS_MAX).then_some((start, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(routes: &str, seed: u32) -> Option<String> {
        free_subnet(routes, seed).map(|subnet| Ipv4Addr::from(subnet).to_string())
    }

    #[test]
    fn subnet_overlaps_no_route() {
        assert_eq!(chosen("default via 10.0.0.1 dev eth0\n", 0).as_deref(), Some("198.18.0.0"));
        let routes = "0.0.0.0/1 via 10.8.0.1 dev tun0\n198.18.0.0/23 dev eth0 scope link\n\
                      local 198.18.2.7 dev lo table local\nunreachable 198.18.3.128/25\n";
        assert_eq!(chosen(routes, 0).as_deref(), Some("198.18.4.0"));
        assert_eq!(chosen(routes, 511).as_deref(), Some("198.19.255.0"));
        assert_eq!(chosen("198.18.0.0/15 dev tun0\n", 3), None);
    }

    #[test]
    fn only_links_of_processes_that_are_gone_are_stale() {
        // No process has this id: it is above the greatest that Linux gives (2^22).
        assert!(is_stale_link("pt4194305-0") && is_stale_link("pt4194305-12"));
        assert!(!is_stale_link(&format!("pt{}-0", process::id())));
        assert!(!is_stale_link("pt4194305-x") && !is_stale_link("pt0") && !is_stale_link("eth0"));
    }
}
