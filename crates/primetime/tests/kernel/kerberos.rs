//! A Linux client with Kerberos: rpc.gssd of nfs-utils, and a KDC in the lab.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Stdio};

use netlab::guest::{GuestOptions, Lab, mountstats};
use testkit::kdc::Kdc;

use crate::guests::{TIME_LIMIT, finish, wait_until};
use crate::server::PORT;

const KDC_PORT: u16 = 88;

/// Killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prepares a server whose export is for callers with Kerberos.
fn configure(lab: &Lab, kdc: &Kdc<'_>, place: &Path) {
    let (export, keytab) = (place.join("export"), kdc.add("nfs/files.primetime.test"));
    fs::create_dir(&export).unwrap();
    fs::set_permissions(&export, Permissions::from_mode(0o777)).unwrap();
    let address = SocketAddr::new(lab.host_address(), PORT);
    let text = format!(
        "listen = \"{address}\"\nstate_dir = \"state\"\n[kerberos]\nkeytab = {keytab:?}\n[[export]]\n\
         path = {export:?}\npseudo = \"/\"\nsecurity = [\"krb5p\", \"krb5i\", \"krb5\"]\n\
         [limits]\nlease_seconds = 5\n"
    );
    fs::write(place.join("primetime.toml"), text).unwrap();
}

fn serve(lab: &Lab, kdc: &Kdc<'_>, place: &Path) -> Process {
    let mut child = lab
        .command(env!("CARGO_BIN_EXE_primetime"))
        .args(["serve", "--config", "primetime.toml"])
        .current_dir(place)
        .envs(kdc.environment())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(ready.starts_with("ready "), "{ready}");
    Process(child)
}

#[test]
fn linux_client_works_with_tickets_of_two_users_over_a_restart() {
    let Some(lab) = Lab::for_test() else { return };
    let address = SocketAddr::new(lab.host_address(), KDC_PORT);
    let enctypes = ["aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96"];
    let Some(mut kdc) = Kdc::start_at(address, &enctypes, Box::new(|program| lab.command(program))) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    configure(&lab, &kdc, place.path());
    let mut server = serve(&lab, &kdc, place.path());
    // Accounts that each system has: daemon and bin.
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("prelude.sh".into(), include_bytes!("prelude.sh").to_vec()),
        ("kerberos.sh".into(), include_bytes!("kerberos.sh").to_vec()),
    ];
    for (user, principal) in [(0, "operator"), (1, "daemon"), (2, "bin")] {
        let tickets = kdc.tickets(principal, &kdc.add(principal), 3600);
        files.push((format!("{user}.cache"), fs::read(tickets).unwrap()));
    }
    let [(_, configuration), _] = kdc.environment();
    files.push(("krb5.conf".into(), fs::read(configuration).unwrap()));
    let script = "as() { who=$1; shift; setpriv --reuid=\"$who\" --regid=\"$who\" --clear-groups \"$@\"; }\n\
                  . $EXCHANGE/prelude.sh\n. $EXCHANGE/kerberos.sh\n";
    let options = GuestOptions {
        name: "ann".into(),
        script: script.into(),
        files,
        env: vec![("PORT".into(), PORT.to_string())],
        time_limit: TIME_LIMIT,
        memory_mb: 384,
        ..GuestOptions::default()
    };
    let guest = lab.boot(&options).unwrap();
    for version in ["4.1", "3"] {
        let mounted = lab.shared().join(format!("mounted.{version}"));
        wait_until(&lab, "the guest mounts", || mounted.exists());
        // Tickets for the service are with the client.
        kdc.stop();
        drop(server);
        server = serve(&lab, &kdc, place.path());
        fs::create_dir(lab.shared().join(format!("restarted.{version}"))).unwrap();
    }
    let [result] = finish([guest]);
    drop(server);
    for version in ["4.2", "4.1", "3"] {
        for flavor in ["krb5", "krb5i", "krb5p"] {
            let said = result.read(&format!("mountstats.{version}.{flavor}")).unwrap();
            // The client tells pseudo flavors by their numbers: 390003 and those behind it.
            let number = 390_003 + ["krb5", "krb5i", "krb5p"].iter().position(|one| *one == flavor).unwrap();
            assert!(said.contains(&format!("flavor=6,pseudoflavor={number}")), "{said}");
            let counts = mountstats::parse(&said).unwrap().remove(0);
            assert!(counts.requests("WRITE") > 0 && counts.requests("READ") > 0, "{said}");
            for user in [1, 2] {
                let file = place.path().join("export").join(format!("{version}.{flavor}.{user}"));
                assert_eq!(fs::metadata(file).unwrap().uid(), user);
            }
        }
    }
}
