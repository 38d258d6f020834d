//! What a request takes of our server's instructions outside the kernel, counted by callgrind: a number that
//! another program on the machine does not change, to be compared from version to version.
//!
//! The server is one thread of a process of its own and has its files in memory: callgrind does not know the
//! calls by which directories are served. To see which functions the instructions are of:
//! `callgrind_annotate` on the files `instructions-*.callgrind` that are left in the directory for temporary
//! files.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::load::record_at;
use crate::ours::ready;
use crate::requests::{Ask, Requests, requests};
use crate::rows::KIB_4;
use crate::target::Target;
use crate::world;

/// As rows are named.
pub const NAME: &str = "instructions";
const ASKS: [(&str, Ask); 5] = [
    ("GETATTR", Ask::GetAttr),
    ("LOOKUP", Ask::Lookup),
    ("READ of 4 KiB", Ask::Read { bytes: KIB_4 }),
    ("WRITE of 4 KiB, unstable", Ask::Write { bytes: KIB_4, stable: false }),
    ("CREATE, not synced", Ask::Create),
];
const IN_FLIGHT: [usize; 2] = [1, 16];
/// Before anything is counted: what is made once is there then.
const WARM_UP: usize = 320;
const COUNTED: usize = 1600;

/// Prints a table, or why there is none.
pub fn measure() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("\nno instructions are counted: valgrind is not installed");
        return;
    }
    let server = Counted::start();
    println!(
        "\n| instructions of a request | in flight | NFSv3 | NFSv4.1 | NFSv4.1 ÷ NFSv3 \
         |\n|---|---|---|---|---|"
    );
    for (place, (name, ask)) in ASKS.into_iter().enumerate() {
        for in_flight in IN_FLIGHT {
            let [v3, v4] = [0, 1].map(|version| server.count(version, ask, (in_flight, place)));
            println!("| {name} | {in_flight} | {v3:.0} | {v4:.0} | {:.2} |", v4 / v3);
        }
    }
}

/// The argument that makes of this program the server that is counted.
pub const SERVE: &str = "serve-memory";

/// Serves files in memory until the process is killed.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(async {
        println!("ready nfs://{}/", world::serve().await);
        std::future::pending::<()>().await;
    });
}

/// Our server below callgrind.
struct Counted {
    child: Child,
    target: Target,
    folder: tempfile::TempDir,
}

impl Drop for Counted {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Counted {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--tool=callgrind", "--compress-strings=no"]);
        command.arg(format!("--callgrind-out-file={}", counts(folder.path()).display()));
        command.arg(std::env::current_exe().expect("this program")).arg(SERVE);
        let (child, address) = ready::start(&mut command);
        let target = Target::ours("primetime", address, &child);
        target.prepare();
        Self { child, target, folder }
    }

    fn count(&self, version: usize, ask: Ask, (in_flight, place): (usize, usize)) -> f64 {
        let target = &self.target;
        let folder =
            (ask == Ask::Create).then(|| target.new_folder(&format!("{version}-{in_flight}-{place}")));
        let mut requests = requests(target, version, folder.as_deref(), ask);
        let mut stream = requests.connect();
        rounds(&mut requests, &mut stream, (in_flight, WARM_UP));
        self.control("--zero");
        rounds(&mut requests, &mut stream, (in_flight, COUNTED));
        self.control("--dump");
        requests.finish(stream);
        let name = format!("instructions-{place}-{version}-{in_flight}.callgrind");
        self.instructions(&std::env::temp_dir().join(name)) as f64 / COUNTED as f64
    }

    fn control(&self, what: &str) {
        let done = Command::new("callgrind_control").args([what, &self.child.id().to_string()]).output();
        let done = done.expect("callgrind_control");
        assert!(done.status.success(), "callgrind_control: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Takes what was dumped, and leaves it in a file.
    fn instructions(&self, left: &Path) -> u64 {
        let mut total = 0;
        for entry in self.folder.path().read_dir().expect("folder").flatten() {
            let path = entry.path();
            // The file without a number is written at the server's end.
            if path != counts(self.folder.path()) && path.to_str().is_some_and(|name| name.contains(COUNTS)) {
                let text = std::fs::read_to_string(&path).expect("counts");
                let totals = text.lines().find_map(|line| line.strip_prefix("totals: "));
                total += totals.map_or(0, |number| number.trim().parse::<u64>().expect("a number"));
                // That may be another file system.
                std::fs::copy(&path, left).and_then(|_| std::fs::remove_file(&path)).expect("counts");
            }
        }
        total
    }
}

const COUNTS: &str = "counts.callgrind";

fn counts(folder: &Path) -> PathBuf {
    folder.join(COUNTS)
}

/// Sends so many requests, each `in_flight` in one piece when those before are answered.
fn rounds(requests: &mut Box<dyn Requests>, stream: &mut TcpStream, (in_flight, count): (usize, usize)) {
    let (mut out, mut input) = (Vec::new(), vec![0; 1 << 20]);
    for _ in 0..count / in_flight {
        out.clear();
        (0..in_flight).for_each(|lane| requests.append(lane, &mut out));
        stream.write_all(&out).expect("requests");
        let (mut filled, mut at, mut answered) = (0, 0, 0);
        while answered < in_flight {
            let read = stream.read(&mut input[filled..]).expect("replies");
            assert!(read > 0, "the server closed the connection");
            filled += read;
            while let Some(length) = record_at(&input[at..filled]).filter(|length| filled - at >= 4 + length)
            {
                requests.lane_of(&input[at + 4..filled]);
                at += 4 + length;
                answered += 1;
            }
        }
    }
}
