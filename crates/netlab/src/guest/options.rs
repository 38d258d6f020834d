//! What a guest is to be and to do, and the text that tells its first process.

use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Component, Path};
use std::time::Duration;

/// A guest to boot.
#[derive(Clone, Debug)]
pub struct GuestOptions {
    /// The guest's hostname: letters, digits and hyphens, at most 63 bytes. Distinct among the clients of one
    /// server: a Linux client makes its NFSv4 owner from it, and clients of the same name take each other's
    /// state away.
    pub name: String,
    /// What the guest does: a POSIX shell script, run when the network is up and the modules of the NFS
    /// client are loaded. It finds the host's address in `$HOST`, its own in `$ADDRESS` (with prefix length),
    /// and in `$EXCHANGE` a folder that the host sees too; `$SHARED` is one that all guests of the lab see
    /// ([`Lab::shared`](super::Lab::shared)), and `$NAME` is its hostname. Programs are those of the host;
    /// the host's /tmp, /run, /mnt, /var/tmp, /var/log and /var/lib/nfs are hidden behind empty folders that
    /// can be written.
    pub script: String,
    /// Put into `$EXCHANGE` beforehand: paths relative to it, and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Memory of the guest, at least 64.
    pub memory_mb: u32,
    /// An empty disk of so many MiB, `/dev/ubda` in the guest. It is a file of the host that takes no room
    /// before it is written, and what the guest flushes is flushed there.
    pub disk_mb: Option<u32>,
    /// Then the guest is killed, also if the process that booted it is gone.
    pub time_limit: Duration,
    /// Delay of everything that the guest sends.
    pub netem_delay_ms: Option<u32>,
    /// More variables for the script.
    pub env: Vec<(String, String)>,
}

impl Default for GuestOptions {
    fn default() -> Self {
        GuestOptions {
            name: "guest".into(),
            script: String::new(),
            files: Vec::new(),
            memory_mb: 256,
            disk_mb: None,
            time_limit: Duration::from_secs(60),
            netem_delay_ms: None,
            env: Vec::new(),
        }
    }
}

/// The least memory that the kernel boots in.
const MEMORY_MB_MIN: u32 = 64;

/// A label of a domain name (RFC 1035, section 2.3.4).
const NAME_BYTES_MAX: usize = 63;

impl GuestOptions {
    /// Refuses what a guest could not be booted with.
    pub(super) fn check(&self) -> io::Result<()> {
        let name = self.name.as_bytes();
        let legal = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.iter().all(legal) {
            return Err(invalid(format!("{:?} is no hostname", self.name)));
        }
        if self.memory_mb < MEMORY_MB_MIN {
            return Err(invalid(format!("a guest needs at least {MEMORY_MB_MIN} MB of memory")));
        }
        if self.disk_mb == Some(0) {
            return Err(invalid("a disk needs at least 1 MiB".into()));
        }
        if self.time_limit < Duration::from_secs(1) {
            return Err(invalid("a guest needs a time limit of at least a second".into()));
        }
        for (path, _) in &self.files {
            let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            if path.is_empty() || !inside {
                return Err(invalid(format!("{path:?} does not lie inside the exchange folder")));
            }
        }
        for (key, value) in &self.env {
            if !is_variable(key) || value.contains('\0') {
                return Err(invalid(format!("{key:?} cannot be a variable of the guest")));
            }
        }
        Ok(())
    }

    /// The settings file that the first process reads, as shell text.
    pub(super) fn settings(&self, host: Ipv4Addr, address: Ipv4Addr, shared: &Path) -> String {
        let delay = self.netem_delay_ms.map(|delay_ms| delay_ms.to_string()).unwrap_or_default();
        let mut text = format!("NAME={}\nHOST={host}\nADDRESS={address}/24\nDELAY_MS={delay}\n", self.name);
        let shared = quote(&shared.display().to_string());
        writeln!(text, "SHARED_FOLDER={shared}").expect("a String takes every write");
        for (key, value) in &self.env {
            writeln!(text, "{key}={}", quote(value)).expect("a String takes every write");
        }
        text
    }
}

fn is_variable(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut GuestOptions)) -> bool {
        let mut options = GuestOptions::default();
        change(&mut options);
        options.check().is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
    }

    #[test]
    fn invalid_guest_options_are_refused() {
        assert!(!refused(|_| {}));
        assert!(refused(|options| options.name = "two words".into()));
        assert!(refused(|options| options.name = String::new()));
        assert!(refused(|options| options.name = "x".repeat(64)));
        assert!(refused(|options| options.memory_mb = 63));
        assert!(refused(|options| options.disk_mb = Some(0)));
        assert!(refused(|options| options.time_limit = Duration::ZERO));
        assert!(refused(|options| options.files = vec![("../outside".into(), Vec::new())]));
        assert!(refused(|options| options.files = vec![("/outside".into(), Vec::new())]));
        assert!(refused(|options| options.env = vec![("A B".into(), String::new())]));
        assert!(refused(|options| options.env = vec![("1A".into(), String::new())]));
    }

    #[test]
    fn a_value_reaches_the_shell_unchanged_whatever_it_holds() {
        let value = "it's $HOME `date` \\ \"x\"\nsecond line";
        let options = GuestOptions { env: vec![("VALUE".into(), value.into())], ..Default::default() };
        let settings = options.settings(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Path::new("/"));
        let script = format!("{settings}printf %s \"$VALUE\"");
        let shell = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(shell.stdout).unwrap(), value);
    }
}
