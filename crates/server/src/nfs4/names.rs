//! The rules for a component (RFC 8881 §14): which status a bad one gets.

use proto::nfs4::Status;
use vfs::Name;

/// Checks a component before it is given to a back end.
pub(crate) fn checked(bytes: &[u8]) -> Result<Name<'_>, Status> {
    if bytes.is_empty() {
        // RFC 8881 §18.13.4 and its likes: a zero-length name is NFS4ERR_INVAL.
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
            assert_eq!(checked(name).map(|_| ()), Err(status));
        }
        assert!(checked(b"ok").is_ok());
    }
}
