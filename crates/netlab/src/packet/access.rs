//! Who may make a network: root, and ordinary users in a user namespace of their own where the system lets
//! them.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, unshare};

use crate::unavailable::{Unavailable, is_installed};

const DEVICE: &str = "/dev/net/tun";

/// How this process can come to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may make one as it is.
    Here,
    /// It may start a process that can, with [`in_user_namespace`].
    InUserNamespace,
}

/// Says how this process can come to a network, without changing anything.
///
/// # Errors
/// When it cannot, with the reason and what to do about it.
pub fn access() -> Result<Access, Unavailable> {
    check_device()?;
    if !is_installed("ip") {
        return Err(Unavailable("packet-level links need the program ip; install iproute2".to_owned()));
    }
    // The capability is what counts, not the user; a thread that is gone has changed nothing.
    let alone = thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET).is_ok());
    if alone.join().unwrap_or(false) {
        return Ok(Access::Here);
    }
    let probe =
        in_user_namespace("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if probe.is_ok_and(|status| status.success()) {
        return Ok(Access::InUserNamespace);
    }
    Err(Unavailable(
        "packet-level links need network namespaces, which this user may not make: run it as root, or allow \
         user namespaces (sysctl user.max_user_namespaces; with AppArmor \
         kernel.apparmor_restrict_unprivileged_userns=0)"
            .to_owned(),
    ))
}

/// A command that runs `program` as root of a new user namespace: it may do there what root may, with what is
/// in there only.
pub fn in_user_namespace(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--"]).arg(program);
    command
}

fn check_device() -> Result<(), Unavailable> {
    let Err(error) = OpenOptions::new().read(true).write(true).open(DEVICE) else { return Ok(()) };
    Err(Unavailable(match error.kind() {
        ErrorKind::NotFound => {
            format!(
                "packet-level links need {DEVICE}, which is not there: load the kernel's module (modprobe \
                 tun)"
            )
        }
        ErrorKind::PermissionDenied => format!(
            "packet-level links need {DEVICE}, which this user may not open: run it as root, or let users \
             open it (chmod 0666, as most distributions have it)"
        ),
        _ => format!("packet-level links need {DEVICE}, which cannot be opened: {error}"),
    }))
}
