//! A realm of Kerberos with a KDC of its own (MIT), in a temporary directory.

use std::env;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// The name of the realm.
pub const REALM: &str = "PRIMETIME.TEST";

/// The programs that it takes, of the Debian packages krb5-kdc, krb5-admin-server and krb5-user.
const PROGRAMS: [&str; 4] = ["krb5kdc", "kdb5_util", "kadmin.local", "kinit"];
/// The encryption types of a realm, best first.
const ENCTYPES: [&str; 4] = [
    "aes256-cts-hmac-sha1-96",
    "aes128-cts-hmac-sha1-96",
    "aes256-cts-hmac-sha384-192",
    "aes128-cts-hmac-sha256-128",
];

/// Makes the command of a program, such as one in another network.
pub type MakeCommand<'a> = dyn Fn(&str) -> Command + 'a;

/// A realm, whose KDC runs until this is dropped.
pub struct Kdc<'a> {
    directory: TempDir,
    child: Child,
    make: Box<MakeCommand<'a>>,
}

/// The variable that tells a process in a realm what its test has told it.
const INSIDE: &str = "PRIMETIME_TEST_REALM";

/// What the test outside has told this process; `None` where it is in no realm.
pub fn told_inside() -> Option<String> {
    env::var(INSIDE).ok()
}

impl Kdc<'static> {
    /// Makes a realm and starts its KDC. `None` where the programs are not installed, which is a failure in
    /// CI.
    pub fn start() -> Option<Self> {
        Self::start_with(&ENCTYPES)
    }

    /// As [`Kdc::start`], for a realm with these encryption types only.
    pub fn start_with(enctypes: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::start_at(([127, 0, 0, 1], port).into(), enctypes, Box::new(|program| Command::new(program)))
    }
}

impl<'a> Kdc<'a> {
    /// Runs `test` of the same executable in another process, whose environment is the realm: the Kerberos
    /// library reads it once. It finds `told` by [`told_inside`], and must pass.
    pub fn run_inside(&self, test: &str, told: &str) {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).envs(self.environment()).env(INSIDE, told);
        let output = command.output().unwrap();
        let [said, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(output.status.success() && said.contains("1 passed"), "{test}: {said}{error}");
    }

    /// As [`Kdc::start_with`], for a KDC that listens at `address`. `make` makes the commands of programs.
    pub fn start_at(address: SocketAddr, enctypes: &[&str], make: Box<MakeCommand<'a>>) -> Option<Self> {
        let is_installed = |program: &str| {
            ["/usr/sbin", "/usr/bin"].iter().any(|place| Path::new(place).join(program).exists())
        };
        if !PROGRAMS.iter().all(|program| is_installed(program)) {
            let is_ci = env::var("CI").as_deref() == Ok("true");
            assert!(!is_ci, "there is no KDC (Debian packages krb5-kdc, krb5-admin-server and krb5-user)");
            eprintln!("skipped: there is no KDC");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        write_configuration(directory.path(), address, enctypes);
        run(command(directory.path(), &*make, "kdb5_util")
            .args(["create", "-s", "-r", REALM, "-P", "master"]));
        let child = start(directory.path(), &*make);
        let mut kdc = Self { directory, child, make };
        kdc.await_answer();
        Some(kdc)
    }

    /// Stops the KDC; tickets that were given stay good.
    pub fn stop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Starts it again.
    pub fn start_again(&mut self) {
        self.child = start(self.directory.path(), &*self.make);
        self.await_answer();
    }

    /// The environment of programs that are to be in the realm.
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        environment(self.directory.path())
    }

    /// Adds a principal, such as `ann` or `nfs/localhost`, whose keys go to a keytab of its own.
    pub fn add(&self, principal: &str) -> PathBuf {
        let keytab = self.directory.path().join(format!("{}.keytab", principal.replace('/', "_")));
        self.administrate(&format!("addprinc -randkey {principal}"));
        self.administrate(&format!("ktadd -k {} -norandkey {principal}", keytab.display()));
        keytab
    }

    /// Tickets of a principal, for `seconds`, by the keys in its keytab: the name of a credential cache.
    pub fn tickets(&self, principal: &str, keytab: &Path, seconds: u32) -> PathBuf {
        let cache = self.directory.path().join(format!("{}.cache", principal.replace('/', "_")));
        let lifetime = format!("{seconds}s");
        run(command(self.directory.path(), &*self.make, "kinit")
            .args(["-l", &lifetime, "-k", "-t"])
            .arg(keytab)
            .arg("-c")
            .arg(&cache)
            .arg(principal));
        cache
    }

    fn administrate(&self, query: &str) {
        run(command(self.directory.path(), &*self.make, "kadmin.local").args(["-r", REALM, "-q", query]));
    }

    fn await_answer(&mut self) {
        let log = self.directory.path().join("kdc.log");
        let told = || fs::read_to_string(&log).unwrap();
        while !told().contains("starting") {
            let ended = self.child.try_wait().unwrap();
            assert_eq!(ended, None, "{}", told());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Kdc<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn write_configuration(directory: &Path, address: SocketAddr, enctypes: &[&str]) {
    let permitted = enctypes.join(" ");
    let supported: Vec<String> = enctypes.iter().map(|enctype| format!("{enctype}:normal")).collect();
    let (supported, master) = (supported.join(" "), enctypes[0]);
    let client = format!(
        "[libdefaults]\n default_realm = {REALM}\n permitted_enctypes = {permitted}\n\
         dns_lookup_kdc = false\n dns_lookup_realm = false\n dns_canonicalize_hostname = false\n\
         rdns = false\n udp_preference_limit = 1\n[realms]\n {REALM} = {{\n kdc = {address}\n }}\n\
         [domain_realm]\n localhost = {REALM}\n"
    );
    let place = directory.display();
    let server = format!(
        "[kdcdefaults]\n kdc_listen = {address}\n kdc_tcp_listen = {address}\n[realms]\n {REALM} = {{\n\
         database_name = {place}/principal\n key_stash_file = {place}/stash\n acl_file = {place}/acl\n\
         supported_enctypes = {supported}\n master_key_type = {master}\n }}\n"
    );
    fs::write(directory.join("krb5.conf"), client).unwrap();
    fs::write(directory.join("kdc.conf"), server).unwrap();
}

fn environment(directory: &Path) -> [(&'static str, PathBuf); 2] {
    [("KRB5_CONFIG", directory.join("krb5.conf")), ("KRB5_KDC_PROFILE", directory.join("kdc.conf"))]
}

fn command(directory: &Path, make: &MakeCommand<'_>, program: &str) -> Command {
    let mut command = make(program);
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(env::split_paths(&path).chain(["/usr/sbin".into()])).unwrap();
    command.env("PATH", path).envs(environment(directory)).stdin(Stdio::null());
    command
}

fn start(directory: &Path, make: &MakeCommand<'_>) -> Child {
    let log = fs::File::create(directory.join("kdc.log")).unwrap();
    command(directory, make, "krb5kdc")
        .arg("-n")
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
