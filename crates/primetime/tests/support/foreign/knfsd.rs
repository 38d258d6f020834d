//! The kernel's server, in a guest.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use netlab::guest::{Guest, GuestOptions, Lab};

use super::Place;

const START_LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Knfsd {
    guest: Guest,
    shared: PathBuf,
    host: IpAddr,
}

/// How it serves.
pub(crate) struct KnfsdOptions {
    /// Clients that are silent for so long are forgotten. Linux gives delegations back that it has not used
    /// for about as long.
    pub(crate) lease_seconds: u32,
    pub(crate) delegations: bool,
    /// The size of the disk on which what it serves lies; otherwise that is in memory.
    pub(crate) disk_mb: Option<u32>,
}

impl Default for KnfsdOptions {
    fn default() -> Self {
        Self { lease_seconds: 10, delegations: true, disk_mb: None }
    }
}

impl Knfsd {
    /// Serves an empty directory, and an ext4 file system below it, for so long at most.
    pub(crate) fn start(lab: &Lab, time_limit: Duration, how: &KnfsdOptions) -> Self {
        let env = [
            ("LEASE_SECONDS", how.lease_seconds.to_string()),
            ("LEASES_ENABLE", u8::from(how.delegations).to_string()),
            ("DISK", how.disk_mb.map_or("", |_| "/dev/ubda").to_owned()),
        ];
        let options = GuestOptions {
            name: "knfsd".into(),
            script: include_str!("knfsd.sh").into(),
            memory_mb: 1024,
            disk_mb: how.disk_mb,
            env: env.map(|(key, value)| (key.to_owned(), value)).into(),
            time_limit,
            ..GuestOptions::default()
        };
        let guest = lab.boot(&options).unwrap();
        let server = Self { host: guest.address(), guest, shared: lab.shared().to_owned() };
        server.wait_until("it is ready", |shared| shared.join("ready").exists());
        server
    }

    pub(crate) fn place(&self) -> Place {
        Place { host: self.host, port: 2049, mount_port: 20048, path: "/" }
    }

    /// An ext4 file system in memory.
    pub(crate) fn disk(&self) -> Place {
        Place { path: "/disk", ..self.place() }
    }

    /// Ends the server, which forgets what it knew, and starts it again.
    pub(crate) fn restart(&self) {
        let request = self.shared.join("restart");
        fs::create_dir(&request).unwrap();
        self.wait_until("it is restarted", |_| !request.exists());
    }

    pub(crate) fn stop(self) {
        fs::create_dir(self.shared.join("done")).unwrap();
        let result = self.guest.wait().unwrap();
        assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    }

    fn wait_until(&self, what: &str, event: impl Fn(&PathBuf) -> bool) {
        let begun = Instant::now();
        while !event(&self.shared) {
            assert!(begun.elapsed() < START_LIMIT, "waited in vain until {what}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
