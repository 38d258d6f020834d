//! How clients come to be: called, or mounted on directories that only this benchmark uses.
//!
//! Owns those directories, in one that bears the benchmark's mark, so that the next one can unmount and
//! remove what a killed one has left.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use super::arm::{Arm, ClientSpec};
use super::arm_spec::{ArmSpec, Target};
use super::leftovers::{self, PREFIX};
use super::{Error, Options};
use crate::workload::{
    self, Address, ClientKind, Habits, Mount, NetworkNamespace, keeps_locks_local, unmount,
};

/// What makes clients of one kind.
pub(crate) struct Clients {
    kind: ClientKind,
    /// For mount.nfs.
    options: Vec<String>,
    /// The benchmark's own server counts the NLM requests of these clients.
    counts_locks: bool,
    /// Where each client is mounted by a client of its own; none where all mounts are one client of this
    /// machine.
    namespaces: Vec<NetworkNamespace>,
    points: Option<Points>,
}

/// Where clients are mounted.
struct Points {
    directory: TempDir,
    made: AtomicU32,
}

impl Clients {
    /// Makes what clients of this kind need, and removes what killed benchmarks have left of it.
    /// Client number n is in the n-th of `namespaces`.
    pub(crate) fn new(
        options: &Options,
        namespaces: &[String],
        (kind, mount_options): &ClientSpec,
    ) -> Result<Self, Error> {
        let mut mount_options = mount_options.clone();
        // A kernel finds the lock manager of a server only through a port mapper at the server's address.
        let is_chosen =
            mount_options.iter().any(|option| option == "lock") || keeps_locks_local(&mount_options);
        let is_own = |arm: &ArmSpec| matches!(arm.target, Target::Own { .. });
        let own_server =
            options.server.is_none() && (options.arms.is_empty() || options.arms.iter().any(is_own));
        let own_ports = own_server || options.plan.delays_ms.iter().any(|delay| *delay > 0.0);
        let locks_here = own_ports && !options.guests_lock && !is_chosen;
        if locks_here {
            mount_options.push("nolock".to_owned());
        }
        let namespaces = namespaces.iter().map(|name| namespace(name)).collect::<Result<_, _>>()?;
        let clients = Self::of_kind(kind.clone(), mount_options, namespaces)?;
        let counts_locks =
            clients.kind == ClientKind::Kernel && own_server && options.guests_lock && !clients.keeps_locks();
        Ok(Self { counts_locks, ..clients })
    }

    /// As [`Clients::new`], with just these options of mount(8).
    pub(crate) fn of_kind(
        kind: ClientKind,
        options: Vec<String>,
        namespaces: Vec<NetworkNamespace>,
    ) -> Result<Self, Error> {
        let mounted = matches!(kind, ClientKind::Fuse | ClientKind::Kernel);
        let points = mounted.then(Points::new).transpose()?;
        Ok(Self { kind, options, counts_locks: false, namespaces, points })
    }

    /// For mount.nfs.
    pub(crate) fn mount_options(&self) -> &[String] {
        &self.options
    }

    /// Whether the NLM requests over `version` are counted by the benchmark's own server.
    pub(crate) fn counts_locks_of(&self, version: &str) -> bool {
        self.counts_locks && version == "3"
    }

    fn keeps_locks(&self) -> bool {
        keeps_locks_local(&self.options)
    }

    /// Which.
    pub(crate) fn kind(&self) -> &ClientKind {
        &self.kind
    }

    /// A client of `arm` for the tree at `address`: the one with this number, from 0.
    pub(crate) async fn connect(
        &self,
        address: &Address,
        arm: &Arm,
        habits: Habits,
        number: u32,
    ) -> Result<Mount, workload::Error> {
        let Some(points) = &self.points else { return Mount::connect(address, arm.version(), habits).await };
        let point = points.next()?;
        match self.kind {
            ClientKind::Fuse => {
                let place = (self.namespaces.get(number as usize), point.as_path());
                Mount::connect_fuse(address, arm.version(), habits, place).await
            }
            _ => {
                let place = (self.namespaces.get(number as usize), point.as_path());
                Mount::connect_kernel(address, arm.version(), habits, &self.options, place).await
            }
        }
    }

