//! Processes that wait for an answer of a mount, and those that end.

use std::fs;
use std::os::fd::RawFd;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// Until the process waits for an answer, and the mount has read what it asks for: the kernel takes back what
/// nobody has read when who asks is killed.
pub fn await_wait(child: &mut Child, patience: Duration) {
    let begun = Instant::now();
    let id = child.id();
    let holds = |file: &str, word: &str| {
        fs::read_to_string(format!("/proc/{id}/{file}")).is_ok_and(|text| text.contains(word))
    };
    while !holds("stack", "request_wait_answer") && !holds("wchan", "request_wait_answer") {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it does not wait, but has ended: {status}");
        }
        assert!(begun.elapsed() < patience, "it does not come to wait");
        std::thread::sleep(Duration::from_millis(1));
    }
    while any_request_unread() {
        assert!(begun.elapsed() < patience, "nobody reads what it asks for");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a request waits to be read by a mount of this process.
fn any_request_unread() -> bool {
    let process = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let numbers = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let of_mounts =
        numbers.filter(|path| fs::read_link(path).is_ok_and(|file| file == Path::new("/dev/fuse")));
    of_mounts.into_iter().any(|path| {
        let number: RawFd = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        // Another test may have closed it by now.
        let Ok(device) = pidfd_getfd(&process, number, PidfdGetfdFlags::empty()) else { return false };
        let mut polled = [PollFd::new(&device, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default())).unwrap();
        polled[0].revents().contains(PollFlags::IN)
    })
}

/// Until the process has ended. False when it does not.
pub fn await_end(child: &mut Child, patience: Duration) -> bool {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
