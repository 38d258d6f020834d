//! Another process, with a file of the mount open: it locks, appends, and has the file as memory. It is this
//! program once more, with one test that does what it is told.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use memmap2::MmapMut;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::sys;

/// What tells the process which file it is about.
const FILE: &str = "PRIMETIME_OTHER_PROCESS_FILE";
/// What it appends at a time.
pub const RECORD_BYTES: usize = 100;
/// Before each of its answers: the test harness writes lines of its own.
const MARK: &str = "answer: ";

/// A process that has a file open for reading and writing.
pub struct OtherProcess {
    child: Child,
    /// Closed when the process is to end by itself.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// A type of lock, and where: the first byte, and how many.
pub type Lock = (i32, i64, i64);

/// `F_SETLK`, or with `wait` `F_SETLKW`.
pub fn lock(file: &File, (kind, first, length): Lock, wait: bool) -> Result<(), Errno> {
    let lock = flock((kind, first, length));
    fcntl(file, if wait { FcntlArg::F_SETLKW(&lock) } else { FcntlArg::F_SETLK(&lock) }).map(drop)
}

/// `F_OFD_SETLK`: the lock belongs to the open file.
pub fn lock_open_file(file: &File, wanted: Lock) -> Result<(), Errno> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&flock(wanted))).map(drop)
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
        let (orders, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    /// Has it take or give up a lock: `Ok`, or the error.
    pub fn lock(&mut self, lock: Lock) -> Result<(), Errno> {
        self.begin(lock, false);
        self.end()
    }

    /// Has it take a lock that belongs to its open file (`F_OFD_SETLK`).
    pub fn lock_open_file(&mut self, (kind, first, length): Lock) -> Result<(), Errno> {
        writeln!(self.orders.as_mut().unwrap(), "lock-open-file {kind} {first} {length}").unwrap();
        self.end()
    }

    /// Has it wait for a lock; [`OtherProcess::end`] tells when it has it.
    pub fn begin_to_wait(&mut self, lock: Lock) {
        self.begin(lock, true);
    }

    fn begin(&mut self, (kind, first, length): Lock, wait: bool) {
        writeln!(self.orders.as_mut().unwrap(), "lock {kind} {first} {length} {}", i32::from(wait)).unwrap();
    }

    /// Has it append that many records of that letter, each under a lock of the whole file if it is to be
    /// `locked`; [`OtherProcess::end`] tells when they are there.
    pub fn begin_to_append(&mut self, records: usize, letter: u8, locked: bool) {
        writeln!(self.orders.as_mut().unwrap(), "append {records} {letter} {locked}").unwrap();
    }

    /// A byte of the file as it has it in memory.
    pub fn mapped(&mut self, place: usize) -> u8 {
        writeln!(self.orders.as_mut().unwrap(), "mapped {place}").unwrap();
        u8::try_from(self.answer()).unwrap()
    }

    /// Has it change a byte of the file in memory.
    pub fn set_mapped(&mut self, place: usize, value: u8) {
        writeln!(self.orders.as_mut().unwrap(), "map {place} {value}").unwrap();
        self.end().unwrap();
    }

    /// Has it end by itself, with its locks.
    pub fn exit(mut self) {
        self.orders = None;
        self.child.wait().unwrap();
    }

    /// The end of what it was told to do.
    pub fn end(&mut self) -> Result<(), Errno> {
        match self.answer() {
            0 => Ok(()),
            number => Err(Errno::from_raw(number)),
        }
    }

    fn answer(&mut self) -> i32 {
        let mut line = String::new();
        while self.answers.read_line(&mut line).unwrap() > 0 {
            if let Some((_, number)) = line.split_once(MARK) {
                return number.trim().parse().unwrap();
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
    let mut memory = None;
    for order in io::stdin().lines() {
        let order = order.unwrap();
        let words: Vec<&str> = order.split(' ').collect();
        let answer = match words[..] {
            ["lock", kind, first, length, wait] => {
                let wanted = (kind.parse().unwrap(), first.parse().unwrap(), length.parse().unwrap());
                lock(&file, wanted, wait == "1").err().map_or(0, |error| error as i32)
            }
            ["lock-open-file", kind, first, length] => {
                let wanted = (kind.parse().unwrap(), first.parse().unwrap(), length.parse().unwrap());
                lock_open_file(&file, wanted).err().map_or(0, |error| error as i32)
            }
            ["append", records, letter, locked] => {
                append(Path::new(&path), records.parse().unwrap(), letter.parse().unwrap(), locked == "true");
                0
            }
            ["mapped", place] => i32::from(in_memory(&mut memory, &file)[place.parse::<usize>().unwrap()]),
            ["map", place, value] => {
                in_memory(&mut memory, &file)[place.parse::<usize>().unwrap()] = value.parse().unwrap();
                0
            }
            _ => panic!("{order}"),
        };
        println!("{MARK}{answer}");
    }
}

/// The file as memory, from its first use on.
fn in_memory<'a>(memory: &'a mut Option<MmapMut>, file: &File) -> &'a mut MmapMut {
    memory.get_or_insert_with(|| sys::map_writable(file, file.metadata().unwrap().len() as usize))
}

fn append(path: &Path, records: usize, letter: u8, locked: bool) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    for _ in 0..records {
        if locked {
            lock(&file, (libc::F_WRLCK, 0, 0), true).unwrap();
        }
        file.write_all(&[letter; RECORD_BYTES]).unwrap();
        if locked {
            lock(&file, (libc::F_UNLCK, 0, 0), false).unwrap();
        }
    }
}
