//! A kernel's client: mounted by mount.nfs, counted by the kernel.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::Url;
use netlab::guest::mountstats;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::{Counters, NetworkNamespace, unmount};
use crate::workload::Error;

/// How long counters are waited for that do not come to rest.
const SETTLED_WITHIN: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// So many looks one after the other must find the same.
const LOOKS_ALIKE: u32 = 3;

const PROGRAM: &str = "mount.nfs";

/// An NFS mount of this kernel.
pub(super) struct KernelMount {
    point: PathBuf,
    /// What seemed to be on its way when everything had come to rest: answers to callbacks, which the kernel
    /// counts as requests that are never answered.
    never_answered: AtomicU64,
}

impl KernelMount {
    /// Mounts the tree of `url` on `point`, with the network of `namespace`; `options` come last and so win.
    pub(super) async fn start(
        url: &Url,
        version: &str,
        options: &[String],
        (namespace, point): (Option<&NetworkNamespace>, &Path),
    ) -> Result<Self, Error> {
        let mut last = None;
        for mount_port in mount_ports(url, version, options) {
            let options = all_options(url, version, mount_port, options);
            let output = run(url, (namespace, point), &options).await?;
            if output.status.success() {
                return Ok(Self { point: point.to_owned(), never_answered: AtomicU64::new(0) });
            }
            last = Some(refused(&output));
        }
        Err(last.expect("there is at least one place to ask"))
    }

