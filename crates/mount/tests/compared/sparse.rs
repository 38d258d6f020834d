//! Holes, reserved space and copies.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, SeekFrom, copy_file_range, fallocate, seek};
use rustix::io::Errno;

use super::pattern;

pub const BLOCK: u64 = 64 << 10;
pub const PUNCH: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

pub fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// What the calls come to, and what the file is then.
pub fn told(directory: &Path) -> Vec<String> {
    let mut told = Vec::new();
    let mut note = |outcome: &dyn std::fmt::Debug| told.push(format!("{outcome:?}"));
    let path = directory.join("file");
    let file = open(&path);
    note(&fallocate(&file, FallocateFlags::empty(), 0, BLOCK));
    note(&file.metadata().unwrap().len());
    note(&fallocate(&file, FallocateFlags::empty(), 100, 50));
    note(&file.metadata().unwrap().len());
    note(&fallocate(&file, FallocateFlags::empty(), 0, 0));
    file.write_all_at(&pattern(8 * BLOCK as usize), 0).unwrap();
    note(&fallocate(&file, PUNCH, 2 * BLOCK, 2 * BLOCK));
    note(&fallocate(&file, PUNCH, 7 * BLOCK, 100 * BLOCK));
    note(&file.metadata().unwrap().len());
    let mut expected = pattern(8 * BLOCK as usize);
    expected[2 * BLOCK as usize..4 * BLOCK as usize].fill(0);
    expected[7 * BLOCK as usize..].fill(0);
    note(&(fs::read(&path).unwrap() == expected));
    for place in [0, BLOCK, 2 * BLOCK, 3 * BLOCK, 4 * BLOCK, 7 * BLOCK, 8 * BLOCK - 1, 8 * BLOCK, 9 * BLOCK] {
        note(&seek(&file, SeekFrom::Data(place)));
        note(&seek(&file, SeekFrom::Hole(place)));
    }
    note(&copies(directory, &file, &expected));
    told
}

/// Copies to the beginning, to the middle and behind the end of another file, and what there is not.
pub fn copies(directory: &Path, file: &File, content: &[u8]) -> Vec<(Result<usize, Errno>, bool)> {
    let path = directory.join("copy");
    let target = open(&path);
    let mut expected = Vec::new();
    [(0, 0, 1000), (5000, 500, 3000), (1, 3 * BLOCK, BLOCK), (8 * BLOCK - 10, 0, 100), (9 * BLOCK, 0, 100)]
        .into_iter()
        .map(|(from, to, length)| {
            let (mut at, mut target_at) = (from, to);
            let copied = copy_file_range(file, Some(&mut at), &target, Some(&mut target_at), length as usize);
            let end = content.len().min((from + length) as usize);
            if let Some(data) = content.get(from as usize..end) {
                let to = to as usize;
                expected.resize(expected.len().max(to + data.len()), 0);
                expected[to..to + data.len()].copy_from_slice(data);
            }
            (copied, fs::read(&path).unwrap() == expected)
        })
        .collect()
}
