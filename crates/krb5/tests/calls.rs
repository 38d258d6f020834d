//! Calls with Kerberos over TCP, client against server, with a KDC.

#![allow(missing_docs, clippy::unwrap_used)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gssapi::{Acceptor, Library};
use krb5::{KerberosAcceptor, KerberosInitiator};
use rpc::auth::gss::client::GssCredentials;
use rpc::auth::gss::{GssAuthenticator, GssLimits, GssService, NoNames};
use rpc::auth::{Authenticator, Credentials, FlavorAuthenticator, OnBehalf, UnixUser};
use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::{Client, ClientOptions, ServerOptions, serve};
use testkit::gss::ManualSurroundings;
use testkit::kdc::{Kdc, REALM, told_inside};
use tokio::net::TcpListener;
use xdr::Encoder;

const PROGRAM: u32 = 400_000;
const LIMIT: Duration = Duration::from_secs(60);

/// Answers with the principal of the caller, and the arguments.
struct Echo(FlavorAuthenticator);

impl Service for Echo {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        reply.opaque(call.caller.principal());
        reply.buffer_mut().extend_from_slice(call.arguments.rest_ref());
        Ok(Disposition::Reply)
    }

    fn authenticator(&self) -> Arc<dyn Authenticator> {
        Arc::new(self.0.clone())
    }
}

#[test]
fn users_call_with_their_tickets_and_each_service() {
    let Some(kdc) = Kdc::start() else { return };
    let keytab = kdc.add("nfs/localhost");
    let tickets = ["ann", "ben"].map(|user| kdc.tickets(user, &kdc.add(user), 600));
    let told = format!("{} {} {}", keytab.display(), tickets[0].display(), tickets[1].display());
    kdc.run_inside("calls_in_this_realm", &told);
}

async fn start(library: &Arc<Library>, keytab: &Path) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = KerberosAcceptor::new(Acceptor::new(library, Some("nfs"), Some(keytab)).unwrap(), || ());
    let surroundings = Arc::new(ManualSurroundings::new(7));
    let (acceptor, names) = (Arc::new(acceptor), Arc::new(NoNames));
    let gss = GssAuthenticator::new(acceptor, names, surroundings, &GssLimits::default());
    let service = Arc::new(Echo(FlavorAuthenticator::new(Arc::new(gss))));
    tokio::spawn(serve(listener, service, ServerOptions::default(), std::future::pending()));
    address
}

fn user(uid: u32) -> UnixUser {
    UnixUser { uid, gid: 7, gids: vec![] }
}

/// The part of [`users_call_with_their_tickets_and_each_service`] in the realm. Alone it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_in_this_realm() {
    let Some(told) = told_inside() else { return };
    let [keytab, ann, ben] = told.split(' ').map(PathBuf::from).collect::<Vec<_>>().try_into().unwrap();
    let library = Library::load().unwrap();
    let address = start(&library, &keytab).await;
    let caches = Arc::new([ann, ben]);
    let cache_of = move |user: Option<&UnixUser>| Some(caches[user?.uid as usize].clone());
    let initiator = Arc::new(KerberosInitiator::new(library, "nfs@localhost", Arc::new(cache_of)));
    let large = vec![5; 1 << 20];
    for service in [GssService::None, GssService::Integrity, GssService::Privacy] {
        let gss = Arc::new(GssCredentials::new(Arc::clone(&initiator) as _, service, 100));
        let credentials = Arc::clone(&gss) as Arc<dyn Credentials>;
        let client = Client::connect(address, ClientOptions { credentials, ..ClientOptions::default() });
        let client = client.await.unwrap();
        for (uid, name) in [(0, "ann"), (1, "ben")] {
            let user = user(uid);
            let connection = client.connection().unwrap();
            let null = move |pass, arguments| connection.call(PROGRAM, 1, 0, pass, arguments, LIMIT);
            gss.establish(OnBehalf::User(&user), &null).await.unwrap();
            for arguments in [&b"argument"[..], b"", &large] {
                let put = |to: &mut Encoder| to.buffer_mut().extend_from_slice(arguments);
                let call = client.call_for(OnBehalf::User(&user), (PROGRAM, 1, 1), put);
                let mut results = call.await.unwrap().results;
                let principal = results.opaque(1000).unwrap();
                assert!(principal.ends_with(format!("{name}@{REALM}").as_bytes()), "{principal:?}");
                assert!(results.rest_ref() == arguments, "{} bytes with {service:?}", arguments.len());
            }
        }
    }
}
