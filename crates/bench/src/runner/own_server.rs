//! The benchmark's own server: `primetime serve` as a child, on a temporary directory.
//!
//! Owns the child and the directory; both are gone when this is dropped. A child of its own keeps its memory
//! and its scheduling apart from the clients'.

use std::fs::Permissions;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use super::Error;
use super::leftovers::{self, PREFIX};
use super::own_certificates::OwnCertificates;

/// The directory that it exports, in its own.
const EXPORT: &str = "export";
const READY_WITHIN: Duration = Duration::from_secs(20);
const STOPPED_WITHIN: Duration = Duration::from_secs(5);
/// More of what a server says on its way down fits no sentence.
const COMPLAINT_BYTES_MAX: u64 = 2000;
/// The lines until a server is ready are shorter.
const LINES_BYTES_MAX: u64 = 4096;

/// A running server.
#[derive(Debug)]
pub(crate) struct OwnServer {
    command: PathBuf,
    flags: Vec<String>,
    child: Child,
    directory: TempDir,
    export: PathBuf,
    certificates: Option<OwnCertificates>,
    ready: Ready,
}

/// The addresses that a server announces.
#[derive(Debug)]
struct Ready {
    url: String,
    /// `None` where it counts no operations.
    metrics: Option<SocketAddr>,
}

impl OwnServer {
    /// Starts `command serve` on a new directory, at a free port of `address`, and waits until it is ready.
    /// `flags` are more options of `serve`.
    pub(crate) async fn start(command: &Path, address: IpAddr, flags: &[String]) -> Result<Self, Error> {
        Self::start_at(command, SocketAddr::new(address, 0), flags).await
    }

    /// Like [`OwnServer::start`], with TLS, and with certificates for it.
    pub(crate) async fn start_with_tls(
        command: &Path,
        address: IpAddr,
        flags: &[String],
    ) -> Result<Self, Error> {
        Self::start_in(command, SocketAddr::new(address, 0), flags, true).await
    }

    /// Like [`OwnServer::start`], at a port that is named.
    pub(crate) async fn start_at(
        command: &Path,
        address: SocketAddr,
        flags: &[String],
    ) -> Result<Self, Error> {
        Self::start_in(command, address, flags, false).await
    }

    async fn start_in(
        command: &Path,
        address: SocketAddr,
        flags: &[String],
        has_tls: bool,
    ) -> Result<Self, Error> {
        let failed = |cause: String| Error::OwnServer(cause);
        leftovers::sweep_this_machine(&std::env::temp_dir());
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir().map_err(|error| {
            failed(format!("cannot make a temporary directory: {error}; set TMPDIR to one with room"))
        })?;
        let exported = directory.path().join(EXPORT);
        // The server does not act for root by default; who else may come here, the directory above decides.
        std::fs::create_dir(&exported)
            .and_then(|()| std::fs::set_permissions(&exported, Permissions::from_mode(0o777)))
            .map_err(|error| failed(format!("cannot make its directory: {error}")))?;
        let certificates = has_tls
            .then(|| OwnCertificates::make(directory.path()))
            .transpose()
            .map_err(|error| failed(format!("cannot make its certificates: {error}")))?;
        let mut flags = flags.to_vec();
        flags.extend(certificates.iter().flat_map(OwnCertificates::flags));
        let (child, ready) = serve(command, directory.path(), address, &flags).await?;
        Ok(Self {
            command: command.to_owned(),
            flags,
            child,
            directory,
            export: exported,
            certificates,
            ready,
        })
    }

    /// Kills the server as a crash would, and starts it again at the same address, on the same directory.
    pub(crate) async fn kill_and_restart(&mut self) -> Result<(), Error> {
        let authority = self.ready.url.strip_prefix("nfs://").and_then(|rest| rest.split('/').next());
        let address: SocketAddr = authority
            .and_then(|authority| authority.parse().ok())
            .ok_or_else(|| Error::OwnServer(format!("its address {} names no port", self.ready.url)))?;
        // It may have ended by itself.
        let _ = self.child.kill().await;
        (self.child, self.ready) = serve(&self.command, self.directory.path(), address, &self.flags).await?;
        Ok(())
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.ready.url
    }

    /// Its address with the options of `query`, and with those that TLS needs.
    pub(crate) fn url_with(&self, query: &str) -> String {
        let certificates = self.certificates.as_ref().map(OwnCertificates::query);
        let options: Vec<&str> = [Some(query), certificates.as_deref()]
            .into_iter()
            .flatten()
            .filter(|one| !one.is_empty())
            .collect();
        match options.is_empty() {
            true => self.url().to_owned(),
            false => format!("{}?{}", self.url(), options.join("&")),
        }
    }

    /// The address of its metrics; `None` where it counts no operations.
    pub(crate) fn metrics(&self) -> Option<SocketAddr> {
        self.ready.metrics
    }

    /// The directory that it exports.
    pub(crate) fn export(&self) -> &Path {
        &self.export
    }

