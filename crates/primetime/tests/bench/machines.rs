//! Machines on one switch, made of namespaces: each has a network, a name, accounts and temporary files of
//! its own, and hosts have processes of their own and an sshd. One kernel, its processors and its clock are
//! what they share.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::support::{Place, Server, is_empty};

const PROGRAMS: [(&str, &str); 7] = [
    ("/usr/sbin/sshd", "openssh-server"),
    ("/usr/bin/ssh", "openssh-client"),
    ("/usr/bin/ssh-keygen", "openssh-client"),
    ("/usr/bin/ip", "iproute2"),
    ("/usr/bin/unshare", "util-linux"),
    ("/usr/bin/nsenter", "util-linux"),
    ("/usr/bin/hostname", "hostname"),
];
const HOSTS: [(&str, &str); 2] = [("node1", "10.77.0.11"), ("node2", "10.77.0.12")];
const SERVER: &str = "10.77.0.2";
/// Another name of `node2`, which nobody has seen the key of; one where somebody listens and says nothing;
/// and one that is nobody's.
const NAMES: &str = "10.77.0.11 node1\n10.77.0.12 node2 stranger\n10.77.0.2 silent\n10.77.0.99 \
                     nowhere\n127.0.0.1 localhost\n";
/// Each may do all that root may; on hosts each has its own programs on its way.
const ACCOUNTS: [&str; 5] = ["root", "bare", "older", "chatty", "closed"];
/// Of ssh at the desk: good for who works there, but a connection that stays, and a port that is taken twice,
/// are not for a benchmark.
const CONFIGURATION: &str = "ControlMaster auto\nControlPath ~/.ssh/%r@%h\nControlPersist yes\nLocalForward \
                             9000 localhost:9000\n\
                             ExitOnForwardFailure yes\nRemoteCommand uptime\n";
const APPEARS_WITHIN: Duration = Duration::from_secs(20);

/// One machine; it ends with its test, and all that runs on it with it.
pub(crate) struct Machine {
    first: Child,
    folder: PathBuf,
}

/// A desk that benchmarks are started at, a server, and hosts for clients.
pub(crate) struct Machines {
    pub(crate) desk: Machine,
    server: Machine,
    pub(crate) hosts: Vec<Machine>,
}

impl Machines {
    /// `None`, with the reason on standard error, where they cannot be had; on a machine of the continuous
    /// integration they must be.
    pub(crate) fn for_test(place: &Place) -> Option<Self> {
        if let Some(reason) = lack() {
            assert_ne!(
                std::env::var("CI").as_deref(),
                Ok("true"),
                "machines must be possible here: {reason}"
            );
            eprintln!("skipped: {reason}");
            return None;
        }
        fs::write(place.path("names"), NAMES).unwrap();
        let desk = Machine::start(place, "desk", false);
        desk.ip(&["link", "add", "switch", "type", "bridge"]);
        desk.ip(&["link", "set", "switch", "up"]);
        desk.ip(&["address", "add", "10.77.0.1/24", "dev", "switch"]);
        let server = Machine::start(place, "server", false);
        server.plug_into(&desk, SERVER);
        make_key(&desk.folder.join("home/.ssh/id_ed25519"));
        fs::write(desk.folder.join("home/.ssh/config"), CONFIGURATION).unwrap();
        let start = |(name, address): &(&str, &str)| {
            let mut host = Machine::start(place, name, true);
            host.plug_into(&desk, address);
            host.admit(name, &desk);
            host
        };
        let hosts: Vec<Machine> = HOSTS.iter().map(start).collect();
        hosts.iter().for_each(Machine::await_sshd);
        Some(Self { desk, server, hosts })
    }

    /// Starts `primetime serve` on `export` of the place, on the server.
    pub(crate) fn serve(&self, place: &Place) -> Server {
        let mut command = self.server.command(env!("CARGO_BIN_EXE_primetime"));
        let address = format!("{SERVER}:0");
        command
            .args(["serve", "--listen", &address, "--forget", "--no-root-squash"])
            .arg(place.path("export"));
        Server::start(command)
    }

    /// A socket of the server that takes connections and never says anything.
    pub(crate) fn listen_in_silence(&self) -> std::net::TcpListener {
        let network = File::open(self.server.namespace("net")).unwrap();
        netlab::inside(&network, || std::net::TcpListener::bind((SERVER, 22))).unwrap().unwrap()
    }

    /// Waits until no host runs anything for a benchmark any more, and looks for files.
    pub(crate) fn assert_nothing_is_left(&self) {
        for host in &self.hosts {
            await_that("everything has ended", || host.processes().is_empty());
            assert!(
                is_empty(&host.folder.join("tmp")) && is_empty(&host.folder.join("home")),
                "files are left"
            );
        }
        assert!(is_empty(&self.desk.folder.join("tmp")), "files are left where it was started");
    }
}

impl Machine {
    fn start(place: &Place, name: &str, is_host: bool) -> Self {
        let folder = place.path(name);
        for directory in ["home", "tmp"] {
            fs::create_dir_all(folder.join(directory)).unwrap();
        }
        let home = folder.join("home");
        let account = |name: &&str| format!("{name}:x:0:0::{}:/bin/bash\n", home.display());
        let sshd = "sshd:x:65534:65534::/run/sshd:/usr/sbin/nologin\n";
        fs::write(folder.join("passwd"), ACCOUNTS.iter().map(account).collect::<String>() + sshd).unwrap();
        let password = |name: &&str| format!("{name}:*:::::::\n");
        fs::write(folder.join("shadow"), ACCOUNTS.iter().map(password).collect::<String>()).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--net", "--uts", "--mount"]);
        if is_host {
            command.args(["--pid", "--fork", "--kill-child=KILL", "--mount-proc"]);
        }
        // It ends when its standard input does.
        command.args(["sh", "-ec", include_str!("machine.sh"), "machine.sh", name]).arg(&folder);
        let mut first = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(first.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "up\n", "{name}");
        Self { first, folder }
    }

