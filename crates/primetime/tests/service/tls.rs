//! Exports that accept protected connections only (RFC 9289): our client, and OpenSSL as a client of another
//! project.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use testkit::authority::{Authority, Issued};
use testkit::wire::{RawCall, record};

use crate::process::{Place, Process};

/// A server with three exports: one for all connections, one for TLS, one for clients with a certificate.
struct Protected {
    place: Place,
    authority: Authority,
    server: Process,
}

impl Protected {
    fn start() -> Self {
        let (place, authority) = (Place::new(), Authority::new());
        let Issued { certificate, key, .. } = authority.issue("localhost");
        let mut text = format!(
            "listen = \"127.0.0.1:0\"\nstate_dir = \"state\"\n[tls]\ncertificate = \
             {certificate:?}\nkey = {key:?}\nclient_authorities = {:?}\nclient_revocations = {:?}\n",
            authority.certificate(),
            authority.revoke(&[])
        );
        for (name, transports) in
            [("open", ""), ("tls", "xprtsec = [\"tls\", \"mtls\"]\n"), ("mutual", "xprtsec = [\"mtls\"]\n")]
        {
            fs::create_dir(place.path(name)).unwrap();
            fs::set_permissions(place.path(name), Permissions::from_mode(0o777)).unwrap();
            text += &format!(
                "[[export]]\npath = {:?}\npseudo = \"/{name}\"\nsquash = \"none\"\n{transports}",
                place.path(name)
            );
        }
        // Clients with the certificate of Ben are user 1234, and Ann has her own rights. Others have none.
        fs::create_dir(place.path("named")).unwrap();
        fs::set_permissions(place.path("named"), Permissions::from_mode(0o777)).unwrap();
        text += &format!(
            "[[export]]\npath = {:?}\npseudo = \"/named\"\nsquash = \"none\"\n\
             [[export.client]]\nhosts = [\"*\"]\ncertificates = [{{ dns = \"ben\" }}]\n\
             squash = \"all\"\nanonuid = 1234\nanongid = 1234\n\
             [[export.client]]\nhosts = [\"127.0.0.0/8\"]\ncertificates = [{{ dns = \"ann\" }}]\n",
            place.path("named")
        );
        fs::write(place.path("primetime.toml"), text).unwrap();
        let server = Process::start(&mut place.command_alone(&["--config", "primetime.toml"]));
        Self { place, authority, server }
    }

    /// Options of an address for TLS that trusts the server's authority.
    fn tls(&self) -> String {
        format!("xprtsec=tls&tls_ca={}", self.authority.certificate().display())
    }

    /// The same for a client with a certificate of `issuer`.
    fn mutual(&self, issuer: &Authority) -> String {
        self.shown(&issuer.issue("ann"))
    }

    /// The same with this certificate.
    fn shown(&self, issued: &Issued) -> String {
        let Issued { certificate, key, .. } = issued;
        let own = format!("tls_cert={}&tls_key={}", certificate.display(), key.display());
        format!("{}&{own}", self.tls()).replace("xprtsec=tls", "xprtsec=mtls")
    }

    /// Copies a file to an export.
    fn copy(&self, export: &str, options: &str) -> Output {
        fs::write(self.place.path("file"), options).unwrap();
        let url = format!("nfs://{}/{export}/file?{options}", self.server.address);
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("cp").arg("--force").arg(self.place.path("file")).arg(url);
        command.output().unwrap()
    }

    fn copies(&self, export: &str, options: &str) {
        let output = self.copy(export, options);
        assert!(output.status.success(), "{export} {options}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_to_string(self.place.path(export).join("file")).unwrap(), options);
    }

    /// Expects that the copy is refused with one sentence, which has `reason`.
    fn is_refused(&self, export: &str, options: &str, reason: &str) {
        let output = self.copy(export, options);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason), "{export} {options}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!self.place.path(export).join("file").exists(), "{export} {options}");
    }
}

#[test]
fn export_accepts_the_protections_that_its_rule_names() {
    let protected = Protected::start();
    let (tls, mutual) = (protected.tls(), protected.mutual(&protected.authority));
    for version in ["3", "4.1", "4.2"] {
        let with = |options: &str| format!("version={version}&{options}");
        protected.is_refused("tls", &with("xprtsec=none"), "");
        protected.is_refused("mutual", &with("xprtsec=none"), "");
        protected.is_refused("mutual", &with(&tls), "");
        for (export, options) in
            [("open", "xprtsec=none"), ("open", &tls), ("tls", &tls), ("tls", &mutual), ("mutual", &mutual)]
        {
            protected.copies(export, &with(options));
        }
        for export in ["tls", "mutual"] {
            fs::remove_file(protected.place.path(export).join("file")).unwrap();
        }
    }
}

#[test]
fn certificates_that_are_not_trusted_are_one_sentence() {
    let protected = Protected::start();
    let stranger = Authority::new();
    let tls = protected.tls();
    protected.is_refused("tls", &format!("{tls}&tls_name=elsewhere.example"), "certificate");
    let other = format!("xprtsec=tls&tls_ca={}", stranger.certificate().display());
    protected.is_refused("tls", &other, "certificate");
    protected.is_refused("mutual", &tls.replace("xprtsec=tls", "xprtsec=mtls"), "tls_cert");
    protected.is_refused("mutual", &protected.mutual(&stranger), "refuses our certificate");
}