    /// Its process; none once it has ended.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child.id()
    }

    /// Why it has ended by itself; none while it runs.
    pub(crate) fn has_ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| format!("it ended during the benchmark ({status})"))
    }

    /// Stops the server and removes its directory.
    pub(crate) async fn stop(mut self) -> Result<(), Error> {
        if let Some(pid) = self.child.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
            // It may have ended by itself, which is as good.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        if tokio::time::timeout(STOPPED_WITHIN, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
        let path = self.directory.path().to_owned();
        let removed = tokio::task::spawn_blocking(move || {
            leftovers::empty(self.directory.path());
            self.directory.close()
        })
        .await;
        match removed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Error::OwnServer(format!(
                "its directory {} could not be removed: {error}",
                path.display()
            ))),
            Err(error) => Err(Error::OwnServer(error.to_string())),
        }
    }
}

/// Starts `command serve` on what is in `directory`, and waits until it is ready.
async fn serve(
    command: &Path,
    directory: &Path,
    address: SocketAddr,
    flags: &[String],
) -> Result<(Child, Ready), Error> {
    let failed = |cause: String| Error::OwnServer(cause);
    let mut child = Command::new(command)
        .arg("serve")
        .arg(directory.join(EXPORT))
        .args(["--listen", &address.to_string(), "--state-dir"])
        .arg(directory.join("state"))
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C at a terminal goes to all of the foreground: the server must outlive the clients that
        // are stopped by it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("cannot start {}: {error}", command.display())))?;
    if let Some(pid) = child.id() {
        leftovers::mark_own_server(directory, pid);
    }
    let ready = match tokio::time::timeout(READY_WITHIN, await_ready(&mut child)).await {
        Ok(Ok(ready)) => ready,
        Ok(Err(error)) => return Err(failed(error)),
        Err(_) => return Err(failed(format!("it was not ready after {} s", READY_WITHIN.as_secs()))),
    };
    drain(&mut child);
    Ok((child, ready))
}

/// Returns what the server announces up to its `ready` line, or why there is no such line.
async fn await_ready(child: &mut Child) -> Result<Ready, String> {
    let mut metrics = None;
    if let Some(stdout) = &mut child.stdout {
        let mut lines = BufReader::new(stdout.take(LINES_BYTES_MAX)).lines();
        let failed = |error| format!("cannot read what it says: {error}");
        while let Some(line) = lines.next_line().await.map_err(failed)? {
            if let Some(url) = line.strip_prefix("ready ") {
                return Ok(Ready { url: url.trim().to_owned(), metrics });
            }
            let Some(address) = line.strip_prefix("metrics http://") else { break };
            metrics = address.split('/').next().and_then(|address| address.parse().ok());
        }
    }
    let mut complaint = String::new();
    if let Some(stderr) = &mut child.stderr {
        // What can be had of it is enough.
        let _ = stderr.take(COMPLAINT_BYTES_MAX).read_to_string(&mut complaint).await;
    }
    let complaint = complaint.trim();
    Err(if complaint.is_empty() { "it ended without a word".to_owned() } else { complaint.to_owned() })
}

/// Reads and forgets what the server says from now on: a full pipe would stop it.
fn drain(child: &mut Child) {
    if let Some(mut stdout) = child.stdout.take() {
        tokio::spawn(async move { tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await });
    }
    if let Some(mut stderr) = child.stderr.take() {
        tokio::spawn(async move { tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::Ipv4Addr;

    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// A command that answers to `serve DIR --listen …` with a script. Another process writes it: what a
    /// process of another test inherits while this one has it open for writing could not be started.
    fn command(directory: &Path, script: &str) -> std::path::PathBuf {
        let path = directory.join("command");
        let mut install = std::process::Command::new("install");
        install.args(["-m", "755", "/dev/stdin"]).arg(&path).stdin(Stdio::piped());
        let mut install = install.spawn().unwrap();
        install.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        assert!(install.wait().unwrap().success());
        path
    }

    #[tokio::test]
    async fn a_server_that_is_ready_gives_its_address_and_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let script = "echo \"ready nfs://127.0.0.1:7/$(basename \"$2\")\"; exec sleep 60";
        let mut server = OwnServer::start(&command(directory.path(), script), LOOPBACK, &[]).await.unwrap();
        assert_eq!(server.url(), "nfs://127.0.0.1:7/export");
        assert_eq!(server.has_ended(), None);
        let exported = server.directory.path().to_owned();
        assert!(exported.join("export").is_dir());
        server.stop().await.unwrap();
        assert!(!exported.exists());
    }

    #[tokio::test]
    async fn server_announces_the_address_of_its_metrics() {
        let directory = tempfile::tempdir().unwrap();
        let script = "echo 'metrics http://127.0.0.1:9/metrics'; echo 'ready nfs://127.0.0.1:7/'; \
                      exec sleep 60";
        let server = OwnServer::start(&command(directory.path(), script), LOOPBACK, &[]).await.unwrap();
        assert_eq!((server.url(), server.metrics()), ("nfs://127.0.0.1:7/", Some((LOOPBACK, 9).into())));
        server.stop().await.unwrap();
    }

    #[tokio::test]
    async fn a_server_that_does_not_start_is_quoted() {
        let directory = tempfile::tempdir().unwrap();
        let script = "echo 'no room in the inn' >&2; exit 3";
        let error = OwnServer::start(&command(directory.path(), script), LOOPBACK, &[]).await.unwrap_err();
        assert!(error.to_string().contains("no room in the inn"), "{error}");
        let absent = OwnServer::start(&directory.path().join("absent"), LOOPBACK, &[]).await.unwrap_err();
        assert!(absent.to_string().contains("cannot start"), "{absent}");
    }
}
