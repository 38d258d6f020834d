//! Clients of Linux's kernel on a machine whose own kernel has no NFS, or as several kernels: each in a guest
//! (user-mode Linux) with an agent, in a network of their own.

use std::fs::{self, Permissions};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use netlab::guest::{Guest, GuestOptions, Lab};

use crate::agents::Secret;
use crate::runner::Error;

/// Guests at the same time: each has its memory.
pub const GUESTS_MAX: u32 = 16;
const MEMORY_MB: u32 = 320;
const PORT: u16 = 20490;
/// A guest that is left behind ends by itself.
const TIME_LIMIT: Duration = Duration::from_secs(12 * 3600);
/// How long all guests may take until their agents answer.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOKS_EVERY: Duration = Duration::from_millis(100);
const SCRIPT: &str = include_str!("guests.sh");
/// The directory that a guest makes in the shared folder once its lock services run, before its own name.
const LOCK_SERVICES: &str = "lock-services.";

/// What a benchmark with such clients must say.
pub const CAVEAT: &str = "Clients are Linux kernels in user-mode guests, which share one \
                          processor: counts are exact, and times are those of such guests.";

/// Running guests. They end when dropped.
#[derive(Debug)]
pub struct Guests {
    // Dropped before the network that they are in.
    guests: Vec<Guest>,
    secret: Secret,
    have_lock_services: bool,
    lab: Lab,
}

impl Guests {
    /// Boots `count` guests, and waits until the agent in each answers. `executable` is `primetime`.
    ///
    /// # Errors
    /// [`Error::Usage`] when guests cannot be had here, or do not answer.
    pub fn boot(count: u32, executable: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Usage(format!("guests cannot be booted: {error}"));
        if !(1..=GUESTS_MAX).contains(&count) {
            return Err(Error::Usage(format!("{count} guests are not between 1 and {GUESTS_MAX}")));
        }
        let lab =
            Lab::new().map_err(|reason| Error::Usage(format!("guests are not possible here: {reason}")))?;
        let words = rand::random::<[u64; 4]>();
        let secret: String = words.iter().map(|word| format!("{word:016x}")).collect();
        // A guest does not see every place of its host.
        fs::copy(executable, lab.shared().join("primetime")).map_err(failed)?;
        let file = lab.shared().join("secret");
        fs::write(&file, &secret).map_err(failed)?;
        fs::set_permissions(&file, Permissions::from_mode(0o600)).map_err(failed)?;
        let secret = Secret::read(&file).map_err(Error::Usage)?;
        let mut guests = Vec::new();
        for name in names(count) {
            let options = GuestOptions {
                name,
                script: SCRIPT.to_owned(),
                memory_mb: MEMORY_MB,
                time_limit: TIME_LIMIT,
                env: vec![("AGENT_PORT".to_owned(), PORT.to_string())],
                ..GuestOptions::default()
            };
            guests.push(lab.boot(&options).map_err(failed)?);
        }
        let mut booted = Self { guests, secret, have_lock_services: false, lab };
        booted.inside(|| booted.await_agents())?.map_err(failed)?;
        // A guest makes its directory before it starts its agent.
        let has_services = |name: String| booted.lab.shared().join(format!("{LOCK_SERVICES}{name}")).is_dir();
        booted.have_lock_services = names(count).all(has_services);
        Ok(booted)
    }

    /// Runs `work` in a thread whose network is that of the guests.
    ///
    /// # Errors
    /// [`Error::Usage`] when the network cannot be entered.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let done = self.lab.inside(work);
        done.map_err(|error| Error::Usage(format!("the network of the guests cannot be entered: {error}")))
    }

    /// The agents, as `--hosts` names them.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.addresses().map(|address| address.to_string()).collect()
    }

    /// What the agents must be told.
    #[must_use]
    pub fn secret(&self) -> Secret {
        self.secret.clone()
    }

    /// Whether a port mapper and a status monitor run in every guest, so that its kernel can lock over NFSv3.
    /// They do where rpcbind and nfs-common are installed.
    #[must_use]
    pub fn have_lock_services(&self) -> bool {
        self.have_lock_services
    }

    /// The address by which guests reach a server of this machine.
    #[must_use]
    pub fn server_address(&self) -> IpAddr {
        self.lab.host_address()
    }

    fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.guests.iter().map(|guest| SocketAddr::new(guest.address(), PORT))
    }

    fn await_agents(&self) -> io::Result<()> {
        let begun = Instant::now();
        for address in self.addresses() {
            while TcpStream::connect_timeout(&address, LOOKS_EVERY).is_err() {
                if begun.elapsed() > READY_WITHIN {
                    let cause =
                        format!("the agent at {address} has not answered for {} s", READY_WITHIN.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, cause));
                }
                thread::sleep(LOOKS_EVERY);
            }
        }
        Ok(())
    }
}

/// The hostnames of `count` guests.
fn names(count: u32) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("client{number}"))
}
