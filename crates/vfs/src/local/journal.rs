//! What a name that is on the disk tells of the object behind it.
//!
//! Where changes reach the disk in the order in which they were made, it tells that the object is there, too,
//! as it was when it got the name: making it and naming it are one entry of a journal, or the name's comes
//! later. One `fsync` of the directory then stands for all that was made in it, and each new object saves its
//! own.

use std::fs;

use crate::DeviceNumber;

/// What `statfs` calls ext2, ext3 and ext4.
pub(super) const EXT4_MAGIC: i64 = 0xef53;
pub(super) const XFS_MAGIC: i64 = 0x5846_5342;
pub(super) const BTRFS_MAGIC: i64 = 0x9123_683e;

/// What comes to the disk with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The object as it was when it got the name.
    Kept,
    /// Everything on the file system, as nothing less is sure to put a change of names or attributes there.
    AllAtOnce,
    /// The object as it was when it got the name, if it is a symbolic link, a pipe, a socket or a device.
    OfBare,
    /// Nothing that is known of.
    Unknown,
}

impl Order {
    /// ext4 with a journal keeps it. XFS gives new objects inherited lists of access and labels by entries of
    /// their own, behind that of the name; btrfs has a log for each subvolume that leaves entries out.
    ///
    /// ext4 without a journal writes an inode only where it is marked as changed, and making an object,
    /// linking it and adding to a directory do not mark it: an `fsync` returns while they are nowhere but in
    /// memory. `syncfs(2)` writes all blocks that have changed.
    pub(super) fn of(magic: i64, device: DeviceNumber) -> Self {
        match magic {
            EXT4_MAGIC if has_journal(device) => Self::Kept,
            EXT4_MAGIC => Self::AllAtOnce,
            XFS_MAGIC | BTRFS_MAGIC => Self::OfBare,
            _ => Self::Unknown,
        }
    }

    /// True when an object needs nothing but its name on the disk.
    pub(super) fn brings(self, is_bare: bool, complete_at_naming: bool) -> bool {
        match self {
            Self::Kept => complete_at_naming,
            Self::AllAtOnce => true,
            Self::OfBare => complete_at_naming && is_bare,
            Self::Unknown => false,
        }
    }
}

fn has_journal(device: DeviceNumber) -> bool {
    block_device(device).is_some_and(|name| {
        let task = fs::read_to_string(format!("/sys/fs/ext4/{name}/journal_task"));
        task.is_ok_and(|task| is_a_journal(&task))
    })
}

/// The kernel's name of a block device, as `sda1`.
fn block_device(device: DeviceNumber) -> Option<String> {
    let DeviceNumber { major, minor } = device;
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

/// The file names the process that writes the journal, 0 where that is in another process namespace, or says
/// that there is none.
fn is_a_journal(task: &str) -> bool {
    task.trim().parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_told_by_the_process_that_writes_it() {
        assert!(is_a_journal("10929\n"));
        assert!(is_a_journal("0\n"));
        assert!(!is_a_journal("<none>\n"));
        assert!(!is_a_journal(""));
    }

    #[test]
    fn unknown_file_system_keeps_no_order() {
        assert_eq!(
            Order::of(EXT4_MAGIC, DeviceNumber { major: u32::MAX, minor: u32::MAX }),
            Order::AllAtOnce
        );
        assert_eq!(Order::of(XFS_MAGIC, DeviceNumber::default()), Order::OfBare);
        assert_eq!(Order::of(0x6969, DeviceNumber::default()), Order::Unknown);
    }

    #[test]
    fn a_name_brings_what_the_order_says() {
        let brings = |order: Order| {
            let all = [(false, true), (false, false), (true, true), (true, false)];
            all.map(|(is_bare, complete)| order.brings(is_bare, complete))
        };
        assert_eq!(brings(Order::Kept), [true, false, true, false]);
        assert_eq!(brings(Order::AllAtOnce), [true; 4]);
        assert_eq!(brings(Order::OfBare), [false, false, true, false]);
        assert_eq!(brings(Order::Unknown), [false; 4]);
    }
}
