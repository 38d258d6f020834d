//! `/proc/diskstats`: the work of each block device since the machine started.
//!
//! Owns the parser and the choice of whole disks. Fields that a kernel does not write are `None`.

/// The most lines that are read.
const LINES_MAX: usize = 256;
/// Devices in memory, and devices whose requests are also counted by the disks behind them.
const VIRTUAL: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "sr"];
/// The unit of the counters of sectors, whatever the device's own sectors are.
const SECTOR_BYTES: u64 = 512;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) name: String,
    /// Writes that the device completed.
    pub(super) writes: u64,
    /// The bytes of these writes.
    pub(super) written_bytes: u64,
    /// Time with requests, in milliseconds.
    pub(super) busy_ms: u64,
    /// Flushes that the device completed; `None` before Linux 5.5. Partitions have none of their own.
    pub(super) flushes: Option<u64>,
}

/// Returns the devices of `text`. Lines that are too short are skipped.
pub(super) fn devices(text: &str) -> Vec<Device> {
    text.lines().take(LINES_MAX).filter_map(device).collect()
}

fn device(line: &str) -> Option<Device> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let count = |place: usize| words.get(place)?.parse::<u64>().ok();
    Some(Device {
        major: words.first()?.parse().ok()?,
        minor: words.get(1)?.parse().ok()?,
        name: (*words.get(2)?).to_owned(),
        writes: count(7)?,
        written_bytes: count(9)?.saturating_mul(SECTOR_BYTES),
        busy_ms: count(12)?,
        flushes: count(18),
    })
}

/// Returns the whole disks among `devices`: no partitions, and no virtual devices.
pub(super) fn whole_disks(devices: &[Device]) -> impl Iterator<Item = &Device> {
    devices.iter().filter(|device| !is_virtual(&device.name) && disk_of(devices, device).is_none())
}

/// Whether a device with this name is in memory, or its requests go to other devices.
pub(super) fn is_virtual(name: &str) -> bool {
    VIRTUAL.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the disk that `device` is a partition of; `None` for a disk.
pub(super) fn disk_of<'a>(devices: &'a [Device], device: &Device) -> Option<&'a Device> {
    devices.iter().find(|disk| is_partition(&disk.name, &device.name))
}

/// Whether `name` is a partition of `disk`, by the kernel's rule for names: `sda1`, `nvme0n1p1`.
fn is_partition(disk: &str, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk) else { return false };
    let ends_in_digit = disk.ends_with(|letter: char| letter.is_ascii_digit());
    let number = if ends_in_digit { rest.strip_prefix('p') } else { Some(rest) };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Of a Linux 6.1 machine with two disks, a partition, a loop device and memory.
    pub(in super::super) const TEXT: &str = "\
        7 0 loop0 1782 11 63346 252 54347 84858 1389814 23375 0 23292 42771 0 0 0 0 40113 19142\n\
        254 0 vda 3132092 197584 158862898 4230994 22645499 7345254 714269664 4566774 0 1137256 \
        9363808 1820985 282 733646104 227548 4788617 338490\n\
        254 1 vda1 3131001 197584 158862000 4230000 22645000 7345254 714260000 4566000 0 1137000 \
        9363000 1820985 282 733646104 227548 0 0\n\
        254 16 vdaa 10 0 20 30 40 0 50 60 0 70 80 0 0\n\
        259 0 nvme0n1 1 0 2 3 4 0 5 6 0 9 8\n\
        259 1 nvme0n1p1 1 0 2 3 4 0 5 6 0 9 8\n\
        253 0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
        broken line\n\
        ";

    #[test]
    fn counters_stand_in_their_columns() {
        let all = devices(TEXT);
        assert_eq!(all.len(), 7);
        let vda = Device {
            major: 254,
            minor: 0,
            name: "vda".to_owned(),
            writes: 22_645_499,
            written_bytes: 714_269_664 * 512,
            busy_ms: 1_137_256,
            flushes: Some(4_788_617),
        };
        assert_eq!(all[1], vda);
        assert_eq!(all[4].flushes, None, "the line of an old kernel has no flushes");
    }

    #[test]
    fn whole_disks_are_no_partitions_and_no_virtual_devices() {
        let all = devices(TEXT);
        let names: Vec<&str> = whole_disks(&all).map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["vda", "vdaa", "nvme0n1"]);
        assert_eq!(disk_of(&all, &all[2]).unwrap().name, "vda");
        assert_eq!(disk_of(&all, &all[5]).unwrap().name, "nvme0n1");
        assert_eq!(disk_of(&all, &all[1]), None);
    }
}
