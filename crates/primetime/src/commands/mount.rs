//! `primetime mount`: a server's tree in a directory of this machine.
//!
//! Owns the words on the command line, the life in the background, and signals; the tree is the library's.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use client::{Client, Url};
use mount::{Mount, MountOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use crate::log::{self, LogOptions};

const EXAMPLES: &str = "\
Examples:
  primetime mount nfs://fileserver/export /mnt
  primetime mount nfs://fileserver/export ~/files -o vers=3,ro
  fusermount3 -u ~/files                           unmount it, as whoever mounted it
  umount /mnt                                      as root

Exit codes: 0 mounted (in the foreground: and unmounted again), 3 it cannot be mounted, or not everything \
arrived.";

/// What the process in the background says when the tree is mounted.
const MOUNTED: &str = "mounted";

/// How long the server may take before there is anything to wait for.
const CONNECTING_MAX: Duration = Duration::from_secs(60);

/// How long, after a signal, a mount with files that are still open waits for them.
const STILL_OPEN_MAX: Duration = Duration::from_secs(5);

/// How long, after a signal, a server that answers nothing is waited for.
const SILENCE_MAX: Duration = Duration::from_millis(400);

/// As [`SILENCE_MAX`], while written data are not on the server's stable storage: a disk may take a while
/// for them.
const SILENCE_WITH_DATA_MAX: Duration = Duration::from_secs(5);

/// How often a server that is waited for is looked at.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Arguments of `primetime mount`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The tree: nfs://host:port/path?options (port 2049 unless given)
    #[arg(value_name = "URL")]
    url: String,

    /// Where it is to be seen; an existing directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Options as mount(8) has them, separated by commas, of the mount (ro, allow_other, default_permissions,
    /// nosuid, noexec, noatime) and of NFS (vers, nconnect, rsize, actimeo, …); may be given again
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,

    /// Change nothing, as -o ro
    #[arg(long)]
    read_only: bool,

    /// Stay in the foreground until it is unmounted
    #[arg(long)]
    foreground: bool,

    /// This is the process in the background
    #[arg(long, hide = true)]
    background: bool,

    #[command(flatten)]
    log: LogOptions,
}

/// Runs `primetime mount`.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (url, options) = parse(arguments)?;
    if !arguments.foreground && !arguments.background {
        return start_in_background();
    }
    log::begin(&arguments.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::set_up(format_args!("cannot start its threads: {error}")))?;
    let outcome = runtime.block_on(serve(arguments, &url, &options));
    // Threads that wait for the kernel or for a server that does not answer end with the process.
    runtime.shutdown_background();
    outcome
}

/// What is about the server goes to the address, the rest to the kernel.
fn parse(arguments: &Arguments) -> Result<(Url, MountOptions), Failure> {
    let mut options = MountOptions::new(arguments.url.split('?').next().unwrap_or_default());
    let mut address = arguments.url.clone();
    let read_only = arguments.read_only.then(|| "ro".to_owned());
    for option in arguments.options.iter().chain(&read_only).filter(|option| !option.is_empty()) {
        let known = options.set(option).map_err(Failure::set_up)?;
        if !known || matches!(option.as_str(), "ro" | "rw") {
            address.push(if address.contains('?') { '&' } else { '?' });
            address.push_str(option);
        }
    }
    let url: Url = address.parse().map_err(Failure::set_up)?;
    options.read_only |= url.options().read_only;
    Ok((url, options))
}