#[test]
fn rules_for_certificates_choose_the_client_and_its_user() {
    let protected = Protected::start();
    let (ann, ben) = (protected.authority.issue("ann"), protected.authority.issue("ben"));
    let carl = protected.authority.issue("carl");
    let owner = || fs::metadata(protected.place.path("named").join("file")).unwrap().uid();
    for version in ["3", "4.1", "4.2"] {
        let with = |options: &str| format!("version={version}&{options}");
        protected.is_refused("named", &with(&protected.tls()), "");
        protected.is_refused("named", &with(&protected.shown(&carl)), "");
        protected.copies("named", &with(&protected.shown(&ann)));
        assert_eq!(owner(), 0);
        fs::remove_file(protected.place.path("named").join("file")).unwrap();
        protected.copies("named", &with(&protected.shown(&ben)));
        assert_eq!(owner(), 1234);
        fs::remove_file(protected.place.path("named").join("file")).unwrap();
    }
}

#[test]
fn revoked_certificate_ends_its_connection_without_a_signal() {
    if !has_openssl() {
        return;
    }
    let protected = Protected::start();
    let (ann, ben) = (protected.authority.issue("ann"), protected.authority.issue("ben"));
    let certificate = ["-cert", ann.certificate.to_str().unwrap(), "-key", ann.key.to_str().unwrap()];
    let mut client = OpenSsl::connect(&protected, &certificate);
    assert_eq!(client.null(7), null_reply(7));
    protected.authority.revoke(&[&ann]);
    let mut rest = Vec::new();
    client.output.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    protected.is_refused("mutual", &protected.shown(&ann), "refuses our certificate");
    protected.copies("mutual", &protected.shown(&ben));
}

#[test]
fn client_that_demands_tls_refuses_a_server_without_it() {
    let place = Place::new();
    let server = place.start(&[]);
    let authority = Authority::new();
    let url = format!("nfs://{}/?xprtsec=tls&tls_ca={}", server.address, authority.certificate().display());
    let output = Command::new(env!("CARGO_BIN_EXE_primetime")).args(["ls", &url]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("does not offer"), "{said}");
}

#[test]
fn exports_for_tls_need_a_certificate_of_the_server() {
    let place = Place::new();
    let text = format!("[[export]]\npath = {:?}\nxprtsec = [\"tls\"]\n", place.path("export"));
    fs::write(place.path("primetime.toml"), text).unwrap();
    let arguments = ["--config", "primetime.toml", "--state-dir", "state", "--listen", "127.0.0.1:0"];
    let output = place.command_alone(&arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("has no certificate"), "{said}");
}

#[test]
fn rules_for_certificates_need_authorities() {
    let place = Place::new();
    let text = format!(
        "[[export]]\npath = {:?}\n[[export.client]]\nhosts = [\"*\"]\ncertificates = [{{ dns = \"ann\" }}]\n",
        place.path("export")
    );
    fs::write(place.path("primetime.toml"), text).unwrap();
    let arguments = ["--config", "primetime.toml", "--state-dir", "state", "--listen", "127.0.0.1:0"];
    let output = place.command_alone(&arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("client_authorities"), "{said}");
}

#[test]
fn openssl_verifies_the_server_and_is_answered() {
    if !has_openssl() {
        return;
    }
    let protected = Protected::start();
    let mut client = OpenSsl::connect(&protected, &[]);
    assert_eq!(client.null(7), null_reply(7));
}

/// False where the test is left out, which it never is in CI.
fn has_openssl() -> bool {
    if Command::new("openssl").arg("version").output().is_ok() {
        return true;
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "there is no openssl (Debian package openssl)");
    eprintln!("skipped: there is no openssl");
    false
}

/// OpenSSL's client, which verifies the server.
struct OpenSsl {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl OpenSsl {
    fn connect(protected: &Protected, more: &[&str]) -> Self {
        let address = protected.server.address.to_string();
        let mut child = Command::new("openssl")
            .args(["s_client", "-connect", &address, "-tls1_3", "-servername", "localhost"])
            .args(["-alpn", "sunrpc", "-verify_hostname", "localhost", "-verify_return_error"])
            .args(["-quiet", "-no_ign_eof", "-CAfile"])
            .arg(protected.authority.certificate())
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// Calls NULL, and returns as many bytes as its reply has.
    fn null(&mut self, xid: u32) -> Vec<u8> {
        self.input.write_all(&RawCall::new(xid, (100_003, 3, 0)).record()).unwrap();
        let mut reply = vec![0; null_reply(xid).len()];
        self.output.read_exact(&mut reply).unwrap();
        reply
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

/// REPLY, MSG_ACCEPTED, an empty verifier, SUCCESS.
fn null_reply(xid: u32) -> Vec<u8> {
    record(&[xid, 1, 0, 0, 0, 0].map(u32::to_be_bytes).concat())
}
