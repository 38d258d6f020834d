//! Opening an export: finds out what the process and the file system can do.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rustix::fs::{CWD, Mode, OFlags, StatFs, openat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::cache::{Cache, Closer};
use super::change::Changes;
use super::containment::Containment;
use super::health::Health;
use super::identity::{Acting, restore_thread_identity};
use super::in_place::InPlace;
use super::index::Index;
use super::journal::{BTRFS_MAGIC, EXT4_MAGIC, Order, XFS_MAGIC};
use super::object::{Descriptors, Object};
use super::persistent::{Persistent, Proof};
use super::pool::Pool;
use super::removed::Sweeps;
use super::sync::WholeSyncs;
use super::watch::Watcher;
use super::{Export, HandleMode, IdentityMode, LocalOptions, stat, sys, watchdog};
use crate::seal::{Seal, random};
use crate::{Capabilities, ChangeKind, Error, FileKind, Limits, Name, Result, Support};

const TMPFS_MAGIC: i64 = 0x0102_1994;
const FAT_MAGIC: i64 = 0x4d44;

/// The most descriptors that are kept open when nothing else is said.
const DESCRIPTORS_TARGET_MAX: usize = 1 << 18;
/// Descriptors that are left to the rest of the process, beside a quarter of all.
const DESCRIPTORS_RESERVED: usize = 32;
/// The fewest with which requests can be served.
const DESCRIPTORS_MIN: usize = 12;

pub(super) fn open(path: &Path, options: &LocalOptions) -> Result<Export> {
    restore_thread_identity()?;
    if !Path::new("/proc/self/fd").is_dir() {
        // Descriptors are opened again through it.
        return Err(Error::Io(std::io::Error::other("/proc is not mounted")));
    }
    let fd = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let fd = Arc::new(fd);
    let stat = stat::stat(fd.as_fd())?;
    let id = Persistent::of(&fd, &stat)?;
    let acting = acting(options.identities)?;
    let kernel_handles = kernel_handles(options.handles, fd.as_fd(), &id)?;

    let root_id = Seal::new([0; 16], options.name_space.into()).derive(id.payload().as_bytes());
    let seal = Seal::new(crate::handle_key(options.state_dir.as_deref()).map_err(Error::Io)?, root_id);

    let health = Health::of(stat::device(&stat));
    watchdog::start();
    let pool = Pool::new(options.threads_max, options.queue_max);
    let closer = Closer { health: Arc::clone(&health), pool: pool.handle() };
    let (open_target, open_max) = descriptor_bounds(options.descriptors_max);
    let cache = Cache::new(open_target, open_max, kernel_handles, closer);
    let descriptors = Descriptors { path: Some(fd.clone()), read: Some(fd.clone()), write: None };
    let (handle, object_id) = id.names(&seal);
    let device = stat::device(&stat);
    let kind = FileKind::Directory;
    let root = Arc::new(Object::new(id, handle, object_id, kind, device, descriptors, &cache.counts));
    cache.insert_held(&root);

    let creation = stat::birth_ns(&stat);
    let file_system = rustix::fs::fstatfs(&fd)?;
    let watcher = match options.watches_max {
        0 => None,
        max => Some(Watcher::new(&fd, max)),
    };
    let unwatched = watcher.as_ref().and_then(|watcher| watcher.as_ref().err().copied());
    let magic = file_system.f_type as i64;
    let fine = has_fine_times(magic) && creation.is_some();
    let order = Order::of(magic, device);
    // Their handles are understood, and their times are as fine as the kernel's clock.
    let glances = [EXT4_MAGIC, XFS_MAGIC, BTRFS_MAGIC, TMPFS_MAGIC].contains(&magic) && creation.is_some();
    Ok(Export {
        root,
        mount_id: stat.stx_mnt_id,
        fsid: root_id,
        seal,
        acting,
        cache,
        sweeps: Sweeps::default(),
        index: (!kernel_handles).then(|| Index::new(options.hints_max)),
        pool,
        health,
        in_place: InPlace::new(options.wait_in_place, options.threads_max),
        durability: options.durability,
        read_only: options.read_only,
        limits: limits(&file_system, creation.is_some()),
        capabilities: Capabilities {
            changes: !options.read_only,
            xattrs: has_xattrs(&fd),
            watch: matches!(watcher, Some(Ok(_))),
            records_creation: creation.is_some(),
            change: if fine { ChangeKind::Time } else { ChangeKind::Undefined },
            ..capabilities(magic)
        },
        umask: umask(),
        glances,
        all_in_memory: magic == TMPFS_MAGIC,
        order,
        whole_syncs: WholeSyncs::default(),
        changes: Changes::new(fine),
        verifier: AtomicU64::new(u64::from_ne_bytes(random().map_err(Error::Io)?)),
        renamed: AtomicU64::new(0),
        containment: Containment::default(),
        watcher: watcher.and_then(|watcher| watcher.ok()),
        unwatched,
    })
}