async fn serve(arguments: &Arguments, url: &Url, options: &MountOptions) -> Result<(), Failure> {
    let catch = |kind| {
        signal(kind).map_err(|error| Failure::set_up(format_args!("cannot wait for signals: {error}")))
    };
    let (mut terminated, mut interrupted) =
        (catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?);
    let connected = tokio::time::timeout(CONNECTING_MAX, Client::connect(url, url.options())).await;
    let client = connected
        .map_err(|_| Failure::set_up(format_args!("{}: no answer; is it a server of NFS?", url.host())))?
        .map_err(Failure::set_up)?;
    let started = Mount::start(client.clone(), &arguments.directory, options).await;
    let mount = match started {
        Ok(mount) => mount,
        Err(error) => {
            // What the server keeps for us would go with the lease; the cause is what the user wants to read.
            let _ = client.shutdown().await;
            return Err(Failure::set_up(format_args!("{error}; {}", mend())));
        }
    };
    if arguments.background {
        detach()?;
    }
    let unmounter = mount.unmounter();
    let ended = mount.ended();
    let mut ended = Box::pin(ended);
    tokio::select! {
        outcome = &mut ended => return outcome.map_err(Failure::set_up),
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    // The kernel waits for us in it.
    let unmounting = tokio::task::spawn_blocking(move || unmounter.unmount());
    let end = async {
        if let Ok(Err(error)) = unmounting.await {
            return Some(client.shutdown().await.map_err(Failure::set_up).and(Err(Failure::set_up(error))));
        }
        // Processes that still have files open in it cannot hold up the end.
        let outcome = tokio::time::timeout(STILL_OPEN_MAX, ended).await.ok()?;
        Some(outcome.map_err(Failure::set_up))
    };
    let outcome = tokio::select! {
        outcome = end => outcome,
        () = silence(&client) => None,
    };
    if let Some(outcome) = outcome {
        return outcome;
    }
    // The server may not have been asked since. The data that wait are sent to it.
    tokio::select! {
        outcome = client.shutdown() => outcome.map_err(|error| Failure::set_up(mount::Error::Flush(error))),
        () = silence(&client) => match client.has_unstable_data() {
            true => Err(Failure::set_up("the server does not answer: what was written last did not reach \
                                         it")),
            // It learns of the end by its lease.
            false => Ok(()),
        },
    }
}

/// Ends when the server has answered nothing for [`SILENCE_MAX`], or, while data are not on its stable
/// storage, [`SILENCE_WITH_DATA_MAX`].
async fn silence(client: &Client) {
    let answers = || client.tap().snapshot().requests_total();
    let (mut seen, mut since) = (answers(), tokio::time::Instant::now());
    loop {
        tokio::time::sleep(LOOK_PAUSE).await;
        let now = answers();
        if now != seen {
            (seen, since) = (now, tokio::time::Instant::now());
        }
        let most = if client.has_unstable_data() { SILENCE_WITH_DATA_MAX } else { SILENCE_MAX };
        if since.elapsed() >= most {
            return;
        }
    }
}

/// What may help against a mount that failed.
fn mend() -> &'static str {
    match std::fs::File::options().read(true).write(true).open("/dev/fuse") {
        Err(_) => {
            "/dev/fuse is not there or not to be opened: `modprobe fuse` loads it, and a container must be \
             given it"
        }
        Ok(_) => {
            "ordinary users need fusermount3 (package fuse3), and user_allow_other in /etc/fuse.conf for \
             allow_other"
        }
    }
}

/// Starts the same again in the background, and waits until the tree is mounted.
fn start_in_background() -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::set_up(format_args!("cannot go on in the background: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .arg("--background")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut said).map_err(failed)?;
    }
    if said.trim_end() == MOUNTED {
        return Ok(());
    }
    // It has said itself why.
    child.wait().map_err(failed)?;
    Err(Failure::said())
}

/// Leaves the terminal, and whoever started this, alone.
fn detach() -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::set_up(format_args!("cannot go on in the background: {error}"));
    let null = std::fs::File::options().read(true).write(true).open("/dev/null").map_err(failed)?;
    // Already a leader of its group when started by hand.
    let _ = rustix::process::setsid();
    // Or the directory in which this was started could not be unmounted or removed.
    std::env::set_current_dir("/").map_err(failed)?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "{MOUNTED}").and_then(|()| output.flush()).map_err(failed)?;
    rustix::stdio::dup2_stdout(&null).map_err(|error| failed(error.into()))?;
    rustix::stdio::dup2_stderr(&null).map_err(|error| failed(error.into()))
}
