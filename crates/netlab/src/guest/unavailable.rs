//! What a machine needs before it can run guests, and how a lack of it is told.

use std::fs::{self, OpenOptions};

use crate::unavailable::{Unavailable, is_installed};

/// The programs that a lab, and the first process of a guest, call; and the Debian package of each.
const PROGRAMS: [(&str, &str); 10] = [
    ("linux.uml", "user-mode-linux"),
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("modprobe", "kmod"),
    ("mount.nfs", "nfs-common"),
    ("busybox", "busybox"),
    ("taskset", "util-linux"),
    ("unshare", "util-linux"),
    ("timeout", "coreutils"),
    ("cc", "gcc"),
];

/// Where the package of the kernel puts its modules.
const MODULES: &str = "/usr/lib/uml/modules";

/// Says whether this machine has all that can be looked up without changing anything.
pub(super) fn check() -> Result<(), Unavailable> {
    if !rustix::process::geteuid().is_root() {
        return Err(Unavailable("a guest needs root, for its network namespace".into()));
    }
    for (program, package) in PROGRAMS {
        if !is_installed(program) {
            return Err(Unavailable(format!("a guest needs {program} (Debian package {package})")));
        }
    }
    if !fs::read_dir(MODULES).is_ok_and(|mut versions| versions.next().is_some()) {
        return Err(Unavailable(format!("a guest needs the kernel's modules in {MODULES}")));
    }
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        return Err(Unavailable(format!("a guest needs /dev/net/tun: {error}")));
    }
    Ok(())
}
