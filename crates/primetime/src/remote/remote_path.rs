//! Where something is: at a server or here. And paths at servers, which are bytes.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use client::Url;

use super::text::escaped;

/// The source or the target of a copy.
#[derive(Debug, Clone)]
pub(crate) enum CopyEnd {
    /// In the local file system.
    Local(PathBuf),
    /// At a server.
    Remote(Url),
}

impl CopyEnd {
    /// Everything that begins as an address is one; `./nfs://x` is a local file.
    pub(crate) fn parse(word: OsString) -> Result<Self, String> {
        match word.as_bytes().starts_with(b"nfs://") {
            true => word
                .to_str()
                .ok_or_else(|| not_text(&word))?
                .parse()
                .map(Self::Remote)
                .map_err(|error: client::UrlError| error.to_string()),
            false => Ok(Self::Local(word.into())),
        }
    }

    /// What is below it.
    pub(crate) fn below(&self, path: &[u8]) -> Self {
        match self {
            Self::Local(root) if path.is_empty() => Self::Local(root.clone()),
            Self::Local(root) => Self::Local(root.join(std::ffi::OsStr::from_bytes(path))),
            Self::Remote(url) => Self::Remote(below(url, path)),
        }
    }

    /// The last name of the path, if it ends with one.
    pub(crate) fn file_name(&self) -> Option<&[u8]> {
        match self {
            Self::Local(path) => file_name(path.as_os_str().as_bytes()),
            Self::Remote(url) => file_name(url.path()),
        }
    }
}

impl fmt::Display for CopyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => f.write_str(&escaped(path.as_os_str().as_bytes())),
            Self::Remote(url) => url.fmt(f),
        }
    }
}

/// An address on the command line.
pub(crate) fn url(word: &str) -> Result<Url, String> {
    word.parse().map_err(|error: client::UrlError| error.to_string())
}

/// The last name of a path; none for a root, `.` and `..`.
pub(crate) fn file_name(path: &[u8]) -> Option<&[u8]> {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let begin = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    Some(&path[begin..end]).filter(|name| !name.is_empty() && *name != b"." && *name != b"..")
}

/// The path of the directory that holds `name`, the last name of `path`.
pub(crate) fn above<'a>(path: &'a [u8], name: &[u8]) -> &'a [u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    &path[..end.saturating_sub(name.len())]
}

/// A path and what is below it.
pub(crate) fn join(path: &[u8], below: &[u8]) -> Vec<u8> {
    let mut joined = path.to_vec();
    if !below.is_empty() {
        if joined.last() != Some(&b'/') {
            joined.push(b'/');
        }
        joined.extend_from_slice(below);
    }
    joined
}

/// The address of what is below another one.
pub(crate) fn below(url: &Url, path: &[u8]) -> Url {
    url.with_path(join(url.path(), path))
}

fn not_text(word: &OsString) -> String {
    format!("`{}` is no address: write bytes beyond ASCII as %XX", escaped(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_without_slashes() {
        for (path, name) in [
            ("/a/b", Some("b")),
            ("/a/b//", Some("b")),
            ("a", Some("a")),
            ("/", None),
            ("", None),
            ("/a/.", None),
            ("..", None),
        ] {
            assert_eq!(file_name(path.as_bytes()), name.map(str::as_bytes), "{path}");
        }
    }

    #[test]
    fn path_below_keeps_the_url_options() {
        let url = url("nfs://h/a?version=3").unwrap();
        assert_eq!(below(&url, b"b c\xff").to_string(), "nfs://h/a/b%20c%FF?version=3");
        assert_eq!(below(&url.with_path("/"), b"b").to_string(), "nfs://h/b?version=3");
        assert_eq!(join(b"/a/", b""), b"/a/");
        assert_eq!(above(b"/a/b//", b"b"), b"/a/");
        assert_eq!(above(b"/a", b"a"), b"/");
    }

    #[test]
    fn addresses_and_local_paths_are_told_apart() {
        assert!(matches!(CopyEnd::parse("nfs://h/x".into()).unwrap(), CopyEnd::Remote(_)));
        assert!(matches!(CopyEnd::parse("./nfs://h/x".into()).unwrap(), CopyEnd::Local(_)));
        assert!(CopyEnd::parse("nfs://h/%zz".into()).is_err());
    }
}
