//! Where a server keeps its state when nobody says where.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// The longest name of a directory.
const NAME_BYTES_MAX: usize = 255;

/// The place for the state of a server that exports `directory`: below `/var/lib/primetime` for the
/// superuser, else below `$XDG_STATE_HOME` or `~/.local/state`. The same directory always has the same place.
/// `None` where there is none: no home is known, or the path is too long to be a name.
pub fn default_state_directory(directory: &Path) -> Option<PathBuf> {
    let directory = directory.canonicalize().ok()?;
    let name = name_of(&directory)?;
    Some(base()?.join(name))
}

/// The place for the state of all servers of this user.
pub(super) fn base() -> Option<PathBuf> {
    if geteuid().is_root() {
        return Some(PathBuf::from("/var/lib/primetime"));
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("primetime"))
}

/// Where a service manager keeps what lives as long as the server.
pub(super) fn runtime_directory() -> Option<PathBuf> {
    if geteuid().is_root() {
        return Some(PathBuf::from("/run/primetime"));
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    runtime.map(|path| path.join("primetime"))
}

/// A path as one name: `/` becomes `-`, and what could be mistaken for it is escaped.
fn name_of(path: &Path) -> Option<String> {
    let text = path.to_str()?.trim_matches('/');
    let name = text.replace('%', "%25").replace('-', "%2D").replace('/', "-");
    let name = if name.is_empty() { "-".to_owned() } else { name };
    (name.len() <= NAME_BYTES_MAX).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_directories_have_different_names() {
        let names = ["/", "/a/b", "/a-b", "/a%2Db", "/a"].map(|path| name_of(Path::new(path)).unwrap());
        assert_eq!(names, ["-", "a-b", "a%2Db", "a%252Db", "a"]);
        assert_eq!(name_of(Path::new(&"/a".repeat(200))), None);
    }
}
