//! Lets a guest's kernel run on a processor with more registers than it knows of.
//!
//! It saves and restores the registers of its processes through ptrace(2), in a buffer of the size that was
//! enough when it was built. The host gives it the first ones, but takes back all or none, so that on a newer
//! processor (one with AMX) the kernel would end with its first process. A library that stands before
//! ptrace(2) puts back what it has.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("registers.c");

const LIBRARY: &str = "registers.so";

/// Builds the library in `folder`, with the C compiler.
pub(super) fn build(folder: &Path) -> io::Result<()> {
    let source = folder.join("registers.c");
    fs::write(&source, SOURCE)?;
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&folder.join(LIBRARY), &source])
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("cc cannot build what guests need: {}", complaint.trim())))
}

/// The variable by which the dynamic linker puts the library in `folder` before others.
pub(super) fn preload(folder: &Path) -> OsString {
    let mut variable = OsString::from("LD_PRELOAD=");
    variable.push(folder.join(LIBRARY));
    variable
}
