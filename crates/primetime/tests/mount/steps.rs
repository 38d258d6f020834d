//! The process that takes random steps in a mount, in several threads with files of their own. It starts no
//! processes, and knows nothing of the server but its directory.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, SeekFrom, copy_file_range, fallocate, seek};
use rustix::io::Errno;

use crate::random::Random;
use crate::subject::Subject;
use crate::sys;

/// What tells the process what to do: see [`Orders`].
pub const ORDERS: &str = "PRIMETIME_STEPS";
/// Before what it says: the test harness writes lines of its own.
pub const MARK: &str = "reached: ";

const THREADS: u64 = 3;
const FILES_PER_THREAD: usize = 2;
const FILE_BYTES_MAX: u64 = 512 << 10;
const WRITE_BYTES_MAX: usize = 96 << 10;

/// What the process is to do.
#[derive(Clone)]
pub struct Orders {
    pub mount: PathBuf,
    /// The server's directory.
    pub export: PathBuf,
    pub seed: u64,
    /// Of each thread.
    pub steps: usize,
    /// Files have holes, and space of their own.
    pub sparse: bool,
}

impl Orders {
    pub fn words(&self) -> String {
        let Self { mount, export, seed, steps, sparse } = self;
        format!("{}\n{}\n{seed}\n{steps}\n{sparse}", mount.display(), export.display())
    }

    fn parse(words: &str) -> Self {
        let words: Vec<&str> = words.split('\n').collect();
        let [mount, export, seed, steps, sparse] = words[..] else { panic!("{words:?}") };
        Self {
            mount: mount.into(),
            export: export.into(),
            seed: seed.parse().unwrap(),
            steps: steps.parse().unwrap(),
            sparse: sparse.parse().unwrap(),
        }
    }
}

/// The process. Where nobody gives orders it has nothing to do.
#[test]
fn takes_the_steps_it_is_told_to_take() {
    let Ok(words) = std::env::var(ORDERS) else { return };
    let orders = Orders::parse(&words);
    // All files are made before the first step is told, and the server killed: what became of a CREATE of
    // NFSv3 that was under way then, nobody knows.
    let walkers: Vec<_> = (0..THREADS).map(|number| Walker::new(&orders, number)).collect();
    std::thread::scope(|scope| {
        for walker in walkers {
            let orders = &orders;
            scope.spawn(move || walker.walk(orders));
        }
    });
}

/// One thread, and its files.
struct Walker {
    number: u64,
    random: Random,
    subjects: Vec<Subject>,
    sparse: bool,
}

impl Walker {
    fn new(orders: &Orders, number: u64) -> Self {
        let name = |file| format!("thread {number} file {file}");
        let subjects = (0..FILES_PER_THREAD)
            .map(|file| Subject::create(&orders.mount, &orders.export, &name(file)))
            .collect();
        let random = Random(orders.seed.wrapping_mul(THREADS).wrapping_add(number));
        Self { number, random, subjects, sparse: orders.sparse }
    }

    fn walk(mut self, orders: &Orders) {
        for step in 0..orders.steps {
            self.step(step);
            if self.number == 0 {
                let mut output = io::stdout().lock();
                writeln!(output, "{MARK}{step}").unwrap();
            }
        }
        for subject in &mut self.subjects {
            subject.begin("the end".into());
            subject.check();
            subject.reopen(false);
            subject.check();
            subject.check_server();
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end.max(1) as u64) as usize
    }

    /// A range that begins in the file or a little behind it.
    fn range(&mut self, index: usize) -> (usize, usize) {
        let length = self.subjects[index].expected.len();
        let offset = self.below((length + 10_000).min(FILE_BYTES_MAX as usize));
        let most = *self.random.pick(&[100, 5000, WRITE_BYTES_MAX, WRITE_BYTES_MAX]);
        (offset, 1 + self.below(most))
    }

    fn data(&mut self, length: usize) -> Vec<u8> {
        // Which write a byte is of shows in its value.
        let first = self.below(255) as u8;
        (0..length).map(|place| first.wrapping_add((place / 7) as u8) | 1).collect()
    }

    fn step(&mut self, step: usize) {
        let index = self.below(FILES_PER_THREAD);
        let file = self.below(2);
        match self.below(100) {
            0..28 => self.write(step, index, file),
            28..52 => self.read(step, index, file),
            52..60 => self.cut(step, index, file),
            60..66 => self.read_mapped(step, index, file),
            66..74 => self.write_mapped(step, index, file),
            74..80 => self.sync(step, index, file),
            80..86 => self.reopen(step, index),
            86..89 => self.allocate(step, index, file),
            89..92 => self.punch(step, index, file),
            92..95 => self.copy(step, index, file),
            95..98 => self.seek(step, index, file),
            _ => self.subjects[index].check(),
        }
    }

    fn write(&mut self, step: usize, index: usize, file: usize) {
        let (offset, length) = self.range(index);
        let data = self.data(length);
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: write {length} at {offset}"));
        subject.done(subject.file(file).write_all_at(&data, offset as u64));
        subject.write(offset, &data);
    }

    fn read(&mut self, step: usize, index: usize, file: usize) {
        let (offset, length) = self.range(index);
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: read {length} at {offset}"));
        let mut found = vec![0; length];
        let mut count = 0;
        while count < length {
            match subject.done(subject.file(file).read_at(&mut found[count..], (offset + count) as u64)) {
                0 => break,
                more => count += more,
            }
        }
        let there = subject.expected.len().saturating_sub(offset).min(length);
        subject.compare("read", offset, &found[..count]);
        subject.ends_at("read", offset + there, offset + count);
    }