    /// What the kernel has counted; nothing when the mount is gone. A file is closed and a lock forgotten
    /// when its application has gone on already: this waits for the end of that.
    pub(super) fn counters(&self) -> Counters {
        let deadline = Instant::now() + SETTLED_WITHIN;
        let mut seen = (Counters::default(), 0);
        let mut same = 0;
        while let Some(found) = self.statistics() {
            let now = (Counters::from(&found), found.in_flight);
            same = if now == seen { same + 1 } else { 0 };
            seen = now;
            let is_quiet = same >= LOOKS_ALIKE;
            let is_over = Instant::now() > deadline;
            if is_quiet && (is_over || found.in_flight <= self.never_answered.load(Ordering::Relaxed)) {
                self.never_answered.store(found.in_flight, Ordering::Relaxed);
                break;
            }
            if is_over {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        seen.0
    }

    fn statistics(&self) -> Option<mountstats::Mount> {
        let text = std::fs::read_to_string("/proc/self/mountstats").ok()?;
        let mounts = mountstats::parse(&text).ok()?;
        mounts.into_iter().rfind(|mount| Path::new(&mount.mount_point) == self.point)
    }

    /// The options that the kernel and the server have agreed on.
    pub(super) fn negotiated(&self) -> BTreeMap<String, String> {
        let mounted = unmount::mounted_below(&self.point);
        let options = mounted.last().map_or("", |mounted| mounted.options.as_str());
        options.split(',').filter_map(named).collect()
    }

    /// Unmounts it; by force when it is in use or its server is silent.
    pub(super) async fn shut_down(&self) {
        let point = self.point.clone();
        // What cannot be unmounted now, the next benchmark finds.
        let _ = tokio::task::spawn_blocking(move || unmount::gently_or_by_force(&point)).await;
    }
}

/// Locks are kept by the kernel alone, and cost no request, with one of these.
pub(crate) fn keeps_locks_local(options: &[String]) -> bool {
    options.iter().any(|option| matches!(option.as_str(), "nolock" | "local_lock=all" | "local_lock=flock"))
}

/// `name=value`, or a name alone.
fn named(option: &str) -> Option<(String, String)> {
    let (name, value) = option.split_once('=').unwrap_or((option, "yes"));
    (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

fn device(url: &Url) -> String {
    let host = if url.host().contains(':') { format!("[{}]", url.host()) } else { url.host().to_owned() };
    format!("{host}:{}", String::from_utf8_lossy(url.path()))
}

async fn run(
    url: &Url,
    (namespace, point): (Option<&NetworkNamespace>, &Path),
    options: &str,
) -> Result<Output, Error> {
    let mut command = Command::new(PROGRAM);
    command.arg(device(url)).arg(point).args(["-o", options]).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawned = match namespace {
        None => command.spawn(),
        Some(namespace) => spawn_inside(namespace, &mut command)?,
    };
    let cannot_run = |error| Error::Mount {
        cause: format!("{PROGRAM} cannot be run: {error}"),
        mend: "it comes with the package nfs-common or nfs-utils",
    };
    spawned.map_err(cannot_run)?.wait_with_output().await.map_err(cannot_run)
}

/// A process has the namespaces of the thread that starts it.
fn spawn_inside(namespace: &NetworkNamespace, command: &mut Command) -> Result<io::Result<Child>, Error> {
    let runtime = Handle::current();
    let spawn = || {
        let _entered = runtime.enter();
        command.spawn()
    };
    namespace.inside(spawn).map_err(|error| Error::Mount {
        cause: format!("the network namespace cannot be entered: {error}"),
        mend: "make it with ip-netns(8), and work as root",
    })
}

/// Where the MOUNT service of version 3 may be, one place after the other: where the user says, else on the
/// port of NFS, else where the port mapper says.
fn mount_ports(url: &Url, version: &str, options: &[String]) -> Vec<Option<u16>> {
    let is_told = options.iter().any(|option| option.starts_with("mountport="));
    match url.options().mount_port {
        _ if version != "3" || is_told => vec![None],
        Some(port) => vec![Some(port)],
        None => vec![Some(url.port()), None],
    }
}

/// Options of mount(8), nfs(5). Each mount is one of its own, with caches of its own.
fn all_options(url: &Url, version: &str, mount_port: Option<u16>, options: &[String]) -> String {
    let mut all: Vec<String> = ["proto=tcp", "hard", "retry=0", "nosharecache"].map(str::to_owned).to_vec();
    all.push(format!("vers={version}"));
    all.push(format!("port={}", url.port()));
    if version == "3" {
        all.push("mountproto=tcp".to_owned());
        all.extend(mount_port.map(|port| format!("mountport={port}")));
    }
    all.extend(options.iter().cloned());
    all.join(",")
}

fn refused(output: &Output) -> Error {
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let said = line.map_or_else(|| format!("{PROGRAM} failed without a word"), str::to_owned);
    let lower = said.to_lowercase();
    if lower.contains("protocol not supported") {
        return Error::NotOffered(said);
    }
    let mend = if lower.contains("unknown filesystem") || lower.contains("no such device") {
        "this kernel has no NFS client, or `modprobe nfs` must load it"
    } else if lower.contains("statd") || lower.contains("locking") {
        "start rpcbind and rpc.statd for locks over version 3, or keep locks local with --mount-options \
         nolock"
    } else {
        "only root may mount, and --mount-options gives it what else the server needs"
    };
    Error::Mount { cause: said, mend }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_3_looks_for_mount_at_the_nfs_port_then_asks_portmap() {
        let ports = |url: &str, version, more: &[&str]| {
            let more: Vec<String> = more.iter().map(|option| (*option).to_owned()).collect();
            mount_ports(&url.parse().unwrap(), version, &more)
        };
        assert_eq!(ports("nfs://h:20490/x", "3", &["nolock"]), [Some(20490), None]);
        assert_eq!(ports("nfs://h/x?mountport=635", "3", &[]), [Some(635)]);
        assert_eq!(ports("nfs://h/x", "3", &["mountport=7"]), [None]);
        assert_eq!(ports("nfs://h/x", "4.1", &[]), [None]);
    }

    #[test]
    fn user_mount_options_come_last() {
        let url = "nfs://h:20490/x".parse().unwrap();
        let all = all_options(&url, "3", Some(635), &["nolock".to_owned()]);
        assert!(all.contains("vers=3,port=20490,mountproto=tcp,mountport=635"), "{all}");
        assert!(all.ends_with(",nolock"), "{all}");
        assert!(!all_options(&url, "4.1", None, &[]).contains("mount"));
    }

    #[test]
    fn a_device_is_written_as_mount_wants_it() {
        assert_eq!(device(&"nfs://h:20490/a/b".parse().unwrap()), "h:/a/b");
        assert_eq!(device(&"nfs://[::1]/a".parse().unwrap()), "[::1]:/a");
    }
}
