//! Calls of which each is made on a fresh tree: what differs is listed here and argued in `docs/mount.md`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags};

use super::{open, stat, told, truncate};

pub(super) type Case = (&'static str, fn(&Path) -> String);

/// Which of the times (modified, changed) the call moves.
fn moves(path: &Path, call: impl FnOnce()) -> String {
    let times = |path: &Path| {
        let metadata = fs::symlink_metadata(path).unwrap();
        ((metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec()))
    };
    let before = times(path);
    // Until the clock of the file system has moved on, nothing shows.
    let probe = path.parent().unwrap().join("probe of the clock");
    loop {
        let _ = fs::remove_file(&probe);
        File::create(&probe).unwrap();
        if times(&probe).1 > before.1 {
            break;
        }
    }
    fs::remove_file(&probe).unwrap();
    let before = times(path);
    call();
    let after = times(path);
    format!("modified {} changed {}", before.0 != after.0, before.1 != after.1)
}

const LONG: usize = 256;

fn long() -> String {
    "n".repeat(LONG)
}

pub(super) const CASES: &[Case] = &[
    ("open a directory for writing", |root| told(open(&root.join("empty"), OFlags::WRONLY).map(drop))),
    ("open a directory to create", |root| {
        told(open(&root.join("empty"), OFlags::RDONLY | OFlags::CREATE).map(drop))
    }),
    ("create what exists", |root| {
        told(open(&root.join("file"), OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL).map(drop))
    }),
    ("create over a link that leads nowhere", |root| {
        told(open(&root.join("dangling"), OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL).map(drop))
    }),
    ("create through a link that leads nowhere", |root| {
        let opened = told(open(&root.join("dangling"), OFlags::WRONLY | OFlags::CREATE).map(drop));
        opened + &told(stat(&root.join("nothing")))
    }),
    ("open a link itself", |root| {
        told(open(&root.join("link"), OFlags::RDONLY | OFlags::NOFOLLOW).map(drop))
    }),
    ("open a file as a directory", |root| told(open(&root.join("file"), OFlags::DIRECTORY).map(drop))),
    ("open a loop", |root| told(open(&root.join("loop"), OFlags::RDONLY).map(drop))),
    ("open below a file", |root| told(open(&root.join("file/x"), OFlags::RDONLY).map(drop))),
    ("open below nothing", |root| told(open(&root.join("missing/x"), OFlags::RDONLY).map(drop))),
    ("a slash behind a file", |root| told(open(&root.join("file/"), OFlags::RDONLY).map(drop))),
    ("a name that is too long", |root| told(File::create(root.join(long())).map(drop))),
    ("looking for a name that is too long", |root| told(stat(&root.join(long())))),
    ("a directory with a name that is too long", |root| told(fs::create_dir(root.join(long())))),
    ("a link with a name that is too long", |root| told(symlink("x", root.join(long())))),
    ("renaming to a name that is too long", |root| told(fs::rename(root.join("file"), root.join(long())))),
    ("the longest name", |root| told(File::create(root.join("n".repeat(255))).map(drop))),
    ("an empty link", |root| told(symlink("", root.join("new")))),
    ("a long link", |root| {
        told(symlink("t/".repeat(500), root.join("new"))) + &told(fs::read_link(root.join("new")))
    }),
    ("reading a file as a link", |root| told(fs::read_link(root.join("file")))),
    ("making a directory twice", |root| told(fs::create_dir(root.join("empty")))),
    ("making a directory over a file", |root| told(fs::create_dir(root.join("file")))),
    ("making a directory over a link", |root| told(fs::create_dir(root.join("dangling")))),
    ("removing a file as a directory", |root| told(fs::remove_dir(root.join("file")))),
    ("removing a link as a directory", |root| told(fs::remove_dir(root.join("to-full")))),
    ("removing a directory that is not empty", |root| told(fs::remove_dir(root.join("full")))),
    ("removing a directory as a file", |root| told(fs::remove_file(root.join("empty")))),
    ("removing nothing", |root| told(fs::remove_file(root.join("missing")))),
    ("removing dot", |root| told(rustix::fs::rmdir(root.join("empty/.")).map_err(Into::into))),
    ("removing dot dot", |root| told(rustix::fs::rmdir(root.join("full/..")).map_err(Into::into))),
    ("moving a directory into itself", |root| told(fs::rename(root.join("full"), root.join("full/inside")))),
    ("moving a directory above itself", |root| {
        fs::create_dir(root.join("full/deep")).unwrap();
        told(fs::rename(root.join("full/deep"), root.join("full")))
    }),
    ("reading a directory", |root| {
        told(File::open(root.join("full")).and_then(|dir| dir.read_at(&mut [0; 9], 0)))
    }),
    ("reading what is only written", |root| {
        told(open(&root.join("file"), OFlags::WRONLY).and_then(|file| file.read_at(&mut [0; 9], 0)))
    }),
    ("writing what is only read", |root| {
        told(open(&root.join("file"), OFlags::RDONLY).and_then(|file| file.write_at(b"x", 0)))
    }),
    ("cutting what is only read", |root| {
        told(open(&root.join("file"), OFlags::RDONLY).and_then(|file| file.set_len(1)))
    }),
    ("cutting a directory", |root| told(truncate(&root.join("empty"), 0))),
    ("cutting on opening", |root| {
        told(open(&root.join("file"), OFlags::WRONLY | OFlags::TRUNC).map(drop))
            + &told(stat(&root.join("file")))
    }),
    ("reading behind the end", |root| {
        told(File::open(root.join("file")).and_then(|file| file.read_at(&mut [0; 9], 99)))
    }),
    ("writing behind the end", |root| {
        let file = open(&root.join("file"), OFlags::RDWR).unwrap();
        file.write_all_at(b"end", 20).unwrap();
        told(fs::read(root.join("file"))) + &told(stat(&root.join("file")))
    }),
    ("appending after somebody has appended", |root| {
        use io::Write as _;
        let mut one = OpenOptions::new().append(true).open(root.join("file")).unwrap();
        let mut two = OpenOptions::new().append(true).open(root.join("file")).unwrap();
        one.write_all(b"1").unwrap();
        two.write_all(b"2").unwrap();
        one.write_all(b"3").unwrap();
        told(fs::read(root.join("file")))
    }),
    ("a mode with every bit", |root| {
        fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o7777)).unwrap();
        told(stat(&root.join("file")))
    }),
    ("a mode of a new file", |root| {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o6751).open(root.join("new"));
        told(file.map(drop)) + &told(stat(&root.join("new")))
    }),
    ("a sticky directory", |root| {
        let made = rustix::fs::mkdir(root.join("new"), Mode::from_raw_mode(0o1777));
        told(made.map_err(Into::into)) + &told(stat(&root.join("new")))
    }),
    ("owners", |root| {
        std::os::unix::fs::chown(root.join("file"), Some(12), Some(34)).unwrap();
        let metadata = fs::metadata(root.join("second")).unwrap();
        format!("{} {}", metadata.uid(), metadata.gid())
    }),
    ("an owner takes set-id bits away", |root| {
        fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o6755)).unwrap();
        std::os::unix::fs::chown(root.join("file"), Some(12), Some(34)).unwrap();
        told(stat(&root.join("file")))
    }),
    ("a group that is inherited", |root| {
        std::os::unix::fs::chown(root.join("empty"), None, Some(77)).unwrap();
        fs::set_permissions(root.join("empty"), fs::Permissions::from_mode(0o2755)).unwrap();
        fs::create_dir(root.join("empty/below")).unwrap();
        File::create(root.join("empty/file")).unwrap();
        let below = fs::metadata(root.join("empty/below")).unwrap();
        format!("{} {:o} {}", below.gid(), below.mode(), fs::metadata(root.join("empty/file")).unwrap().gid())
    }),
    ("links are counted", |root| {
        fs::hard_link(root.join("file"), root.join("third")).unwrap();
        let three = stat(&root.join("second"));
        fs::remove_file(root.join("file")).unwrap();
        told(three) + &told(stat(&root.join("third")))
    }),
    ("directories are counted by their parents", |root| {
        let before = fs::metadata(root.join("full")).unwrap().nlink();
        fs::create_dir(root.join("full/a")).unwrap();
        fs::create_dir(root.join("full/b")).unwrap();
        let after = fs::metadata(root.join("full")).unwrap().nlink();
        fs::rename(root.join("full/a"), root.join("empty/a")).unwrap();
        format!("{} {}", after - before, fs::metadata(root.join("full")).unwrap().nlink() - before)
    }),
    ("space for a file", |root| {
        let file = open(&root.join("file"), OFlags::RDWR).unwrap();
        let done = rustix::fs::fallocate(&file, FallocateFlags::PUNCH_HOLE, 0, 5);
        told(done.map_err(Into::into))
    }),
    ("a rename that may not replace", |root| {
        let rename = |to: &str| {
            let flags = RenameFlags::NOREPLACE;
            told(
                rustix::fs::renameat_with(CWD, root.join("file"), CWD, root.join(to), flags)
                    .map_err(Into::into),
            )
        };
        rename("empty") + &rename("dangling") + &rename("full/file") + &rename("new")
    }),
    ("a link to a directory", |root| told(fs::hard_link(root.join("empty"), root.join("new")))),
    ("a link to a link", |root| {
        told(fs::hard_link(root.join("link"), root.join("new"))) + &told(stat(&root.join("new")))
    }),
    ("permission is asked for", |root| {
        let ask = |name: &str, access| {
            told(rustix::fs::accessat(CWD, root.join(name), access, AtFlags::empty()).map_err(Into::into))
        };
        use rustix::fs::Access;
        ask("file", Access::READ_OK)
            + &ask("file", Access::EXEC_OK)
            + &ask("empty", Access::EXEC_OK)
            + &ask("missing", Access::EXISTS)
    }),
    ("times when a file is written", |root| {
        let file = open(&root.join("file"), OFlags::WRONLY).unwrap();
        moves(&root.join("file"), || file.write_all_at(b"x", 0).unwrap())
    }),
    ("times when a file is read", |root| {
        moves(&root.join("file"), || drop(fs::read(root.join("file")).unwrap()))
    }),
    ("times when a mode is set", |root| {
        moves(&root.join("file"), || {
            fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o600)).unwrap();
        })
    }),
    ("times when a file is cut", |root| {
        moves(&root.join("file"), || truncate(&root.join("file"), 3).unwrap())
    }),
    ("times of a file that gets a name", |root| {
        moves(&root.join("file"), || fs::hard_link(root.join("file"), root.join("new")).unwrap())
    }),
    ("times of a directory that gets a name", |root| {
        moves(&root.join("empty"), || drop(File::create(root.join("empty/new")).unwrap()))
    }),
    ("times of a directory that loses a name", |root| {
        moves(&root.join("full"), || fs::remove_file(root.join("full/file")).unwrap())
    }),
    ("times of a directory that is not changed", |root| {
        moves(&root.join("full"), || fs::write(root.join("full/file"), "y").unwrap())
    }),
    ("times that are set", |root| {
        let time = |tv_sec, tv_nsec| rustix::time::Timespec { tv_sec, tv_nsec };
        let times = rustix::fs::Timestamps {
            last_access: time(1_000_000, 5),
            last_modification: time(2_000_000_000, 999_999_999),
        };
        let set = rustix::fs::utimensat(CWD, root.join("file"), &times, AtFlags::empty());
        let metadata = fs::metadata(root.join("second")).unwrap();
        let found = (metadata.atime(), metadata.atime_nsec(), metadata.mtime(), metadata.mtime_nsec());
        format!("{set:?} {found:?}")
    }),
    ("a file that is removed while it is open", |root| {
        let file = open(&root.join("full/file"), OFlags::RDWR).unwrap();
        fs::remove_file(root.join("full/file")).unwrap();
        file.write_all_at(b"written", 1).unwrap();
        let (mut data, links) = ([0; 20], file.metadata().unwrap().nlink());
        let read = told(file.read_at(&mut data, 0));
        format!("{} {links} {read} {data:?} {}", told(stat(&root.join("full/file"))), told(file.sync_all()))
    }),
    ("a file that is renamed over while it is open", |root| {
        let file = open(&root.join("full/file"), OFlags::RDWR).unwrap();
        let renamed = told(fs::rename(root.join("file"), root.join("full/file")));
        let (mut data, links) = ([0; 20], file.metadata().unwrap().nlink());
        let read = told(file.read_at(&mut data, 0));
        format!("{renamed} {links} {read} {data:?} {}", told(fs::read(root.join("full/file"))))
    }),
    ("a file that is renamed while it is open", |root| {
        let file = open(&root.join("file"), OFlags::RDWR).unwrap();
        fs::rename(root.join("file"), root.join("full/moved")).unwrap();
        file.write_all_at(b"written", 3).unwrap();
        drop(file);
        told(fs::read(root.join("full/moved"))) + &told(stat(&root.join("second")))
    }),
    ("a file that is mapped and shared", |root| {
        let file = open(&root.join("file"), OFlags::RDWR).unwrap();
        let mut memory = crate::sys::map_writable(&file, 7);
        memory[1] = b'X';
        file.write_all_at(b"Y", 2).unwrap();
        memory.flush().unwrap();
        let other = File::open(root.join("second")).unwrap();
        told(fs::read(root.join("file"))) + &format!("{:?}", &crate::sys::map_readable(&other, 7)[..])
    }),
];
