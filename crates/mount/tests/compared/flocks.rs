//! Locks of whole files, by two names of one file: on two mounts, or on one.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

pub fn exclude_each_other(one: &Path, two: &Path) {
    fs::write(one, "x").unwrap();
    let (first, second) = (open(one), open(two));
    flock(&first, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(flock(&second, FlockOperation::NonBlockingLockShared), Err(Errno::AGAIN));
    flock(&first, FlockOperation::Unlock).unwrap();
    flock(&second, FlockOperation::NonBlockingLockShared).unwrap();
    flock(&first, FlockOperation::NonBlockingLockShared).unwrap();
    assert_eq!(flock(&first, FlockOperation::NonBlockingLockExclusive), Err(Errno::AGAIN));
    let third = open(one);
    assert_eq!(
        flock(&third, FlockOperation::NonBlockingLockExclusive),
        Err(Errno::AGAIN),
        "another open file"
    );
}

pub fn show_what_was_written(one: &Path, two: &Path) {
    fs::write(one, "00000000").unwrap();
    let (first, second) = (open(one), open(two));
    let read = |file: &File| {
        let mut data = [0; 8];
        file.read_exact_at(&mut data, 0).unwrap();
        String::from_utf8(data.to_vec()).unwrap()
    };
    assert_eq!((read(&first), read(&second)), ("00000000".into(), "00000000".into()));
    for round in 1..=10 {
        let (writer, reader) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
        let text = format!("{round:08}");
        flock(writer, FlockOperation::LockExclusive).unwrap();
        writer.write_all_at(text.as_bytes(), 0).unwrap();
        flock(writer, FlockOperation::Unlock).unwrap();
        flock(reader, FlockOperation::LockShared).unwrap();
        assert_eq!(read(reader), text);
        flock(reader, FlockOperation::Unlock).unwrap();
    }
}
