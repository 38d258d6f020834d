//! Finds the directories that are exported, and their identities.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;

use super::export_store::ExportsError;
use super::probe::{self, Probes, is_hung};
use super::{ExportSpec, overlap};
use crate::back_ends::BackEnds;

/// The identity of a directory, which differs from that of another one at the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inode {
    device: (u32, u32),
    number: u64,
    /// Mounts that have ended and new ones may have the same device, and even the same number of their root.
    mount: u64,
}

/// The file system of an export.
#[derive(Debug, Clone)]
pub(super) struct ExportSource {
    /// The path of a directory without symbolic links; otherwise what its back end calls it.
    pub(super) directory: PathBuf,
    /// `None` where it is no directory of this host.
    pub(super) inode: Option<Inode>,
}

/// Finds the directories of `specs`, all at the same time, and waits for each until a common deadline. Other
/// file systems are found when they are opened.
pub(super) fn find_all(
    specs: &[ExportSpec],
    back_ends: &BackEnds,
    probes: &Probes,
) -> Vec<io::Result<ExportSource>> {
    let first = |directory: &Path| specs.iter().position(|spec| spec.directory == directory);
    let begin = |(index, spec): (usize, &ExportSpec)| {
        let directory = spec.directory.clone();
        let asks = first(&directory) == Some(index) && is_directory(spec, back_ends);
        asks.then(|| probes.begin(&spec.directory, move || find(&directory)))
    };
    let begun: Vec<_> = specs.iter().enumerate().map(begin).collect();
    let deadline = probe::deadline();
    let mut all: Vec<io::Result<ExportSource>> = Vec::with_capacity(specs.len());
    for (spec, call) in specs.iter().zip(begun) {
        let found = match call {
            Some(call) => call.wait(deadline).and_then(|found| found),
            None if !is_directory(spec, back_ends) => {
                Ok(ExportSource { directory: spec.directory.clone(), inode: None })
            }
            // Named twice, which is told when its place is known.
            None => match first(&spec.directory).and_then(|index| all.get(index)) {
                Some(Ok(found)) => Ok(found.clone()),
                Some(Err(error)) => Err(probe::same(error)),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        };
        all.push(found);
    }
    all
}

fn find(directory: &Path) -> io::Result<ExportSource> {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    let stat = statx(CWD, directory, AtFlags::empty(), wanted)?;
    let device = (stat.stx_dev_major, stat.stx_dev_minor);
    let inode = Inode { device, number: stat.stx_ino, mount: stat.stx_mnt_id };
    Ok(ExportSource { directory: directory.canonicalize()?, inode: Some(inode) })
}

/// True for an export whose back end opens directories of this host.
pub(super) fn is_directory(spec: &ExportSpec, back_ends: &BackEnds) -> bool {
    back_ends.find(&spec.back_end).is_some_and(|back_end| back_end.opens_directories())
}

/// True for the error of a file system whose server or device is gone, or that does not answer.
pub(super) fn is_dead(error: &io::Error) -> bool {
    let dead = [
        Errno::NOTCONN,
        Errno::STALE,
        Errno::IO,
        Errno::HOSTDOWN,
        Errno::HOSTUNREACH,
        Errno::TIMEDOUT,
        Errno::CONNABORTED,
        Errno::NODEV,
        Errno::NXIO,
    ];
    is_hung(error) || Errno::from_io_error(error).is_some_and(|error| dead.contains(&error))
}

/// Checks that no client could read the keys in the state directory. Exports that cannot be found are not
/// checked: they are refused, or checked when they are found.
///
/// # Errors
/// `StateExported`.
pub(crate) fn check_state_is_outside(
    (specs, back_ends): (&[ExportSpec], &BackEnds),
    state_directory: &Path,
    probes: &Probes,
) -> Result<(), ExportsError> {
    let found = find_all(specs, back_ends, probes);
    check_outside(found.iter().flatten(), state_directory)
}

/// See [`check_state_is_outside`].
pub(super) fn check_outside<'a>(
    exported: impl IntoIterator<Item = &'a ExportSource>,
    state_directory: &Path,
) -> Result<(), ExportsError> {
    let state = existing(state_directory);
    let mut directories = exported.into_iter().filter(|found| found.inode.is_some());
    match directories.any(|found| overlap::is_inside(&state, &found.directory)) {
        true => Err(ExportsError::StateExported { path: state_directory.to_owned() }),
        false => Ok(()),
    }
}

/// The part of a path that exists, without symbolic links.
fn existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok()).unwrap_or(absolute.clone())
}
