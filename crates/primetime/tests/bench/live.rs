//! The live view on a terminal: it comes, it goes on every way out, and it changes nothing of what is
//! measured.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use bench::results::{Cell, Results};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::leftovers::SCAN;
use crate::support::{Place, is_empty};

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const CLEAR: &str = "\x1b[2J";

const CREATE: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 20\n";

/// A terminal that the test looks at and types on.
struct Terminal {
    ours: File,
    theirs: OwnedFd,
    /// Everything that was written on it, and how much of it was looked at.
    written: Vec<u8>,
    looked_at: usize,
}

impl Terminal {
    fn new(columns: u16, rows: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        let mut terminal = Self { ours: ours.into(), theirs, written: Vec::new(), looked_at: 0 };
        terminal.resize(columns, rows);
        terminal
    }

    /// What is written from now on is what is looked at next.
    fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.ours, size).unwrap();
        self.looked_at = self.written.len();
    }

    /// Starts a command here; only what it prints at the end goes elsewhere.
    fn start(&self, mut command: Command) -> Child {
        let theirs = || Stdio::from(self.theirs.try_clone().unwrap());
        if command.get_envs().all(|(name, _)| name != "TERM") {
            command.env("TERM", "xterm");
        }
        command.stdin(theirs()).stderr(theirs()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn press(&mut self, key: u8) {
        self.ours.write_all(&[key]).unwrap();
    }

    /// Waits until this is written after what was looked at.
    fn wait_for(&mut self, word: &str) {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            assert!(Instant::now() < deadline, "{word:?} was not written");
            let new = String::from_utf8_lossy(&self.written[self.looked_at..]).into_owned();
            if new.contains(word) {
                self.looked_at = self.written.len();
                return;
            }
            self.read();
        }
    }

    /// Reads what was written, if anything was.
    fn read(&mut self) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let has_more = poll(&mut [PollFd::new(&self.ours, PollFlags::IN)], Some(&timeout)).unwrap() > 0;
        if has_more {
            let mut bytes = [0; 4096];
            let length = self.ours.read(&mut bytes).unwrap();
            self.written.extend(&bytes[..length]);
        }
        has_more
    }

    /// Waits for the end of what was started here. Gives how it ended, what it printed elsewhere, and all
    /// that was written here.
    fn end(mut self, child: Child) -> (Output, String) {
        // A terminal that nobody reads would be full some time.
        let ended = std::thread::spawn(|| child.wait_with_output().unwrap());
        while !ended.is_finished() {
            self.read();
        }
        while self.read() {}
        let modes = tcgetattr(&self.theirs).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
        (ended.join().unwrap(), String::from_utf8_lossy(&self.written).into_owned())
    }
}

/// What stands on the screen that was there before, after the view has gone.
fn after_the_view(written: &str) -> &str {
    let (before, view) = written.split_once(ENTER).expect("the view came");
    assert_eq!(before, "", "something was said before");
    let (_, after) = view.rsplit_once(LEAVE).expect("the view went");
    after
}

/// The requests of every run, by version.
fn requests(results: &Results) -> Vec<(&str, Vec<&BTreeMap<String, u64>>)> {
    fn of_cell(cell: &Cell) -> (&str, Vec<&BTreeMap<String, u64>>) {
        (&cell.setting.version, cell.run_details.iter().map(|run| &run.rpcs).collect())
    }
    results.cells.iter().map(of_cell).collect()
}

#[test]
fn the_view_changes_nothing_of_what_is_measured() {
    let place = Place::new();
    let experiment = place.experiment("create-few", "op/s", CREATE);
    let words = |out| {
        ["bench", "--experiment", &experiment, "--runs", "2", "--rtt-ms", "0", "--out", out]
            .map(str::to_owned)
    };
    let terminal = Terminal::new(80, 24);
    let live: Vec<String> = words("live").into_iter().chain(["--live".to_owned()]).collect();
    let child = terminal.start(place.command(&live.iter().map(String::as_str).collect::<Vec<_>>()));
    let (output, written) = terminal.end(child);
    assert_eq!(output.status.code(), Some(0), "{written}");
    assert_eq!(after_the_view(&written).replace("\x1b[?25h", ""), "", "something is left on the screen");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("create-few") && !printed.contains('\x1b'), "{printed}");

    let plain =
        place.command(&words("plain").iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    assert!(plain.status.success());
    let of = |out: &str| Results::load(&place.path(out).join("results.json")).unwrap();
    assert_eq!(requests(&of("live")), requests(&of("plain")));
    assert_eq!(of("live").environment.plan, of("plain").environment.plan);
}

