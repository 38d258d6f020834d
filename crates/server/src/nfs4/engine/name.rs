//! The rules for a component (RFC 8881 §14): which status a bad one gets.
//!
//! Names are bytes, as they are to Linux and its clients: one that is no UTF-8 is taken, kept and listed as
//! it is, and `fs_charset_cap` says so (§14.4). Nothing is normalised and case counts, so two names are one
//! only when their bytes are.

use proto::nfs4::Status;
use vfs::Name;

/// Checks a component before it is given to a back end.
pub(crate) fn checked_name(bytes: &[u8]) -> Result<Name<'_>, Status> {
    if bytes.is_empty() {
        // RFC 8881 §18.13.3 and its likes: a zero-length name is NFS4ERR_INVAL.
        return Err(Status::Invalid);
    }
    Name::new(bytes).map_err(|error| match error {
        vfs::Error::NameTooLong => Status::NameTooLong,
        _ if bytes.contains(&0) => Status::BadCharacter,
        _ => Status::BadName,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_components_get_the_status_of_the_standard() {
        for (name, status) in [
            (&b""[..], Status::Invalid),
            (b".", Status::BadName),
            (b"..", Status::BadName),
            (b"a/b", Status::BadName),
            (b"a\0b", Status::BadCharacter),
            (&[b'x'; 256], Status::NameTooLong),
        ] {
            assert_eq!(checked_name(name).map(|_| ()), Err(status));
        }
        for name in [&b"ok"[..], b"...", b"\xff\xfe", "\u{e9}".as_bytes(), b"a\\b", b" ", &[b'x'; 255]] {
            assert!(checked_name(name).is_ok(), "{name:?}");
        }
    }
}
