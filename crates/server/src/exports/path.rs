//! Where exports sit in the server's name space.

use std::fmt;

use bytes::Bytes;
use vfs::{Error, Name, Result};

/// An absolute path without `.`, `..` and superfluous slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExportPath(Bytes);

impl ExportPath {
    /// The path of the root export.
    pub fn root() -> Self {
        Self(Bytes::from_static(b"/"))
    }

    /// Checks and normalises `path`: repeated and trailing slashes go.
    ///
    /// # Errors
    /// `Invalid` when it does not start with a slash; for its components as [`Name::new`].
    pub fn new(path: &[u8]) -> Result<Self> {
        if path.first() != Some(&b'/') {
            return Err(Error::Invalid);
        }
        Self::normal(path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()))
    }

    /// As [`ExportPath::new`], for a path as clients spell it in MNT: the slash in front may be missing, so
    /// the empty path is the root, and components may be `.`.
    ///
    /// # Errors
    /// For its components as [`Name::new`]; `..` is `InvalidName`.
    pub(crate) fn of_client(path: &[u8]) -> Result<Self> {
        let components = path.split(|byte| *byte == b'/');
        Self::normal(components.filter(|component| !matches!(*component, b"" | b".")))
    }

    fn normal<'p>(components: impl Iterator<Item = &'p [u8]>) -> Result<Self> {
        let mut normal = Vec::new();
        for component in components {
            normal.push(b'/');
            normal.extend_from_slice(Name::new(component)?.as_bytes());
        }
        if normal.is_empty() {
            normal.push(b'/');
        }
        Ok(Self(normal.into()))
    }

    /// The path's bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// The path's components from the top.
    pub fn components(&self) -> impl Iterator<Item = Name<'_>> {
        let components = self.0.split(|byte| *byte == b'/').filter(|component| !component.is_empty());
        components.map(|component| Name::new(component).expect("components were checked"))
    }

    /// Returns the number of components of `self` when `path` is `self` or lies below it, else `None`.
    pub fn depth_above(&self, path: &ExportPath) -> Option<usize> {
        let mut below = path.components();
        let mut depth = 0;
        for component in self.components() {
            if below.next() != Some(component) {
                return None;
            }
            depth += 1;
        }
        Some(depth)
    }
}

impl fmt::Display for ExportPath {
    /// Bytes that are no UTF-8 are replaced.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> ExportPath {
        ExportPath::new(path.as_bytes()).unwrap()
    }

    #[test]
    fn slashes_are_normalised() {
        for (given, normal) in [("/", "/"), ("//", "/"), ("/a//b/", "/a/b")] {
            assert_eq!(path(given).as_bytes(), normal.as_bytes());
        }
        assert_eq!(path("/"), ExportPath::root());
    }

    #[test]
    fn clients_leave_slashes_out_and_name_the_same_directory() {
        for (given, normal) in
            [("", "/"), (".", "/"), ("//", "/"), ("a", "/a"), ("a/./b/.", "/a/b"), ("/./a/", "/a")]
        {
            assert_eq!(ExportPath::of_client(given.as_bytes()).unwrap(), path(normal), "{given:?}");
        }
        for bad in ["..", "/a/..", "a\0"] {
            assert!(matches!(ExportPath::of_client(bad.as_bytes()), Err(Error::InvalidName)), "{bad:?}");
        }
        assert_eq!(ExportPath::of_client(b"\xff").unwrap().as_bytes(), &b"/\xff"[..]);
    }

    #[test]
    fn relative_paths_and_bad_components_are_refused() {
        for bad in ["", "a", "/a/../b", "/./a", "/a\0"] {
            assert!(ExportPath::new(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let long = [b"/".as_slice(), &[b'n'; 256]].concat();
        assert!(matches!(ExportPath::new(&long), Err(Error::NameTooLong)));
    }

    #[test]
    fn a_path_lies_below_whole_components_only() {
        assert_eq!(path("/").depth_above(&path("/a/b")), Some(0));
        assert_eq!(path("/a").depth_above(&path("/a/b")), Some(1));
        assert_eq!(path("/a").depth_above(&path("/a")), Some(1));
        assert_eq!(path("/a").depth_above(&path("/ab")), None);
        assert_eq!(path("/a/b").depth_above(&path("/a")), None);
    }
}
