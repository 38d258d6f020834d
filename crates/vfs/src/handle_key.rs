//! The key of the handles, kept in the state directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::seal::{KEY_BYTES, random};

/// The file in the state directory.
pub const KEY_FILE: &str = "handle.key";

/// The key in `state_dir`, made at the first start; a random one without a state directory.
pub(crate) fn handle_key(state_dir: Option<&Path>) -> io::Result<[u8; KEY_BYTES]> {
    let Some(dir) = state_dir else { return random() };
    let path = dir.join(KEY_FILE);
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(dir, &path)?;
            read(&path)
        }
        result => result,
    }
}

fn read(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut bytes = Vec::new();
    File::open(path)?.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.display()));
    bytes.try_into().map_err(wrong)
}

/// Makes the file whole or not at all; of two that try at once one wins.
fn make(dir: &Path, path: &Path) -> io::Result<()> {
    let temporary = dir.join(format!("{KEY_FILE}.{:016x}", u64::from_le_bytes(random()?)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let made = file.write_all(&random::<KEY_BYTES>()?).and_then(|()| file.sync_all()).and_then(|()| {
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    });
    fs::remove_file(&temporary)?;
    made?;
    File::open(dir)?.sync_all()
}