    fn cut(&mut self, step: usize, index: usize, file: usize) {
        let length = self.below(FILE_BYTES_MAX as usize);
        let length =
            if self.below(3) == 0 { length } else { length.min(self.subjects[index].expected.len()) };
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: cut to {length}"));
        subject.done(subject.file(file).set_len(length as u64));
        subject.expected.resize(length, 0);
    }

    fn read_mapped(&mut self, step: usize, index: usize, file: usize) {
        let subject = &mut self.subjects[index];
        let length = subject.expected.len();
        if length == 0 {
            return;
        }
        subject.begin(format!("{step}: read mapped"));
        let mapping = sys::map_readable(subject.file(file), length);
        subject.compare("mapped", 0, &mapping);
    }

    fn write_mapped(&mut self, step: usize, index: usize, file: usize) {
        let (offset, length) = self.range(index);
        let there = self.subjects[index].expected.len();
        let length = length.min(there.saturating_sub(offset));
        if length == 0 {
            return;
        }
        let (data, flushed) = (self.data(length), self.below(2) == 0);
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: write mapped {length} at {offset}, flushed {flushed}"));
        let mut mapping = sys::map_writable(subject.file(file), there);
        mapping[offset..offset + length].copy_from_slice(&data);
        if flushed {
            subject.done(mapping.flush());
        }
        subject.write(offset, &data);
        subject.compare("mapped", 0, &mapping);
    }

    fn sync(&mut self, step: usize, index: usize, file: usize) {
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: sync"));
        subject.done(subject.file(file).sync_all());
        subject.check_server();
    }

    fn reopen(&mut self, step: usize, index: usize) {
        let truncate = self.below(4) == 0;
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: reopen, truncate {truncate}"));
        subject.reopen(truncate);
        subject.check();
        subject.check_server();
    }

    /// Files without space of their own and holes say so, and stay as they are.
    fn of_sparse_files(&self, index: usize, outcome: Result<(), Errno>) -> bool {
        match outcome {
            Err(Errno::OPNOTSUPP) if !self.sparse => false,
            outcome => {
                self.subjects[index].done(outcome.map_err(io::Error::from));
                true
            }
        }
    }

    fn allocate(&mut self, step: usize, index: usize, file: usize) {
        let (offset, length) = self.range(index);
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: allocate {length} at {offset}"));
        let flags = FallocateFlags::empty();
        let outcome = fallocate(subject.file(file), flags, offset as u64, length as u64);
        if self.of_sparse_files(index, outcome) {
            self.subjects[index].grow(offset + length);
        }
    }

    fn punch(&mut self, step: usize, index: usize, file: usize) {
        let (offset, length) = self.range(index);
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: punch {length} at {offset}"));
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let outcome = fallocate(subject.file(file), flags, offset as u64, length as u64);
        if self.of_sparse_files(index, outcome) {
            let expected = &mut self.subjects[index].expected;
            let end = (offset + length).min(expected.len());
            expected[offset.min(end)..end].fill(0);
        }
    }

    /// Copies from the thread's other file.
    fn copy(&mut self, step: usize, index: usize, file: usize) {
        let from = (index + 1) % FILES_PER_THREAD;
        let (from_offset, length) = self.range(from);
        let (offset, _) = self.range(index);
        self.subjects[index].begin(format!("{step}: copy {length} from {from_offset} to {offset}"));
        self.subjects[from].begin(format!("{step}: is copied"));
        let (source, target) = (&self.subjects[from], &self.subjects[index]);
        let (mut read, mut written) = (from_offset as u64, offset as u64);
        let (source_fd, target_fd) = (source.file(file).as_fd(), target.file(file).as_fd());
        let copied = copy_file_range(source_fd, Some(&mut read), target_fd, Some(&mut written), length);
        let copied = target.done(copied.map_err(io::Error::from));
        let there = source.expected.len().saturating_sub(from_offset).min(length);
        assert!(copied <= there && (copied > 0 || there == 0), "{copied} of {there}");
        let data = source.expected[from_offset.min(source.expected.len())..][..copied].to_vec();
        if copied > 0 {
            self.subjects[index].write(offset, &data);
        }
    }

    /// Holes have no data.
    fn seek(&mut self, step: usize, index: usize, file: usize) {
        let offset = self.range(index).0;
        let subject = &mut self.subjects[index];
        subject.begin(format!("{step}: seek from {offset}"));
        let length = subject.expected.len();
        match seek(subject.file(file), SeekFrom::Data(offset as u64)) {
            Ok(data) => subject.compare("hole", offset, &vec![0; data as usize - offset]),
            Err(error) => {
                assert_eq!(error, Errno::NXIO);
                subject.compare("hole", offset, &vec![0; length.saturating_sub(offset)]);
            }
        }
        match seek(subject.file(file), SeekFrom::Hole(offset as u64)) {
            Ok(hole) => {
                let hole = hole as usize;
                assert!(hole >= offset && hole <= length, "hole at {hole}");
                assert!(hole == length || subject.expected[hole] == 0, "data at {hole}");
            }
            Err(error) => assert!(error == Errno::NXIO && offset >= length, "{error}, from {offset}"),
        }
    }
}
