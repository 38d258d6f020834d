//! A file system that can be frozen.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An ext4 file system in a file.
pub struct FrozenDisk {
    place: tempfile::TempDir,
}

impl FrozenDisk {
    /// Makes and mounts one; `None`, with the reason on standard error, where that is not possible.
    pub fn new() -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(128 << 20).unwrap();
        let disk = Self { place };
        std::fs::create_dir(disk.path()).unwrap();
        let made = run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
        let mounted = made.and_then(|()| run("mount", &["-o", "loop", image.to_str().unwrap(), disk.name()]));
        let freezes = mounted.and_then(|()| run("fsfreeze", &["--freeze", disk.name()]));
        match freezes.and_then(|()| run("fsfreeze", &["--unfreeze", disk.name()])) {
            Ok(()) => {
                open_to_all(&disk.path());
                Some(disk)
            }
            Err(reason) => {
                eprintln!(
                    "skipped: no file system can be frozen here (root and mkfs.ext4 are needed): {reason}"
                );
                None
            }
        }
    }

    pub fn path(&self) -> PathBuf {
        self.place.path().join("disk")
    }

    fn name(&self) -> &'static str {
        // Short-lived processes get it as text.
        Box::leak(self.path().to_str().unwrap().to_owned().into_boxed_str())
    }

    pub fn freeze(&self) {
        run("fsfreeze", &["--freeze", self.name()]).unwrap();
    }

    pub fn thaw(&self) {
        run("fsfreeze", &["--unfreeze", self.name()]).unwrap();
    }
}

impl Drop for FrozenDisk {
    fn drop(&mut self) {
        // A test that fails leaves it frozen.
        let _ = run("fsfreeze", &["--unfreeze", self.name()]);
        let _ = run("umount", &["--lazy", self.name()]);
    }
}

/// Lets every caller write in `path`.
pub fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
