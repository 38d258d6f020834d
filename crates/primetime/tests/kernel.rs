//! The witness: a real Linux kernel mounts what `primetime serve` exports, with NFSv3 and NFSv4.1, and works on it.

#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use netlab::guest::{GuestOptions, GuestResult, Lab, mountstats};

const PORT: u16 = 2049;
/// Headers of the kernel's interface: every machine with a C compiler has them.
const SOURCE_TREE: &str = "/usr/include/linux";

struct Server {
    process: Child,
    directory: tempfile::TempDir,
    _state: tempfile::TempDir,
}

impl Server {
    fn start(lab: &Lab) -> Self {
        let (directory, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut process = lab
            .command(env!("CARGO_BIN_EXE_primetime"))
            .arg("serve")
            .arg(directory.path())
            .args(["--no-root-squash", "--listen", &format!("{}:{PORT}", lab.host_address())])
            .arg("--state-dir")
            .arg(state.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, format!("ready nfs://{}:{PORT}/\n", lab.host_address()));
        Self { process, directory, _state: state }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(lab: &Lab, version: &str, options: &str) -> GuestResult {
    let script = format!(
        "mkdir /mnt/n\n\
         mount -t nfs -o {options} $HOST:/ /mnt/n || exit 2\n\
         sh $EXCHANGE/workload.sh /mnt/n {version} {SOURCE_TREE} || exit 3\n\
         cat /proc/self/mountstats > $EXCHANGE/mountstats\n\
         umount /mnt/n || exit 4\n"
    );
    let options = GuestOptions {
        name: format!("witness-{}", version.replace('.', "-")),
        script,
        files: vec![("workload.sh".into(), include_bytes!("kernel/workload.sh").to_vec())],
        time_limit: Duration::from_secs(240),
        memory_mb: 512,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    result
}

#[test]
fn linux_works_over_nfsv3() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let options = format!("vers=3,nolock,proto=tcp,mountproto=tcp,port={PORT},mountport={PORT}");
    let result = run(&lab, "3", &options);
    let mounts = mountstats::parse(&result.read("mountstats").unwrap()).unwrap();
    assert!(mounts[0].requests("CREATE") >= 2000);
    assert!(mounts[0].requests("READDIRPLUS") > 0);
    assert_eq!(std::fs::read_dir(server.directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn linux_works_over_nfsv4_1_and_is_given_delegations() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let result = run(&lab, "4.1", &format!("vers=4.1,proto=tcp,port={PORT}"));
    let mounts = mountstats::parse(&result.read("mountstats").unwrap()).unwrap();
    assert_eq!(mounts[0].requests("CREATE_SESSION"), 1);
    assert!(mounts[0].requests("OPEN") >= 2000);
    // Delegations that were granted come back when their files are removed.
    assert!(mounts[0].requests("DELEGRETURN") > 0, "delegations were granted");
    assert_eq!(std::fs::read_dir(server.directory.path()).unwrap().count(), 0, "nothing is left behind");
}
