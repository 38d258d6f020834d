//! What benchmarks that were killed have left: directories on servers, servers of their own, and mounts.
//!
//! Owns the mark that every such directory bears: it is made first and removed last, so that a clean-up
//! that is interrupted leaves nothing that cannot be found. Nothing without it is touched but empty
//! directories, and nothing whose owner may still run, unless the user says that it does not.

mod owner;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::workload::{Access, Error, Mount, unmount};

pub(crate) use owner::{Life, Owner};

/// How the names of all directories of benchmarks begin.
pub(crate) const PREFIX: &str = "primetime-bench-";
/// The file that tells whose a directory is.
const MARK: &str = "owner.json";
/// The file that tells which process serves a directory of our own.
const SERVER: &str = "server.json";
/// Permission bits of the group and of everybody.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The most directories of one clean-up; what is beyond is for the next.
const SWEPT_MAX: usize = 10_000;
/// A mark is far shorter.
const MARK_BYTES_MAX: usize = 4096;

/// Marks `directory` as this process's.
pub(crate) async fn mark(mount: &Mount, directory: &str) -> Result<(), Error> {
    let Some(text) = own_mark() else { return Ok(()) };
    let file = mount.open(&format!("{directory}/{MARK}"), Access::Replace).await?;
    file.write(0, Bytes::from(text)).await?;
    file.close().await
}

/// Removes from the served directory what dead benchmarks have left there, and with `all` what others have
/// whose end is not certain. Gives a sentence for each that was found.
pub(crate) async fn sweep(mount: &Arc<Mount>, all: bool) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let listed = mount.list_named("/", PREFIX).await?.unwrap_or_default();
    for (name, _) in listed.into_iter().filter(|(_, is_directory)| *is_directory).take(SWEPT_MAX) {
        let path = format!("/{name}");
        let Some(owner) = owner_of(mount, &path).await else {
            notes.extend(sweep_unmarked(mount, &name, all).await);
            continue;
        };
        match owner.life() {
            Life::Alive => {}
            Life::Unknown if !all => notes.push(format!(
                "{path} was left by a benchmark on {}, or is still used by it; when that is over, --clean \
                 removes it.",
                owner.host
            )),
            Life::Dead | Life::Unknown => {
                remove(mount, &path).await?;
                notes.push(format!("Removed {path}, which a benchmark on {} has left.", owner.host));
            }
        }
    }
    Ok(notes)
}

/// Removes a directory on a server that bears a mark.
pub(crate) async fn remove(mount: &Arc<Mount>, directory: &str) -> Result<(), Error> {
    mount.remove_all(directory, Some(MARK)).await
}

/// Names a directory that has the name of a benchmark's and bears no mark; with `all` it is removed where
/// it is empty. A benchmark that was killed as it made the directory or removed it leaves it so.
async fn sweep_unmarked(mount: &Mount, name: &str, all: bool) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?;
    let (process, random) = rest.split_once('-')?;
    if process.parse::<u32>().is_err() || random.is_empty() {
        return None;
    }
    let path = format!("/{name}");
    if !all {
        return Some(format!(
            "{path} bears no mark: a benchmark was killed as it made or removed it, or is just making it. \
             When no benchmark runs, --clean \
             removes it where it is empty."
        ));
    }
    Some(match mount.remove_directory(&path).await {
        Ok(()) => format!("Removed {path}, which was empty and bore no mark."),
        Err(error) => {
            format!("{path} bears no mark and stays: {error}. Remove it by hand if a benchmark made it.")
        }
    })
}

/// Whose a directory on a server is; none when it bears no mark that can be read.
async fn owner_of(mount: &Mount, directory: &str) -> Option<Owner> {
    let file = mount.open(&format!("{directory}/{MARK}"), Access::Read).await.ok()?;
    let text = file.read(0, MARK_BYTES_MAX).await.ok();
    // It was only read; how closing it ends changes nothing.
    let _ = file.close().await;
    serde_json::from_slice(&text?).ok()
}

/// Marks a temporary directory as this process's.
pub(crate) fn mark_this_machine(directory: &Path) {
    write_mark(directory, MARK, own_mark());
}

/// The same with the server that this process started on it.
pub(crate) fn mark_own_server(directory: &Path, server: u32) {
    mark_this_machine(directory);
    write_mark(directory, SERVER, Owner::of(server).and_then(|server| text_of(&server)));
}

