//! The process that is a guest: how it is started, waited for and killed.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use super::capture::Capture;
use super::folder::Folder;
use super::{GuestOptions, GuestResult, Lab, registers};

/// A guest that was booted. It is killed, with all its processes, when dropped.
#[derive(Debug)]
pub struct Guest {
    address: IpAddr,
    // Dropped in this order: it is killed; the streams end when all of it is gone; then nobody writes to the
    // folder.
    process: Process,
    output: Capture,
    console: Capture,
    folder: Folder,
}

impl Guest {
    /// The guest's address in the lab.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The folder that is `$EXCHANGE` in the guest. What the guest writes is sure to be there only after its
    /// end, or after a sync(1) of its own.
    pub fn exchange(&self) -> PathBuf {
        self.folder.exchange()
    }

    /// Waits for the guest's end: of its script, or by its time limit.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn wait(mut self) -> io::Result<GuestResult> {
        self.process.0.wait()?;
        self.result()
    }

    /// Ends the guest as a power cut does: what it has not written to its disk by now is lost.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn cut_off(mut self) -> io::Result<GuestResult> {
        self.process.0.kill()?;
        self.process.0.wait()?;
        self.result()
    }

    fn result(self) -> io::Result<GuestResult> {
        // The streams end when the last process of the guest is gone.
        let (output, console) = (self.output.finish(), self.console.finish());
        Ok(GuestResult { exit_code: self.folder.exit_code(), output, console, folder: self.folder })
    }
}

/// `unshare`, whose death ends the process namespace that the guest lives in.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended, and been waited for, before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How a guest is connected to its lab.
#[derive(Debug)]
pub(super) struct Link {
    /// The port of the bridge.
    pub(super) tap: String,
    /// The guest's hardware address.
    pub(super) ethernet: String,
    pub(super) address: IpAddr,
}

/// Starts the kernel in the lab.
pub(super) fn start(lab: &Lab, options: &GuestOptions, folder: Folder, link: &Link) -> io::Result<Guest> {
    let (output, output_writer) = io::pipe()?;
    let (console, console_writer) = io::pipe()?;
    let (output, console) = (Capture::start(output)?, Capture::start(console)?);
    let mut command = lab.command("unshare");
    // The kernel is many processes; in a namespace of their own they all end with its first one, which
    // `unshare` takes with it. That first one is `timeout`, so the limit holds even when we are gone.
    command.args(["--pid", "--fork", "--kill-child=KILL"]);
    command.args(["timeout", "--signal=KILL", &format!("{}s", options.time_limit.as_secs_f64())]);
    command.arg("env").arg(registers::preload(lab.tools()));
    command.arg("linux.uml").args(kernel_arguments(options, &folder, link));
    // The guest's memory is a file there.
    command.env("TMPDIR", "/dev/shm");
    // The kernel writes its first terminal to descriptor 1 and its second one, for the script, to descriptor
    // 0: the only one that is free, as what its own host side prints goes to 1 and 2.
    command.stdin(Stdio::from(output_writer));
    command.stdout(Stdio::from(console_writer.try_clone()?)).stderr(Stdio::from(console_writer));
    let process = Process(command.spawn()?);
    // It holds our ends of the pipes for writing, which would never end.
    drop(command);
    Ok(Guest { address: link.address, process, output, console, folder })
}

fn kernel_arguments(options: &GuestOptions, folder: &Folder, link: &Link) -> Vec<String> {
    let fixed = "root=/dev/root rootfstype=hostfs rootflags=/ ro quiet noreboot \
                 con=null con0=null,fd:1 con1=null,fd:0 ssl=null umid=guest";
    let mut arguments: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
    arguments.push(format!("mem={}M", options.memory_mb));
    if options.disk_mb.is_some() {
        arguments.push(format!("ubd0={}", folder.disk().display()));
    }
    arguments.push(format!("uml_dir={}/", folder.control().display()));
    arguments.push(format!("init={}", folder.init().display()));
    // The host side of the link takes large segments apart and puts them together (gro).
    let Link { tap, ethernet, .. } = link;
    let mtu = super::namespace::MTU;
    arguments.push(format!("vec0:transport=tap,ifname={tap},depth=128,gro=1,mtu={mtu},mac={ethernet}"));
    arguments
}
