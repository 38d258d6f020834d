//! Two processes with one file, on one mount or on two.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::errno::Errno;
use nix::libc::{F_RDLCK, F_UNLCK, F_WRLCK};
use rustix::fs::OFlags;

use super::open;
use crate::other_process::{OtherProcess, RECORD_BYTES, lock, test};
use crate::sys;

/// Of a file that is mapped.
pub const LENGTH: usize = 3 * 4096 + 100;

/// That each process appends.
const RECORDS: usize = 200;

pub fn lock_each_other_out(ours: &Path, theirs: &Path) {
    fs::write(ours, "x").unwrap();
    let file = open(ours, OFlags::RDWR).unwrap();
    let mut other = OtherProcess::start(theirs);
    other.lock((F_WRLCK, 10, 10)).unwrap();
    for (wanted, granted) in [
        ((F_RDLCK, 0, 10), true),
        ((F_RDLCK, 19, 1), false),
        ((F_WRLCK, 0, 11), false),
        ((F_WRLCK, 20, 0), true),
    ] {
        let outcome = lock(&file, wanted, false);
        assert_eq!(outcome, if granted { Ok(()) } else { Err(Errno::EAGAIN) }, "{wanted:?}");
    }
    assert_eq!(test(&file, (F_WRLCK, 0, 15)), Ok(Some((F_WRLCK, 10, 10))));
    assert_eq!(test(&file, (F_WRLCK, 0, 10)), Ok(None));
    assert_eq!(other.lock((F_RDLCK, 1_000_000, 1)), Err(Errno::EAGAIN), "to the end of the file");
    // The middle goes, and both ends stay.
    other.lock((F_UNLCK, 13, 4)).unwrap();
    lock(&file, (F_WRLCK, 13, 4), false).unwrap();
    assert_eq!(lock(&file, (F_RDLCK, 12, 1), false), Err(Errno::EAGAIN));
    assert_eq!(lock(&file, (F_RDLCK, 17, 1), false), Err(Errno::EAGAIN));
    // Exclusive becomes shared.
    other.lock((F_RDLCK, 10, 3)).unwrap();
    lock(&file, (F_RDLCK, 10, 3), false).unwrap();
    assert_eq!(other.lock((F_WRLCK, 10, 3)), Err(Errno::EAGAIN));
}

/// Two processes append records, and each of them is there once.
pub fn append(one: &Path, two: &Path, seen_at: &Path, locked: bool) {
    File::create(one).unwrap();
    let mut processes = [OtherProcess::start(one), OtherProcess::start(two)];
    for (letter, process) in [b'a', b'b'].into_iter().zip(&mut processes) {
        process.begin_to_append(RECORDS, letter, locked);
    }
    processes.iter_mut().for_each(|process| process.end().unwrap());
    let data = fs::read(seen_at).unwrap();
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    for record in data.chunks(RECORD_BYTES) {
        assert!(record.iter().all(|byte| *byte == record[0]), "torn");
        *counts.entry(record[0]).or_default() += 1;
    }
    assert_eq!(counts, BTreeMap::from([(b'a', RECORDS), (b'b', RECORDS)]));
}

/// One file, mapped and written by two processes; `seen_at` is where others see it.
pub fn share_memory(path: &Path, seen_at: &Path) {
    fs::write(path, vec![0; LENGTH]).unwrap();
    let (file, mut other) = (open(path, OFlags::RDWR).unwrap(), OtherProcess::start(path));
    let mut mine = sys::map_writable(&file, LENGTH);
    mine[5000] = 11;
    assert_eq!(other.mapped(5000), 11);
    other.set_mapped(LENGTH - 1, 22);
    assert_eq!(mine[LENGTH - 1], 22);
    // Written and mapped, it is the same file.
    file.write_all_at(&[33], 100).unwrap();
    assert_eq!((mine[100], other.mapped(100)), (33, 33));
    let mut byte = [0];
    file.read_exact_at(&mut byte, 5000).unwrap();
    assert_eq!(byte, [11]);
    mine.flush().unwrap();
    let there = fs::read(seen_at).unwrap();
    assert_eq!((there[100], there[5000], there[LENGTH - 1]), (33, 11, 22), "what the other wrote, too");
}
