//! Between the types of the kernel and those of the client. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::{Attributes, FileType, SetTime, Time};
use fuser::{FileAttr, INodeNo, TimeOrNow};

/// The size of transfers that is recommended to programs, in bytes.
const BLOCK_BYTES: u32 = 1 << 20;
/// The unit of `st_blocks`, in bytes.
const SECTOR_BYTES: u64 = 512;

/// Attributes under the number by which the kernel knows the object.
pub(crate) fn attributes(number: u64, from: &Attributes) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: from.size,
        blocks: from.used.div_ceil(SECTOR_BYTES),
        atime: system_time(from.accessed),
        mtime: system_time(from.modified),
        ctime: system_time(from.changed),
        crtime: UNIX_EPOCH,
        kind: kind(from.kind),
        perm: (from.mode & 0o7777) as u16,
        nlink: from.links,
        uid: from.uid,
        gid: from.gid,
        rdev: device(from.device),
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}

pub(crate) fn kind(from: FileType) -> fuser::FileType {
    match from {
        FileType::Regular => fuser::FileType::RegularFile,
        FileType::Directory => fuser::FileType::Directory,
        FileType::Symlink => fuser::FileType::Symlink,
        FileType::Block => fuser::FileType::BlockDevice,
        FileType::Character => fuser::FileType::CharDevice,
        FileType::Fifo => fuser::FileType::NamedPipe,
        FileType::Socket => fuser::FileType::Socket,
    }
}

/// Device numbers as the kernel packs them into 32 bits.
fn device((major, minor): (u32, u32)) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// The reverse of [`device`].
pub(crate) fn device_numbers(packed: u32) -> (u32, u32) {
    ((packed >> 8) & 0xfff, (packed & 0xff) | ((packed >> 12) & 0xfff00))
}

fn system_time(from: Time) -> SystemTime {
    from.to_system_time().unwrap_or(UNIX_EPOCH)
}

pub(crate) fn set_time(from: TimeOrNow) -> SetTime {
    match from {
        TimeOrNow::Now => SetTime::Now,
        TimeOrNow::SpecificTime(time) => SetTime::To(time_since_1970(time)),
    }
}

/// The time that the kernel named. The FUSE library subtracts the nanoseconds of a time before 1970, which
/// the kernel adds (`system_time_from_time` in fuser 0.18).
fn time_since_1970(time: SystemTime) -> Time {
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Time { seconds: seconds(after), nanoseconds: after.subsec_nanos() },
        Err(error) => {
            let before = error.duration();
            Time { seconds: -seconds(before), nanoseconds: before.subsec_nanos() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_survive_packing() {
        for numbers in [(0, 0), (1, 3), (8, 255), (259, 1), (4095, 0xfffff), (5, 256)] {
            assert_eq!(device_numbers(device(numbers)), numbers);
        }
        assert_eq!(device((1, 3)), 0x103);
    }

    #[test]
    fn times_before_1970_are_those_that_the_kernel_named() {
        // As the library makes them of the kernel's seconds and nanoseconds.
        let of_library = |seconds: u64, nanoseconds| UNIX_EPOCH - Duration::new(seconds, nanoseconds);
        assert_eq!(
            time_since_1970(of_library(1, 250_000_000)),
            Time { seconds: -1, nanoseconds: 250_000_000 },
            "three quarters of a second before 1970"
        );
        assert_eq!(time_since_1970(of_library(86_400, 0)), Time { seconds: -86_400, nanoseconds: 0 });
        let after = Time { seconds: 1_700_000_000, nanoseconds: 999_999_999 };
        assert_eq!(time_since_1970(system_time(after)), after);
    }

    #[test]
    fn times_before_1970_count_nanoseconds_forwards() {
        let time = Time { seconds: -1, nanoseconds: 250_000_000 };
        assert_eq!(system_time(time), UNIX_EPOCH - Duration::from_millis(750));
    }
}