fn acting(mode: IdentityMode) -> Result<Acting> {
    let own = Acting::process_ids()?;
    match mode {
        IdentityMode::Process => Ok(Acting::Process(own)),
        IdentityMode::Auto => Ok(Acting::probe(own)),
        IdentityMode::Callers => match Acting::probe(own) {
            callers @ Acting::Callers(_) => Ok(callers),
            Acting::Process(_) => Err(Error::NotSupported),
        },
    }
}

/// Whether to use the kernel's handles, found out by opening that of the root.
fn kernel_handles(mode: HandleMode, root: BorrowedFd<'_>, id: &Persistent) -> Result<bool> {
    if mode == HandleMode::Index {
        return Ok(false);
    }
    let works = match &id.proof {
        Proof::Fid(fid) => sys::open_by_handle(root, fid).is_ok(),
        Proof::Birth(_) => false,
    };
    if works || mode == HandleMode::Auto { Ok(works) } else { Err(Error::NotSupported) }
}

/// How many descriptors the cache keeps, and how many there may be in all.
fn descriptor_bounds(wanted: Option<usize>) -> (usize, usize) {
    let allowed = raise_descriptor_limit();
    let max = (allowed - allowed / 4).saturating_sub(DESCRIPTORS_RESERVED).max(DESCRIPTORS_MIN);
    let target = wanted.unwrap_or_else(|| descriptor_target(max));
    (target.clamp(1, max), max)
}

/// How many of `max` descriptors are kept: the rest is for what is being opened while others are closed.
pub(super) fn descriptor_target(max: usize) -> usize {
    (max - max / 3).min(DESCRIPTORS_TARGET_MAX)
}

/// Raises the soft limit of open files to the hard one, and returns how many descriptors the process may
/// have.
pub fn raise_descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // Fails only where a sandbox forbids it, and then the soft limit counts.
    let raised =
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).is_ok();
    let allowed = if raised { limit.maximum } else { limit.current };
    allowed.map_or(usize::MAX, |allowed| usize::try_from(allowed).unwrap_or(usize::MAX))
}

/// What a file system can hold. Kernels tell processes only how long its names may be; the rest is known by
/// its kind.
fn limits(file_system: &StatFs, records_creation: bool) -> Limits {
    let magic = file_system.f_type;
    let (links_max, file_bytes_max) = match magic {
        // Blocks have numbers of 32 bits.
        EXT4_MAGIC => (65_000, u64::from(u32::MAX) * file_system.f_bsize as u64),
        XFS_MAGIC | TMPFS_MAGIC => (i32::MAX as u32, i64::MAX as u64),
        BTRFS_MAGIC => (65_535, i64::MAX as u64),
        FAT_MAGIC => (1, u32::MAX.into()),
        _ => (32_000, i64::MAX as u64),
    };
    let time_granularity_ns = match magic {
        // Inodes that are too small for nanoseconds.
        EXT4_MAGIC if !records_creation => 1_000_000_000,
        FAT_MAGIC => 2_000_000_000,
        _ => 1,
    };
    let name_bytes_max = u32::try_from(file_system.f_namelen).unwrap_or(u32::MAX);
    Limits {
        name_bytes_max: name_bytes_max.min(Name::MAX as u32),
        links_max,
        file_bytes_max,
        time_granularity_ns,
        chown_restricted: true,
    }
}

/// What a kind of file system can do.
fn capabilities(magic: i64) -> Capabilities {
    let has_inodes = magic != FAT_MAGIC;
    Capabilities {
        hard_links: has_inodes,
        symlinks: has_inodes,
        special_files: has_inodes,
        exclusive_create: true,
        // Kernels do not tell; and those that can clone do not tell in what pieces.
        holes: Support::Unknown,
        allocate: Support::Unknown,
        copy: Support::Unknown,
        clone: Support::Unknown,
        case_sensitive: has_inodes,
        ..Capabilities::default()
    }
}

/// True where the root, and so the rest of the file system, can have extended attributes.
fn has_xattrs(root: &OwnedFd) -> bool {
    let asked = rustix::fs::fgetxattr(root, c"user.primetime", &mut [0; 1]);
    !matches!(asked, Err(Errno::OPNOTSUPP | Errno::NOSYS))
}

/// True where a change of an object that was looked at always gets a new time (multigrain timestamps). Inodes
/// of ext4 that are too small for it hold no nanoseconds; those hold no creation either.
fn has_fine_times(magic: i64) -> bool {
    let release = rustix::system::uname();
    let mut parts = release.release().to_str().unwrap_or_default().split(|c: char| !c.is_ascii_digit());
    let mut number = || parts.next().and_then(|part| part.parse::<u32>().ok()).unwrap_or_default();
    let version = (number(), number());
    version >= (6, 13) && [EXT4_MAGIC, XFS_MAGIC, BTRFS_MAGIC, TMPFS_MAGIC].contains(&magic)
}

/// The umask of the process. Reading it by setting it would disturb other threads.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    // Unknown counts as everything: then every mode is compared and set.
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o777)
}
