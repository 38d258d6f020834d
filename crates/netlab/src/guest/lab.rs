//! The lab: one network namespace, one core, and the guests in it.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use tempfile::TempDir;

use super::boot::Link;
use super::folder::Folder;
use super::namespace::{self, Namespace};
use super::{Guest, GuestOptions, Host, Unavailable, boot, registers, unavailable};
use crate::inside::inside;

/// The last part of the host side's address. Guests come after it.
const HOST_NUMBER: u8 = 1;

/// The last part of the last guest's address.
const GUEST_NUMBER_MAX: u8 = 254;

/// Labs that this process has made.
static LABS: AtomicU32 = AtomicU32::new(0);

/// A network namespace with a bridge, on which the host side has one address and each guest one. It is
/// deleted when dropped; what still runs in it keeps running until its own end.
#[derive(Debug)]
pub struct Lab {
    namespace: Namespace,
    shared: TempDir,
    /// What the kernels of guests need on the host.
    tools: TempDir,
    /// The third part of every address.
    subnet: u8,
    core: usize,
    last_number: AtomicU8,
}

impl Lab {
    /// Makes a lab, and removes what labs of processes that are gone have left behind.
    pub fn new() -> Result<Lab, Unavailable> {
        unavailable::check()?;
        let refused = |error: io::Error| Unavailable(format!("a lab cannot be made here: {error}"));
        Namespace::remove_stale().map_err(refused)?;
        Folder::remove_stale().map_err(refused)?;
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let subnet = u8::try_from(number % 254 + 1).expect("at most 254");
        let core = pick_core(number).map_err(refused)?;
        let namespace = Namespace::create(number, address(subnet, HOST_NUMBER)).map_err(refused)?;
        let shared = Folder::create_for_all("shared").map_err(refused)?;
        let tools = Folder::create_for_all("tools").map_err(refused)?;
        registers::build(tools.path()).map_err(refused)?;
        Ok(Lab { namespace, shared, tools, subnet, core, last_number: AtomicU8::new(HOST_NUMBER) })
    }

    /// A lab for a test, or `None`, with the reason on standard error, where the test must be skipped.
    ///
    /// # Panics
    /// If there can be no lab although the variable `CI` is `true`: there, a skipped test would go unnoticed.
    pub fn for_test() -> Option<Lab> {
        match Lab::new() {
            Ok(lab) => Some(lab),
            Err(reason) => {
                assert_ne!(env::var("CI").as_deref(), Ok("true"), "a lab must be possible here: {reason}");
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    /// The address that guests reach the host side by.
    pub fn host_address(&self) -> IpAddr {
        IpAddr::V4(self.host())
    }

    /// The name of the network namespace, for ip(8).
    pub fn name(&self) -> &str {
        self.namespace.name()
    }

    /// The folder that is `$SHARED` in every guest of the lab: the place to meet. A name made by one is seen
    /// by all at once; contents are sure to be seen only after a sync(1).
    pub fn shared(&self) -> &Path {
        self.shared.path()
    }

    pub(super) fn tools(&self) -> &Path {
        self.tools.path()
    }

    /// Runs `work` in a thread whose network is the host side of the lab. Sockets stay where they were made,
    /// and so do the threads that `work` starts.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    ///
    /// # Panics
    /// When `work` does.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(&self.namespace.open()?, work)
    }

    /// A command that runs `program` on the host side of the lab, on the lab's core. The process that it
    /// starts is the program itself, not a wrapper: its id is the program's, and a signal reaches it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.name()]);
        command.args(["taskset", "--cpu-list", &self.core.to_string()]).arg(program);
        command
    }

    /// Boots a guest and returns at once; the script starts about a second and a half later.
    ///
    /// # Errors
    /// `InvalidInput` for options that cannot be; `QuotaExceeded` after 253 guests; whatever the system
    /// refuses.
    pub fn boot(&self, options: &GuestOptions) -> io::Result<Guest> {
        options.check()?;
        let number = self.next_number()?;
        let tap = format!("tap{number}");
        self.namespace.add_tap(&tap)?;
        let guest = address(self.subnet, number);
        let settings = options.settings(self.host(), guest, self.shared());
        let folder = Folder::create(options, &settings)?;
        let ethernet = namespace::ethernet(self.subnet, number);
        let link = Link { tap, ethernet, address: IpAddr::V4(guest) };
        boot::start(self, options, folder, &link)
    }

    /// Adds another host, which is deleted when dropped.
    ///
    /// # Errors
    /// `QuotaExceeded` after 253 guests and hosts; otherwise those of the system.
    pub fn add_host(&self) -> io::Result<Host> {
        let number = self.next_number()?;
        let address = address(self.subnet, number);
        Ok(Host::new(self.namespace.create_host(number, address)?, IpAddr::V4(address)))
    }

    fn next_number(&self) -> io::Result<u8> {
        let next = |last: u8| (last < GUEST_NUMBER_MAX).then_some(last + 1);
        let last = self
            .last_number
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| io::Error::new(io::ErrorKind::QuotaExceeded, "this lab has had all its guests"))?;
        Ok(last + 1)
    }

    fn host(&self) -> Ipv4Addr {
        address(self.subnet, HOST_NUMBER)
    }
}

fn address(subnet: u8, number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 99, subnet, number)
}

/// One of the cores that this process may use, another one for each lab, from the last down: the first is the
/// one that the rest of a machine likes best.
fn pick_core(lab: u32) -> io::Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cores = list.and_then(|list| cores(list.trim()));
    let cores = cores.ok_or_else(|| io::Error::other("the cores of this process are not known"))?;
    let from_the_end = lab as usize % cores.len();
    Ok(cores[cores.len() - 1 - from_the_end])
}

/// The kernel's way to write a set: `0-3,8`. Never empty.
fn cores(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cores.extend(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?);
    }
    (!cores.is_empty()).then_some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_cores_is_read_as_the_kernel_writes_it() {
        assert_eq!(cores("0"), Some(vec![0]));
        assert_eq!(cores("0-2,5,7-8"), Some(vec![0, 1, 2, 5, 7, 8]));
        assert_eq!(cores(""), None);
        assert_eq!(cores("2-1"), None);
    }
}
