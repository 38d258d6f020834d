//! The rules for names in arguments (RFC 1813 §3.2).

use proto::nfs3::Status;
use vfs::{Error, Name};

/// Checks a name; `.` and `..` get the status that the procedure has for them.
///
/// The empty name and characters that no name can have are NFS3ERR_ACCES (RFC 1813 §3.2, items 1 and 5).
pub(super) fn checked(bytes: &[u8], dots: Status) -> Result<Name<'_>, Status> {
    Name::new(bytes).map_err(|error| match error {
        Error::NameTooLong => Status::NameTooLong,
        _ if matches!(bytes, b"." | b"..") => dots,
        _ => Status::AccessDenied,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_names_get_the_status_of_the_standard() {
        for (name, status) in [
            (&b""[..], Status::AccessDenied),
            (b"a/b", Status::AccessDenied),
            (b"a\0", Status::AccessDenied),
            (b".", Status::Exists),
            (b"..", Status::Exists),
            (&[b'n'; 256], Status::NameTooLong),
        ] {
            assert_eq!(checked(name, Status::Exists).unwrap_err(), status, "{name:?}");
        }
        assert_eq!(checked(b"...", Status::Exists).unwrap().as_bytes(), b"...");
    }
}
