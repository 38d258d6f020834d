//! Exports for callers with Kerberos, in a realm with a KDC of the test's own: the server as a process, and a
//! client of this project's RPC with tickets.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use krb5::KerberosInitiator;
use proto::nfs3;
use rpc::auth::gss::GssService;
use rpc::auth::gss::client::GssCredentials;
use rpc::auth::{Credentials, OnBehalf, SystemCredentials};
use rpc::{AuthSys, Credential};
use rpc_net::{Client, ClientOptions};
use testkit::kdc::{Kdc, REALM, told_inside};
use xdr::{Decoder, Encoder};

use crate::process::{Place, Process};

const LIMIT: Duration = Duration::from_secs(60);
/// NFS3ERR_ACCES.
const ACCESS_DENIED: u32 = 13;

/// A server with an export for every flavor, and one for krb5p only.
fn start(kdc: &Kdc<'_>, place: &Place) -> Process {
    let keytab = kdc.add("nfs/localhost");
    let mut text = format!(
        "listen = \"127.0.0.1:0\"\nstate_dir = \"state\"\n[kerberos]\nkeytab = {keytab:?}\n\
         [[kerberos.user]]\nprincipal = \"operator@{REALM}\"\naccount = \"bin\"\n"
    );
    for (name, security) in [("any", "\"krb5p\", \"krb5i\", \"krb5\", \"sys\""), ("private", "\"krb5p\"")] {
        fs::create_dir(place.path(name)).unwrap();
        fs::set_permissions(place.path(name), Permissions::from_mode(0o777)).unwrap();
        text += &format!(
            "[[export]]\npath = {:?}\npseudo = \"/{name}\"\nsecurity = [{security}]\n",
            place.path(name)
        );
    }
    fs::write(place.path("primetime.toml"), text).unwrap();
    Process::start(place.command_alone(&["--config", "primetime.toml"]).envs(kdc.environment()))
}

#[test]
fn exports_accept_the_services_of_their_rule_and_know_the_account() {
    let Some(kdc) = Kdc::start() else { return };
    let place = Place::new();
    let server = start(&kdc, &place);
    // The account of this host by the library's rules, by the configuration, and none for a machine.
    for (principal, uid) in [("daemon", 1), ("operator", 2), ("host/localhost", 65_534)] {
        let tickets = kdc.tickets(principal, &kdc.add(principal), 600);
        let told = format!("{} {}", server.address, tickets.display());
        kdc.run_inside("kerberos::calls_in_this_realm", &told);
        for name in ["any/krb5", "any/krb5i", "any/krb5p", "private/krb5p"] {
            assert_eq!(fs::metadata(place.path(name)).unwrap().uid(), uid, "{name} of {principal}");
            fs::remove_file(place.path(name)).unwrap();
        }
        for name in ["private/krb5", "private/krb5i", "private/sys"] {
            assert!(!place.path(name).exists(), "{name}");
        }
    }
}

#[test]
fn exports_for_kerberos_need_a_keytab() {
    let place = Place::new();
    let text = format!("[[export]]\npath = {:?}\nsecurity = [\"krb5\"]\n", place.path("export"));
    let refused = |text: &str| {
        fs::write(place.path("primetime.toml"), text).unwrap();
        let arguments = ["--config", "primetime.toml", "--state-dir", "state", "--listen", "127.0.0.1:0"];
        let output = place.command_alone(&arguments).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&text);
    assert!(said.contains("no table [kerberos]") && said.lines().count() == 1, "{said}");
    let said = refused(&format!("[kerberos]\nkeytab = \"/no/such/keytab\"\n{text}"));
    assert!(said.contains("Kerberos cannot be used: ") && said.lines().count() == 1, "{said}");
}

/// A client with a flavor of authentication.
struct Caller(Client);

impl Caller {
    async fn with(address: SocketAddr, credentials: Arc<dyn Credentials>) -> Self {
        let options = ClientOptions { credentials, ..ClientOptions::default() };
        Self(Client::connect(address, options).await.unwrap())
    }

    async fn with_tickets(address: SocketAddr, tickets: &Path, service: GssService) -> Self {
        let library = gssapi::Library::load().unwrap();
        let cache = tickets.to_owned();
        let initiator =
            KerberosInitiator::new(library, "nfs@localhost", Arc::new(move |_| Some(cache.clone())));
        let gss = Arc::new(GssCredentials::new(Arc::new(initiator), service, 1));
        let caller = Self::with(address, Arc::clone(&gss) as _).await;
        let connection = caller.0.connection().unwrap();
        let null = move |pass, arguments| connection.call(nfs3::PROGRAM, 3, 0, pass, arguments, LIMIT);
        gss.establish(OnBehalf::Client, &null).await.unwrap();
        caller
    }

    async fn call(&self, number: (u32, u32, u32), put: impl FnOnce(&mut Encoder)) -> Decoder {
        self.0.call(number.0, number.1, number.2, put).await.unwrap().results
    }

    /// The handle of an export, and its flavors.
    async fn mount(&self, path: &str) -> (Vec<u8>, Vec<u32>) {
        let mut results = self.call((100_005, 3, 1), |to| to.opaque(path.as_bytes())).await;
        assert_eq!(results.u32(), Ok(0), "MNT of {path}");
        let handle = results.opaque(64).unwrap().to_vec();
        let count = results.u32().unwrap();
        (handle, (0..count).map(|_| results.u32().unwrap()).collect())
    }

    /// Creates a file, unchecked and without attributes: the status.
    async fn create(&self, directory: &[u8], name: &str) -> u32 {
        let put = |to: &mut Encoder| {
            to.opaque(directory);
            to.opaque(name.as_bytes());
            to.words([0; 7]);
        };
        self.call((nfs3::PROGRAM, 3, 8), put).await.u32().unwrap()
    }
}

/// The part of [`exports_accept_the_services_of_their_rule_and_know_the_account`] in the realm. Alone it has
/// nothing to do.
#[test]
fn calls_in_this_realm() {
    let Some(told) = told_inside() else { return };
    let (address, tickets) = told.split_once(' ').unwrap();
    let (address, tickets) = (address.parse().unwrap(), PathBuf::from(tickets));
    tokio::runtime::Runtime::new().unwrap().block_on(calls(address, &tickets));
}

async fn calls(address: SocketAddr, tickets: &Path) {
    let services =
        [("krb5", GssService::None), ("krb5i", GssService::Integrity), ("krb5p", GssService::Privacy)];
    for (name, service) in services {
        let caller = Caller::with_tickets(address, tickets, service).await;
        let (any, flavors) = caller.mount("/any").await;
        assert_eq!(flavors, [390_005, 390_004, 390_003, 1]);
        assert_eq!(caller.create(&any, name).await, 0, "{name}");
        let (private, flavors) = caller.mount("/private").await;
        assert_eq!(flavors, [390_005]);
        let expected = if service == GssService::Privacy { 0 } else { ACCESS_DENIED };
        assert_eq!(caller.create(&private, name).await, expected, "{name} in the private export");
    }
    let sys = AuthSys { stamp: 0, machine_name: "a".into(), uid: 0, gid: 0, gids: vec![] };
    let caller = Caller::with(address, SystemCredentials::shared(Credential::Sys(sys))).await;
    let (private, _) = caller.mount("/private").await;
    assert_eq!(caller.create(&private, "sys").await, ACCESS_DENIED);
}
