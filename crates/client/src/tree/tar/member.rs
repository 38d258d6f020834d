//! The pax records of POSIX: those of a member and the global ones of an archive.

use std::io::{self, Read};

use bytes::Bytes;
use tar::{Entry, PaxExtensions};

use super::sparse::Sparse;
use super::time;
use crate::attributes::Time;
use crate::error::{Error, Result};
use crate::tree::arrival::Meta;

/// The most bytes of all global records of an archive. Each member costs a copy of them.
const GLOBAL_BYTES_MAX: u64 = 64 << 10;

/// Keys and values of records, in the order of the archive.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<(String, Bytes)>);

impl Records {
    /// Returns the global records, then those of the member. A later record overrides an earlier one.
    pub(super) fn of(entry: &mut Entry<'_, impl Read>, global: &Self) -> io::Result<Self> {
        let mut records = Self(global.0.clone());
        if let Some(extensions) = entry.pax_extensions()? {
            records.add(extensions)?;
        }
        Ok(records)
    }

    /// Adds the records of a global header, which apply to all later members.
    pub(super) fn add_global(&mut self, entry: &mut Entry<'_, impl Read>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let used: usize = self.0.iter().map(|(key, value)| key.len() + value.len()).sum();
        let left = GLOBAL_BYTES_MAX.saturating_sub(used as u64);
        entry.take(left + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > left {
            return Err(malformed("the global records are longer than 64 KiB"));
        }
        let before = self.0.len();
        self.add(PaxExtensions::new(&bytes))?;
        let names_one =
            |key: &str| matches!(key, "path" | "linkpath" | "size") || key.starts_with("GNU.sparse.");
        match self.0[before..].iter().find(|(key, _)| names_one(key)) {
            Some((key, _)) => Err(malformed(&format!("`{key}` is set for all members"))),
            None => Ok(()),
        }
    }

    fn add(&mut self, extensions: PaxExtensions<'_>) -> io::Result<()> {
        for extension in extensions {
            let extension = extension?;
            let key = extension.key().map_err(|_| malformed("the key of a record is not UTF-8"))?;
            let value = extension.value_bytes();
            if changes_meaning(key, value) {
                return Err(malformed(&format!("the record `{key}` is not supported")));
            }
            self.0.push((key.to_owned(), Bytes::copy_from_slice(value)));
        }
        Ok(())
    }

    /// Returns mode, owner and times. A record overrides the header.
    pub(super) fn meta(&self, entry: &Entry<'_, impl Read>) -> io::Result<Meta> {
        let header = entry.header();
        let seconds = time::of_header(header).ok_or_else(|| malformed("its time is out of range"))?;
        let mut meta = Meta {
            mode: header.mode()?,
            uid: u32::try_from(header.uid()?).unwrap_or(u32::MAX),
            gid: u32::try_from(header.gid()?).unwrap_or(u32::MAX),
            accessed: None,
            modified: Time { seconds, nanoseconds: 0 },
        };
        for (key, value) in &self.0 {
            // An empty value cancels a global record.
            let Some(text) = std::str::from_utf8(value).ok().filter(|text| !text.is_empty()) else {
                continue;
            };
            let bad = || malformed(&format!("its record `{key}` is `{text}`"));
            match key.as_str() {
                "mtime" => meta.modified = time::parse(text).ok_or_else(bad)?,
                "atime" => meta.accessed = Some(time::parse(text).ok_or_else(bad)?),
                "uid" => meta.uid = text.parse().map_err(|_| bad())?,
                "gid" => meta.gid = text.parse().map_err(|_| bad())?,
                _ => {}
            }
        }
        Ok(meta)
    }

    /// Returns the records of a sparse file, or `None` for any other.
    pub(super) fn sparse(&self) -> Result<Option<Sparse>> {
        let of_sparse =
            self.0.iter().filter_map(|(key, value)| Some((key.strip_prefix("GNU.sparse.")?, value)));
        Sparse::parse(of_sparse).map_err(Error::Usage)
    }
}

/// Returns true for an unknown record that changes more than attributes: without it the member would have
/// another content or type. Vendor attributes are ignored, as by tar(1).
fn changes_meaning(key: &str, value: &[u8]) -> bool {
    const KNOWN: [&str; 12] = [
        "path", "linkpath", "size", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment",
        "charset",
    ];
    const SPARSE: [&str; 10] =
        ["size", "realsize", "numblocks", "offset", "numbytes", "map", "name", "major", "minor", "mtime"];
    if key == "hdrcharset" {
        return !matches!(value, b"ISO-IR 10646 2000 UTF-8" | b"BINARY");
    }
    if let Some(key) = key.strip_prefix("GNU.sparse.") {
        return !SPARSE.contains(&key);
    }
    // Members in several volumes, directories of incremental archives, and sparse files of star.
    if key.starts_with("GNU.") {
        return true;
    }
    if let Some(key) = key.strip_prefix("SCHILY.") {
        return matches!(key, "realsize" | "offset" | "filetype" | "tarfiletype") || key.starts_with("vol");
    }
    // POSIX reserves keywords without a dot; vendors use a prefix.
    !key.contains('.') && !KNOWN.contains(&key)
}

pub(super) fn malformed(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_records_that_change_a_member_are_refused() {
        for key in [
            "mtime",
            "SCHILY.xattr.user.a",
            "LIBARCHIVE.creationtime",
            "GNU.sparse.map",
            "RHT.security.selinux",
        ] {
            assert!(!changes_meaning(key, b"1"), "{key}");
        }
        for key in ["GNU.sparse.new", "GNU.volume.offset", "SCHILY.realsize", "encrypted", "hdrcharset"] {
            assert!(changes_meaning(key, b"1"), "{key}");
        }
        assert!(!changes_meaning("hdrcharset", b"BINARY"));
    }
}