/// A benchmark that takes long, as soon as its view shows that it works.
fn measuring(place: &Place) -> (Terminal, Child) {
    let experiment = place.experiment("scan", "MB/s", &SCAN.replace("0.2", "600"));
    let mut terminal = Terminal::new(80, 24);
    let child = terminal.start(place.command(&[
        "bench",
        "--experiment",
        &experiment,
        "--rtt-ms",
        "0",
        "--out",
        "out",
        "--live",
    ]));
    terminal.wait_for("▪");
    (terminal, child)
}

#[test]
fn keys_and_signals_stop_it_as_without_the_view_and_put_the_terminal_back() {
    enum Way {
        Key(u8),
        Signal(Signal),
    }
    let signals = [Signal::TERM, Signal::HUP, Signal::QUIT].map(Way::Signal);
    for way in [Way::Key(b'q'), Way::Key(0x03)].into_iter().chain(signals) {
        let place = Place::new();
        let (mut terminal, child) = measuring(&place);
        match way {
            Way::Key(key) => terminal.press(key),
            Way::Signal(signal) => {
                kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
            }
        }
        let (output, written) = terminal.end(child);
        assert_eq!(output.status.code(), Some(2), "{written}");
        assert!(after_the_view(&written).contains("stopped before the end"), "{written}");
        assert!(is_empty(&place.path("temporary")) && !place.path("out").exists());
    }
}

#[test]
fn the_view_follows_the_size_of_the_terminal() {
    let place = Place::new();
    let (mut terminal, child) = measuring(&place);
    // A smaller screen is cleared before it is drawn.
    for (columns, rows, drawn) in [(40, 10, CLEAR), (1, 1, CLEAR), (300, 100, "server"), (40, 10, CLEAR)] {
        terminal.resize(columns, rows);
        terminal.wait_for(drawn);
    }
    terminal.press(b'q');
    let (output, written) = terminal.end(child);
    assert_eq!(output.status.code(), Some(2), "{written}");
    assert!(!written.contains("panicked"), "{written}");
}

#[test]
fn a_terminal_that_goes_away_does_not_end_the_benchmark() {
    let place = Place::new();
    let experiment = place.experiment("scan", "MB/s", SCAN);
    let mut terminal = Terminal::new(80, 24);
    let words =
        ["bench", "--experiment", &experiment, "--rtt-ms", "0", "--runs", "2", "--out", "out", "--live"];
    let child = terminal.start(place.command(&words));
    terminal.wait_for(ENTER);
    drop(terminal);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(Results::load(&place.path("out").join("results.json")).unwrap().cells.len(), 2);
}

#[test]
fn without_a_terminal_it_says_so_and_goes_on_as_without() {
    let place = Place::new();
    let experiment = place.experiment("scan", "MB/s", SCAN);
    let words =
        ["bench", "--experiment", &experiment, "--rtt-ms", "0", "--runs", "1", "--out", "out", "--live"];
    let output = place.command(&words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("--live needs a terminal, and standard error is none"), "{said}");
    assert!(said.contains("[0/2] scan at 0 ms") && !said.contains('\x1b'), "{said}");

    let terminal = Terminal::new(80, 24);
    let mut command = place.command(&words);
    command.env("TERM", "dumb");
    let child = terminal.start(command);
    let (output, written) = terminal.end(child);
    assert!(output.status.success(), "{written}");
    assert!(
        written.contains("TERM names none that can be drawn on") && !written.contains(ENTER),
        "{written}"
    );
}