    /// Fails where the first namespace has no way to `address`.
    pub(crate) async fn check_route(&self, address: &Address) -> Result<(), Error> {
        let (Some(namespace), Address::Server { url, .. }) = (self.namespaces.first(), address) else {
            return Ok(());
        };
        let target = address.resolve().await.map_err(Error::Usage)?;
        namespace.check_route(target).await.map_err(|error| {
            Error::Usage(format!(
                "clients in the network namespace `{}` do not reach {}:{}: {error}; use the benchmark's own \
                 server, an address of this machine other than loopback, or namespaces with a way there",
                namespace.name(),
                url.host(),
                url.port()
            ))
        })
    }

    /// What is to be said of this kind of client, whatever is measured with `arms`.
    pub(crate) fn doubts(&self, arms: &[Arm], several: bool) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.kind != ClientKind::Kernel {
            return doubts;
        }
        if several && self.namespaces.is_empty() {
            doubts.push(
                "All mounts of a kernel are one client of the server, with one connection and one session; \
                 several clients that wait for each other need --client-namespaces, or several machines."
                    .to_owned(),
            );
        }
        if arms.iter().any(|arm| arm.version() == "3" && !self.counts_locks_of(arm.version())) {
            let doubt = match self.keeps_locks() {
                true => "Locks over v3 were kept by the kernel alone (nolock), and cost no request.",
                false => "Requests of the lock manager are not among those that the kernel counts over v3.",
            };
            doubts.push(doubt.to_owned());
        }
        doubts
    }
}

impl Points {
    fn new() -> Result<Self, Error> {
        let temporary = std::env::temp_dir();
        leftovers::sweep_this_machine(&temporary);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&temporary).map_err(|error| {
            Error::Usage(format!(
                "cannot make a directory to mount in {}: {error}; set TMPDIR to one where that is possible",
                temporary.display()
            ))
        })?;
        leftovers::mark_this_machine(directory.path());
        Ok(Self { directory, made: AtomicU32::new(0) })
    }

    /// An empty directory that nothing is mounted on.
    fn next(&self) -> Result<PathBuf, workload::Error> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let point = self.directory.path().join(number.to_string());
        let failed = |source| workload::Error::Call { doing: format!("make {}", point.display()), source };
        std::fs::create_dir(&point).map_err(failed)?;
        Ok(point)
    }
}

impl Drop for Points {
    fn drop(&mut self) {
        // Nothing may be removed through a mount; what is still mounted is for the next benchmark.
        if unmount::all_below(self.directory.path()) {
            leftovers::empty(self.directory.path());
        } else {
            self.directory.disable_cleanup(true);
        }
    }
}

fn namespace(name: &str) -> Result<NetworkNamespace, Error> {
    NetworkNamespace::open(name).map_err(|error| {
        Error::Usage(format!(
            "cannot open the network namespace `{name}`: {error}; make it with `ip netns add {name}`, and \
             give it a way to the server"
        ))
    })
}

/// A directory of this machine, as an address: the one that was named, or a temporary one that is given too.
pub(crate) fn directory(named: Option<&Path>) -> Result<(Address, Option<TempDir>), Error> {
    let failed = |path: &Path, error: std::io::Error| {
        Error::Usage(format!(
            "cannot work in {}: {error}; name a directory with --client path=DIR",
            path.display()
        ))
    };
    if let Some(path) = named {
        let whole = path.canonicalize().map_err(|error| failed(path, error))?;
        return match whole.is_dir() {
            true => Ok((Address::Directory(whole), None)),
            false => Err(failed(path, std::io::ErrorKind::NotADirectory.into())),
        };
    }
    let temporary = std::env::temp_dir();
    leftovers::sweep_this_machine(&temporary);
    let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&temporary);
    let made = made.map_err(|error| failed(&temporary, error))?;
    leftovers::mark_this_machine(made.path());
    Ok((Address::Directory(made.path().to_owned()), Some(made)))
}