fn write_mark(directory: &Path, name: &str, text: Option<String>) {
    if let Some(text) = text {
        // Without a mark it is never taken for a leftover, which is all that is lost.
        let _ = std::fs::write(directory.join(name), text);
    }
}

/// Stops the servers of benchmarks that were killed, unmounts what they had mounted, and removes their
/// directories under `temporary`.
pub(crate) fn sweep_this_machine(temporary: &Path) {
    let Ok(entries) = std::fs::read_dir(temporary) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if !is_of_this_user(&path) || read(&path.join(MARK)).is_none_or(|owner| owner.life() != Life::Dead) {
            continue;
        }
        if let Some(server) = read(&path.join(SERVER)).filter(|server| server.life() == Life::Alive) {
            stop(&server);
        }
        // What is left of it is for the next time. Nothing may be removed through a mount.
        if unmount::all_below(&path) {
            empty(&path);
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// Removes everything in a temporary directory but its marks. Errors are left to the code that removes the
/// directory.
pub(crate) fn empty(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name() != MARK && entry.file_name() != SERVER) {
        let path = entry.path();
        let _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => std::fs::remove_dir_all(&path),
            _ => std::fs::remove_file(&path),
        };
    }
}

/// Whether nobody else can have put anything there: everybody may make directories beside it, and name
/// processes in them.
fn is_of_this_user(path: &Path) -> bool {
    let is_named_so = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    is_named_so
        && path.symlink_metadata().is_ok_and(|found| {
            found.is_dir()
                && found.uid() == rustix::process::geteuid().as_raw()
                && found.mode() & WRITABLE_BY_OTHERS == 0
        })
}

fn stop(server: &Owner) {
    if let Some(pid) = rustix::process::Pid::from_raw(server.pid.cast_signed()) {
        // It may be another user's, or have ended meanwhile.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn read(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn own_mark() -> Option<String> {
    text_of(&Owner::of(std::process::id())?)
}

fn text_of(owner: &Owner) -> Option<String> {
    serde_json::to_string(owner).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// As what it stands for is made, whatever the umask.
    fn make_private(path: &Path) {
        std::fs::create_dir(path).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    }

    #[test]
    fn only_directories_of_dead_benchmarks_are_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let make = |name: &str, owner: Option<&Owner>| {
            let path = temporary.path().join(name);
            make_private(&path);
            std::fs::create_dir(path.join("export")).unwrap();
            if let Some(owner) = owner {
                std::fs::write(path.join(MARK), text_of(owner).unwrap()).unwrap();
            }
            path
        };
        let own = Owner::of(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let dead = Owner::of(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let kept = [
            make("primetime-bench-alive", Some(&own)),
            make("primetime-bench-unmarked", None),
            make("other", Some(&dead)),
        ];
        let removed = make("primetime-bench-dead", Some(&dead));
        sweep_this_machine(temporary.path());
        assert!(kept.iter().all(|path| path.exists()));
        assert!(!removed.exists());
    }

    #[test]
    fn no_mark_is_believed_that_others_could_have_made() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("primetime-bench-planted");
        make_private(&path);
        let mut victim = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        mark_own_server(&path, victim.id());
        let own = own_mark().unwrap();
        std::fs::write(path.join(MARK), own.replace("\"started_ticks\":", "\"started_ticks\":9")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        sweep_this_machine(temporary.path());
        assert!(path.exists() && victim.try_wait().unwrap().is_none());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        sweep_this_machine(temporary.path());
        assert!(!path.exists() && !victim.wait().unwrap().success());
    }

    #[test]
    fn the_server_of_a_dead_benchmark_is_stopped() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("primetime-bench-dead");
        make_private(&path);
        let mut server = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        mark_own_server(&path, server.id());
        sweep_this_machine(temporary.path());
        assert!(
            path.exists() && server.try_wait().unwrap().is_none(),
            "its benchmark, this process, is alive"
        );
        let mut owner = std::process::Command::new("true").spawn().unwrap();
        let dead = Owner::of(owner.id()).map(|dead| text_of(&dead).unwrap());
        owner.wait().unwrap();
        // A process that ended before it could be looked at has another's number and a beginning of its own.
        let dead = dead.unwrap_or_else(|| {
            let own = own_mark().unwrap();
            own.replace("\"started_ticks\":", "\"started_ticks\":9")
        });
        std::fs::write(path.join(MARK), dead).unwrap();
        sweep_this_machine(temporary.path());
        assert!(!path.exists());
        assert!(!server.wait().unwrap().success());
    }
}
