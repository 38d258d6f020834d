//! The same calls on the mounted tree and on a local directory: what differs is listed here and argued in `docs/mount.md`.

use std::fmt::Write;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use client::Version;
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags};

use crate::fixture::{Fixture, in_both_versions};

in_both_versions! {
    every_call_ends_as_on_a_local_file_system
    random_calls_end_as_on_a_local_file_system
}

/// What a call came to: `ok` with what it tells, or the error's number.
fn told<T: std::fmt::Debug>(outcome: io::Result<T>) -> String {
    match outcome {
        Ok(value) => format!("{value:?}"),
        Err(error) => match error.raw_os_error() {
            Some(number) => format!("{:?}", rustix::io::Errno::from_raw_os_error(number)),
            None => format!("{:?}", error.kind()),
        },
    }
}

type Case = (&'static str, fn(&Path) -> String);

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    Ok(File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?))
}

/// Everything about an object that does not depend on when and where.
fn stat(path: &Path) -> io::Result<(u32, u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    // The length of a directory is the file system's own affair.
    let length = if metadata.is_dir() { 0 } else { metadata.len() };
    Ok((metadata.mode(), metadata.nlink() * u64::from(!metadata.is_dir()), length))
}

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

fn prepare(root: &Path) {
    fs::write(root.join("file"), "content").unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::create_dir(root.join("full")).unwrap();
    fs::write(root.join("full/file"), "x").unwrap();
    symlink("file", root.join("link")).unwrap();
    symlink("nothing", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("full", root.join("to-full")).unwrap();
    fs::hard_link(root.join("file"), root.join("second")).unwrap();
}

const LONG: usize = 256;

fn long() -> String {
    "n".repeat(LONG)
}

/// Calls of two names, each tried with every pair of objects.
const PAIRS: [&str; 10] = [
    "file",
    "second",
    "empty",
    "full",
    "link",
    "dangling",
    "missing",
    "missing/child",
    "file/child",
    "full/file",
];

const CASES: &[Case] = &[
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
    ("cutting a directory", |root| told(rustix_truncate(&root.join("empty"), 0))),
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
        moves(&root.join("file"), || rustix_truncate(&root.join("file"), 3).unwrap())
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
];

fn rustix_truncate(path: &Path, length: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

/// Each call on a fresh tree on both sides.
fn every_call_ends_as_on_a_local_file_system(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let local = tempfile::tempdir().unwrap();
    let mut differences = String::new();
    let mut count = 0;
    let mut compare = |name: &str, call: &dyn Fn(&Path) -> String| {
        let sides = [mounted.root(), local.path()].map(|side| {
            let root = side.join(format!("case {count}"));
            fs::create_dir(&root).unwrap();
            prepare(&root);
            call(&root)
        });
        if sides[0] != sides[1] {
            writeln!(differences, "{name}: {} and not {}", sides[0], sides[1]).unwrap();
        }
        count += 1;
    };
    for (name, call) in CASES {
        compare(name, call);
    }
    for from in PAIRS {
        for to in PAIRS {
            compare(&format!("rename {from} {to}"), &|root| {
                let renamed = told(fs::rename(root.join(from), root.join(to)));
                renamed + &told(stat(&root.join(from))) + &told(stat(&root.join(to)))
            });
            compare(&format!("link {from} {to}"), &|root| {
                let linked = told(fs::hard_link(root.join(from), root.join(to)));
                linked + &told(stat(&root.join(from))) + &told(stat(&root.join(to)))
            });
        }
    }
    assert_eq!(differences, "", "of {count} calls");
    assert!(count > 250);
}

/// A sequence of calls on few names, so that they meet each other's traces.
fn random_calls_end_as_on_a_local_file_system(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let local = tempfile::tempdir().unwrap();
    let names = ["a", "b", "c", "a/x", "b/x", "c/y", "a/x/z"];
    let mut seed = 0x5eed_u64;
    let mut random = move |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % end
    };
    for step in 0..1500 {
        let (what, one, two) = (random(11), names[random(names.len())], names[random(names.len())]);
        let number = random(5000);
        let [here, there] = [mounted.root(), local.path()].map(|root| {
            let (first, second) = (root.join(one), root.join(two));
            match what {
                0 => told(fs::create_dir(&first)),
                1 => told(fs::write(&first, number.to_string())),
                2 => told(fs::remove_file(&first)),
                3 => told(fs::remove_dir(&first)),
                4 => told(fs::rename(&first, &second)),
                5 => told(fs::hard_link(&first, &second)),
                6 => told(symlink(two, &first)),
                7 => told(rustix_truncate(&first, number as u64)),
                8 => told(fs::read(&first)),
                9 => {
                    told(open(&first, OFlags::WRONLY).and_then(|file| file.write_at(b"data", number as u64)))
                }
                _ => told(stat(&first)),
            }
        });
        assert_eq!(here, there, "step {step}: call {what} of {one} and {two}");
    }
}
