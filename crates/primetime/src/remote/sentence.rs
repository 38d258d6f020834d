//! What went wrong, in one sentence: what was to be done, to what, the cause, and the mend if there is one.
//! Pure.

use std::fmt::Display;
use std::io::ErrorKind;

/// `doing` is a verb, as in "cannot read X: …".
pub(crate) fn sentence(doing: &str, what: impl Display, kind: ErrorKind, cause: impl Display) -> String {
    match mend(kind) {
        Some(mend) => format!("cannot {doing} {what}: {cause}; {mend}"),
        None => format!("cannot {doing} {what}: {cause}"),
    }
}

/// What helps against an error of this class, wherever it comes from.
fn mend(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "see what is there with `primetime ls`",
        ErrorKind::PermissionDenied => {
            "change its permissions, or name a user who may with ?uid=N&gid=N in the address"
        }
        ErrorKind::AlreadyExists => "choose another name, or remove what is there",
        ErrorKind::NotADirectory => "name a directory",
        ErrorKind::DirectoryNotEmpty => "give -r to remove what is in it too",
        ErrorKind::ReadOnlyFilesystem => "choose another file system",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room first",
        ErrorKind::NotConnected | ErrorKind::TimedOut => "see whether the server runs and can be reached",
        ErrorKind::StaleNetworkFileHandle => "somebody has removed it meanwhile; try again",
        ErrorKind::InvalidFilename => "choose a shorter name",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mend_is_told_where_there_is_one() {
        assert_eq!(
            sentence("read", "nfs://h/x", ErrorKind::NotFound, "no such file"),
            "cannot read nfs://h/x: no such file; see what is there with `primetime ls`"
        );
        assert_eq!(sentence("read", "x", ErrorKind::Other, "it broke"), "cannot read x: it broke");
    }
}
