//! A network namespace of this machine. Linux keeps the clients of each apart: what is mounted in two of them
//! are two clients of the server, with connections, sessions, opens and delegations of their own.
//!
//! Owns the name by which such a client tells the server who it is. The namespace itself is the user's.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::available_parallelism;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use rustix::system::{sethostname, uname};
use tokio::runtime::{Builder, Runtime};

/// Where ip-netns(8) has them by name.
const NAMED: &str = "/run/netns";
/// A client's name begins with that of its namespace, and ends with as much of the machine's as there is room
/// for.
const NAME_BYTES_MAX: usize = 32;
/// The timeout for a connection that finds out whether there is a way to a server.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);
/// Threads of a client in a namespace, at most: each client has its own.
const THREADS_MAX: usize = 4;
/// uname(2): longer names are refused.
const HOST_NAME_BYTES_MAX: usize = 64;

/// A namespace that can be entered.
#[derive(Debug)]
pub(crate) struct NetworkNamespace {
    name: String,
    file: File,
}

impl NetworkNamespace {
    /// The one called `name`.
    ///
    /// # Errors
    /// `InvalidInput` for a name that none can have, or one of more than 32 bytes; `NotFound` where there is
    /// none.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.starts_with('.') || name.contains('/') {
            let reason =
                format!("a name has 1 to {NAME_BYTES_MAX} bytes, no `/`, and does not begin with `.`");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let file = File::open(Path::new(NAMED).join(name))?;
        Ok(Self { name: name.to_owned(), file })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Connects to `target` from it.
    pub(crate) async fn check_route(&self, target: SocketAddr) -> io::Result<()> {
        let file = self.file.try_clone()?;
        let connect = move || netlab::inside(&file, || TcpStream::connect_timeout(&target, CONNECTED_WITHIN));
        tokio::task::spawn_blocking(connect).await.map_err(io::Error::other)??.map(drop)
    }

    /// A runtime whose tasks make their sockets in it: threads have the network of the thread that starts
    /// them.
    pub(super) fn runtime(&self) -> io::Result<Runtime> {
        let threads = available_parallelism().map_or(1, |threads| threads.get().min(THREADS_MAX));
        self.inside(|| Builder::new_multi_thread().worker_threads(threads).enable_all().build())?
    }

    /// Runs `work` in a thread whose network is this namespace and whose host name no other namespace has:
    /// the kernel makes the owner of an NFSv4 client from it, and a server takes all of one owner for one
    /// client (RFC 8881 §2.4).
    pub(super) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let machine = uname().nodename().to_string_lossy().into_owned();
        let host = host_name(&self.name, &machine);
        netlab::inside(&self.file, move || {
            unshare(CloneFlags::CLONE_NEWUTS)?;
            sethostname(&host)?;
            Ok(work())
        })?
    }
}

fn host_name(namespace: &str, machine: &str) -> Vec<u8> {
    let mut name = format!("{namespace}.{machine}").into_bytes();
    name.truncate(HOST_NAME_BYTES_MAX);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_of_one_machine_have_distinct_names_at_any_length() {
        let machine = "m".repeat(64);
        let [one, other] = ["one", "other"].map(|namespace| host_name(namespace, &machine));
        assert!(one.starts_with(b"one.m") && other.starts_with(b"other.m"));
        assert_eq!((one.len(), other.len()), (64, 64));
        assert_eq!(host_name("one", "host"), b"one.host");
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for name in ["", "..", "../mnt", "a/b", &"x".repeat(33)] {
            assert_eq!(
                NetworkNamespace::open(name).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
        }
        assert_eq!(NetworkNamespace::open("no-such-one").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
