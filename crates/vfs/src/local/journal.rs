//! Whether changes of names and attributes reach the disk in the order in which they were made.
//!
//! Where they do, a new name that is on the disk tells that the object behind it is, as it was when it got the name: making it
//! and naming it are one entry of the journal, or the name's comes later. One `fsync` of the directory then stands for all that
//! was made in it, and each new object saves its own.

use std::fs;

/// What `statfs` calls ext2, ext3 and ext4.
pub(super) const EXT4_MAGIC: i64 = 0xef53;

/// True for ext4 with a journal. XFS gives new objects inherited lists of access and labels by entries of their own, behind that
/// of the name; btrfs has a log for each subvolume that leaves entries out; of others nothing is known.
pub(super) fn keeps_order(magic: i64, device: (u32, u32)) -> bool {
    magic == EXT4_MAGIC
        && block_device(device).is_some_and(|name| {
            let task = fs::read_to_string(format!("/sys/fs/ext4/{name}/journal_task"));
            task.is_ok_and(|task| is_a_journal(&task))
        })
}

/// The kernel's name of a block device, as `sda1`.
fn block_device((major, minor): (u32, u32)) -> Option<String> {
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

/// The file names the process that writes the journal, 0 where that is in another process namespace, or says that there is none.
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
    fn what_is_not_known_keeps_no_order() {
        assert!(!keeps_order(EXT4_MAGIC, (u32::MAX, u32::MAX)));
        assert!(!keeps_order(0x5846_5342, (0, 0)));
    }
}
