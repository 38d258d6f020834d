//! Another process: locks of `fcntl` belong to processes. It is this program once more, with one test that does what it is told.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// What tells the process which file it is about.
const FILE: &str = "PRIMETIME_OTHER_PROCESS_FILE";
/// Before each of its answers: the test harness writes lines of its own.
const MARK: &str = "answer: ";

/// A process that has a file open for reading and writing.
pub struct OtherProcess {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A type of lock, and where: the first byte, and how many.
pub type Lock = (i32, i64, i64);

/// `F_SETLK`, or with `wait` `F_SETLKW`.
pub fn lock(file: &File, (kind, first, length): Lock, wait: bool) -> Result<(), Errno> {
    let lock = flock((kind, first, length));
    fcntl(file, if wait { FcntlArg::F_SETLKW(&lock) } else { FcntlArg::F_SETLK(&lock) }).map(drop)
}

/// `F_GETLK`: the lock that stands in the way, if any.
pub fn test(file: &File, wanted: Lock) -> Result<Option<Lock>, Errno> {
    let mut lock = flock(wanted);
    fcntl(file, FcntlArg::F_GETLK(&mut lock))?;
    let kind = i32::from(lock.l_type);
    Ok((kind != libc::F_UNLCK).then_some((kind, lock.l_start, lock.l_len)))
}

fn flock((kind, first, length): Lock) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: first,
        l_len: length,
        l_pid: 0,
    }
}

impl OtherProcess {
    pub fn start(path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_process::does_what_it_is_told", "--nocapture", "--test-threads=1"])
            .env(FILE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    /// Has it take or give up a lock: `Ok`, or the error.
    pub fn lock(&mut self, lock: Lock) -> Result<(), Errno> {
        self.begin(lock, false);
        self.end()
    }

    /// Has it wait for a lock; [`OtherProcess::end`] tells when it has it.
    pub fn begin_to_wait(&mut self, lock: Lock) {
        self.begin(lock, true);
    }

    fn begin(&mut self, (kind, first, length): Lock, wait: bool) {
        writeln!(self.orders, "lock {kind} {first} {length} {}", i32::from(wait)).unwrap();
    }

    /// The end of what it was told to do.
    pub fn end(&mut self) -> Result<(), Errno> {
        let mut line = String::new();
        while self.answers.read_line(&mut line).unwrap() > 0 {
            if let Some((_, number)) = line.split_once(MARK) {
                let number = number.trim().parse().unwrap();
                return if number == 0 { Ok(()) } else { Err(Errno::from_raw(number)) };
            }
            line.clear();
        }
        panic!("it has ended");
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other process. Where nobody gives orders it has nothing to do.
#[test]
fn does_what_it_is_told() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let words: Vec<&str> = order.split(' ').collect();
        let outcome = match words[..] {
            ["lock", kind, first, length, wait] => {
                let wanted = (kind.parse().unwrap(), first.parse().unwrap(), length.parse().unwrap());
                lock(&file, wanted, wait == "1")
            }
            _ => panic!("{order}"),
        };
        println!("{MARK}{}", outcome.err().map_or(0, |error| error as i32));
    }
}
