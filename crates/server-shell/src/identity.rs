//! What tells this server from others, and this start from earlier ones.

use std::fs;
use std::io;
use std::path::Path;

use bytes::Bytes;

/// The file in the state directory that holds the server's identity.
pub(super) const FILE: &str = "server-identity";
const IDENTITY_BYTES: usize = 16;

/// The server's lasting name: kept in the state directory, or else new each time.
///
/// # Errors
/// When it can neither be read nor written.
pub(super) fn load(state_directory: Option<&Path>) -> io::Result<Bytes> {
    let Some(directory) = state_directory else { return Ok(fresh()) };
    let path = directory.join(FILE);
    match fs::read(&path) {
        Ok(bytes) if bytes.len() == IDENTITY_BYTES => Ok(bytes.into()),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let identity = fresh();
            fs::write(&path, &identity)?;
            fs::File::open(&path)?.sync_all()?;
            Ok(identity)
        }
        Err(error) => Err(error),
    }
}

/// A number that differs from that of earlier starts, for stateids and client ids.
pub(super) fn boot_number() -> u32 {
    let mut bytes = [0; 4];
    rand::fill(&mut bytes);
    u32::from_be_bytes(bytes)
}

fn fresh() -> Bytes {
    let mut bytes = [0; IDENTITY_BYTES];
    rand::fill(&mut bytes[..]);
    Bytes::copy_from_slice(&bytes)
}