    /// Gives it a network card that is plugged into the switch at the desk.
    fn plug_into(&self, desk: &Machine, address: &str) {
        let (port, card_in) = (address.replace('.', "-"), self.first.id().to_string());
        desk.ip(&["link", "add", &port, "type", "veth", "peer", "name", "card", "netns", &card_in]);
        desk.ip(&["link", "set", &port, "master", "switch", "up"]);
        self.ip(&["address", "add", &format!("{address}/24"), "dev", "card"]);
        self.ip(&["link", "set", "card", "up"]);
    }

    /// Has its sshd know who is at the desk, and who is at the desk know it.
    fn admit(&mut self, name: &str, desk: &Machine) {
        let (ssh, folder) = (desk.folder.join("home/.ssh"), self.folder.display());
        make_key(&self.folder.join("key"));
        let known = fs::read_to_string(ssh.join("known_hosts")).unwrap_or_default();
        let key = fs::read_to_string(self.folder.join("key.pub")).unwrap();
        fs::write(ssh.join("known_hosts"), format!("{known}{name} {key}")).unwrap();
        let mut text = format!(
            "AddressFamily inet\nHostKey {folder}/key\nPidFile none\nUsePAM no\nStrictModes no\nUseDNS no\n\
             AuthorizedKeysFile {}/id_ed25519.pub\n",
            ssh.display()
        );
        for account in ACCOUNTS {
            let programs = self.folder.join(format!("programs-of-{account}"));
            fs::create_dir(&programs).unwrap();
            text += &format!(
                "Match User {account}\n  SetEnv PATH={}:/usr/bin:/bin TMPDIR={folder}/tmp\n",
                programs.display()
            );
        }
        text += "  AuthorizedKeysFile none\n";
        let primetime = env!("CARGO_BIN_EXE_primetime");
        self.install("root", &format!("exec {primetime} \"$@\""));
        self.install("chatty", &format!("echo Welcome to {name}\nexec {primetime} \"$@\""));
        let hello = self.folder.join("hello-of-older");
        fs::write(&hello, hello_of_another_version()).unwrap();
        self.install("older", &format!("cat {}\ncat > /dev/null", hello.display()));
        fs::write(self.folder.join("sshd_config"), text).unwrap();
        self.first.stdin.as_mut().unwrap().write_all(b"sshd\n").unwrap();
    }

    /// Puts a `primetime` on the way of an account.
    fn install(&self, account: &str, script: &str) {
        let path = self.folder.join(format!("programs-of-{account}/primetime"));
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn await_sshd(&self) {
        let log = self.folder.join("sshd.log");
        await_that("sshd listens", || {
            fs::read_to_string(&log).is_ok_and(|said| said.contains("Server listening on"))
        });
    }

    /// A command on it, in its folder. What is started is that command itself, with no process in between.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        for (option, name) in [("net", "net"), ("uts", "uts"), ("mount", "mnt")] {
            command.arg(format!("--{option}={}", self.namespace(name).display()));
        }
        command.args(["--", "env", "--chdir"]).arg(&self.folder);
        command.arg(format!("TMPDIR={}", self.folder.join("tmp").display())).arg(program);
        command
    }

    /// What runs on it, but for what runs on a host without benchmarks.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let own = fs::read_link(self.namespace("net")).unwrap();
        let process = |entry: fs::DirEntry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let is_own = fs::read_link(entry.path().join("ns/net")).ok()? == own;
            let words = fs::read_to_string(entry.path().join("cmdline")).ok()?.replace('\0', " ");
            let is_always_there = words.contains("machine.sh") || words.contains("[listener]");
            // Who waits only to be waited for has no words any more.
            (is_own && !words.is_empty() && !is_always_there).then_some((pid, words))
        };
        fs::read_dir("/proc").unwrap().filter_map(|entry| process(entry.ok()?)).collect()
    }

    fn namespace(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.first.id().to_string()).join("ns").join(name)
    }

    fn ip(&self, arguments: &[&str]) {
        let output = self.command("ip").args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.first.stdin.take());
        let _ = self.first.wait();
    }
}

/// Why there can be no machines here.
fn lack() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("machines need root, for their namespaces".to_owned());
    }
    if let Some((program, package)) = PROGRAMS.iter().find(|(program, _)| !Path::new(program).exists()) {
        return Some(format!("machines need {program} (Debian package {package})"));
    }
    let tried =
        Command::new("unshare").args(["--net", "--uts", "--mount", "--pid", "--fork", "true"]).output();
    let output = tried.unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn make_key(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    assert!(made.unwrap().success());
}

/// The first message of an agent, with another version of the same length.
fn hello_of_another_version() -> Vec<u8> {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_primetime"));
    let mut hello = agent.args(["bench", "agent", "--stdio"]).stdin(Stdio::null()).output().unwrap().stdout;
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let at = hello.windows(version.len()).position(|bytes| bytes == version).unwrap();
    hello[at] = b'9';
    hello
}

/// Looks until it is so; that it never becomes so fails the test.
pub(crate) fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < APPEARS_WITHIN, "{what}: not within {APPEARS_WITHIN:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
