//! A process that has files of a mount as memory. It is another one than the mount's: one that maps a file
//! holds its address space locked while it waits for the mount, whose threads need theirs.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::sys;

/// Tells the process that it is to take orders.
const TAKES_ORDERS: &str = "PRIMETIME_MAPS_FILES";
/// Before each of its answers: the test harness writes lines of its own.
const MARK: &str = "answer: ";

/// A process that maps files.
pub struct Mapper {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Mapper {
    pub fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "mapped::maps_files", "--nocapture", "--test-threads=1"])
            .env(TAKES_ORDERS, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    /// Opens and maps the file, stores `word` into all of the range, and closes it.
    pub fn store(&mut self, path: &Path, range: &Range<u64>, word: u64) {
        writeln!(self.orders, "store {} {} {word} {}", range.start, range.end, path.display()).unwrap();
        self.answer();
    }

    /// Opens and maps the file, and returns the words at those places.
    pub fn load(&mut self, path: &Path, places: &[usize]) -> Vec<u64> {
        let places: Vec<String> = places.iter().map(usize::to_string).collect();
        writeln!(self.orders, "load {} {}", places.join(","), path.display()).unwrap();
        self.answer().split(',').map(|word| word.parse().unwrap()).collect()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        while self.answers.read_line(&mut line).unwrap() > 0 {
            if let Some((_, answer)) = line.split_once(MARK) {
                return answer.trim().to_owned();
            }
            line.clear();
        }
        panic!("it has ended");
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process that maps files. By itself it has nothing to do.
#[test]
fn maps_files() {
    if std::env::var_os(TAKES_ORDERS).is_none() {
        return;
    }
    for order in io::stdin().lines() {
        let order = order.unwrap();
        let answer = match order.splitn(5, ' ').collect::<Vec<_>>()[..] {
            ["store", start, end, word, path] => {
                let range = start.parse().unwrap()..end.parse().unwrap();
                store(Path::new(path), range, word.parse().unwrap());
                String::new()
            }
            ["load", places, path] => load(Path::new(path), places),
            _ => panic!("{order}"),
        };
        println!("{MARK}{answer}");
    }
}

fn store(path: &Path, range: Range<usize>, word: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut memory = sys::map_writable(&file, range.end);
    for place in memory[range].chunks_mut(size_of::<u64>()) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    memory.flush().unwrap();
    drop(memory);
    nix::unistd::close(file).unwrap();
}

fn load(path: &Path, places: &str) -> String {
    let places: Vec<usize> = places.split(',').map(|place| place.parse().unwrap()).collect();
    let file = File::open(path).unwrap();
    let end = places.iter().max().unwrap() + size_of::<u64>();
    let memory = sys::map_readable(&file, end);
    let word = |place: usize| u64::from_be_bytes(memory[place..place + size_of::<u64>()].try_into().unwrap());
    let words: Vec<String> = places.into_iter().map(|place| word(place).to_string()).collect();
    words.join(",")
}
