//! A file of the mount, with what is to be in it.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How many of its last steps a file tells of when it is not as it should be.
const STEPS_TOLD: usize = 40;

pub struct Subject {
    path: PathBuf,
    /// The same file in the server's directory.
    at_server: PathBuf,
    /// It is open twice: the kernel and the server know two users of it.
    files: [File; 2],
    pub expected: Vec<u8>,
    steps: VecDeque<String>,
    /// Each step is told as it begins.
    told: bool,
}

impl Subject {
    pub fn create(mount: &Path, export: &Path, name: &str) -> Self {
        let path = mount.join(name);
        let files = [open(&path, true, false), open(&path, false, false)];
        let at_server = export.join(name);
        let told = std::env::var_os("PRIMETIME_TELL_STEPS").is_some();
        Self { path, at_server, files, expected: Vec::new(), steps: VecDeque::new(), told }
    }

    pub fn file(&self, number: usize) -> &File {
        &self.files[number]
    }

    /// Notes a step, before it is taken.
    pub fn begin(&mut self, step: String) {
        if self.steps.len() == STEPS_TOLD {
            self.steps.pop_front();
        }
        if self.told {
            eprintln!("{} {step}", self.path.display());
        }
        self.steps.push_back(step);
    }

    /// What the step makes of the file, where zeros fill a gap.
    pub fn write(&mut self, offset: usize, data: &[u8]) {
        self.grow(offset + data.len());
        self.expected[offset..offset + data.len()].copy_from_slice(data);
    }

    pub fn grow(&mut self, length: usize) {
        self.expected.resize(self.expected.len().max(length), 0);
    }

    /// Closes both and opens both again.
    pub fn reopen(&mut self, truncate: bool) {
        let two = open(&self.path, false, false);
        self.files = [open(&self.path, false, truncate), two];
        if truncate {
            self.expected.clear();
        }
    }

    /// What was read from `offset` on is what was written.
    pub fn compare(&self, what: &str, offset: usize, found: &[u8]) {
        let end = (offset + found.len()).min(self.expected.len());
        let expected = &self.expected[offset.min(end)..end];
        if found == expected {
            return;
        }
        let differs = found.iter().zip(expected).position(|(one, other)| one != other);
        let place = differs.unwrap_or(found.len().min(expected.len()));
        let wrong = found.iter().zip(expected).filter(|(one, other)| one != other).count();
        panic!(
            "{what} of {}: from byte {} on {:?} and not {:?}, {wrong} wrong bytes, {} of {} bytes from \
             {offset} on; {}",
            self.path.display(),
            offset + place,
            &found[place..found.len().min(place + 16)],
            &expected[place..expected.len().min(place + 16)],
            found.len(),
            expected.len(),
            self.last_steps(),
        );
    }

    /// The file ends where it should.
    pub fn ends_at(&self, what: &str, expected: usize, found: usize) {
        assert_eq!(found, expected, "{what} of {}; {}", self.path.display(), self.last_steps());
    }

    /// What a step came to, which must be good.
    pub fn done<T>(&self, outcome: std::io::Result<T>) -> T {
        outcome.unwrap_or_else(|error| panic!("{}: {error}; {}", self.path.display(), self.last_steps()))
    }

    fn last_steps(&self) -> String {
        let steps: Vec<&str> = self.steps.iter().map(String::as_str).collect();
        format!("its last steps:\n{}", steps.join("\n"))
    }

    /// The whole of it is right in the mount.
    pub fn check(&self) {
        let length = self.done(fs::metadata(&self.path)).len();
        self.ends_at("length", self.expected.len(), length as usize);
        let mut found = vec![0; self.expected.len() + 1];
        let count = self.done(self.files[0].read_at(&mut found, 0));
        self.compare("all", 0, &found[..count]);
        self.ends_at("all", self.expected.len(), count);
    }

    /// The whole of it is right at the server, which has been told everything.
    pub fn check_server(&self) {
        let found = fs::read(&self.at_server).unwrap();
        self.ends_at("at the server", self.expected.len(), found.len());
        self.compare("at the server, all", 0, &found);
    }
}

fn open(path: &Path, create: bool, truncate: bool) -> File {
    let options = OpenOptions::new().read(true).write(true).create_new(create).truncate(truncate).clone();
    options.open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
