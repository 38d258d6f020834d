//! RPCSEC_GSS over TCP, client against server, with a mechanism of the test kit.

#![allow(missing_docs, clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rpc::auth::gss::client::{CreationError, GssCredentials};
use rpc::auth::gss::{Acceptor, GssAuthenticator, GssLimits, GssService, NoNames};
use rpc::auth::{Authenticator, Credentials, Flavor, FlavorAuthenticator, OnBehalf, UnixUser};
use rpc::{Call, CallError, Disposition, Refusal, Service};
use rpc_net::{Client, ClientOptions, ServerOptions, serve};
use testkit::gss::{Exchanges, ManualSurroundings, TestInitiator, TestMechanism};
use tokio::net::TcpListener;
use xdr::Encoder;

const PROGRAM: u32 = 400_000;
const LIMIT: Duration = Duration::from_secs(60);

/// Answers with the number of the service that protects the call, and the arguments. It does not have
/// procedure 9.
struct Echo(FlavorAuthenticator);

impl Service for Echo {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        if call.header.procedure == 9 {
            return Err(Refusal::ProcedureUnavailable);
        }
        match call.caller.flavor() {
            Flavor::Gss(service) => reply.u32(service as u32),
            _ => reply.u32(0),
        }
        reply.buffer_mut().extend_from_slice(call.arguments.rest_ref());
        Ok(Disposition::Reply)
    }

    fn authenticator(&self) -> Arc<dyn Authenticator> {
        Arc::new(self.0.clone())
    }
}

async fn start(mechanism: &Arc<TestMechanism>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = Arc::clone(mechanism) as Arc<dyn Acceptor>;
    let surroundings = Arc::new(ManualSurroundings::new(7));
    let gss = GssAuthenticator::new(acceptor, Arc::new(NoNames), surroundings, &GssLimits::default());
    let service = Arc::new(Echo(FlavorAuthenticator::new(Arc::new(gss))));
    tokio::spawn(serve(listener, service, ServerOptions::default(), std::future::pending()));
    address
}

async fn connect(address: SocketAddr, service: GssService) -> (Client, Arc<GssCredentials>) {
    let initiator = Arc::new(TestInitiator(Exchanges::Two));
    let gss = Arc::new(GssCredentials::new(initiator, service, 100));
    let credentials = Arc::clone(&gss) as Arc<dyn Credentials>;
    let options = ClientOptions { credentials, ..ClientOptions::default() };
    (Client::connect(address, options).await.unwrap(), gss)
}

fn user(uid: u32) -> UnixUser {
    UnixUser { uid, gid: 7, gids: vec![] }
}

async fn establish(client: &Client, credentials: &GssCredentials, uid: u32) -> Result<(), CreationError> {
    let connection = client.connection().unwrap();
    let null = move |pass, arguments| connection.call(PROGRAM, 1, 0, pass, arguments, LIMIT);
    credentials.establish(OnBehalf::User(&user(uid)), &null).await
}

/// The results of a call for a user: the number of the service, and the arguments.
async fn ask(client: &Client, uid: u32, arguments: &[u8]) -> Result<(u32, Vec<u8>), CallError> {
    let put = |to: &mut Encoder| to.buffer_mut().extend_from_slice(arguments);
    let mut results = client.call_for(OnBehalf::User(&user(uid)), (PROGRAM, 1, 1), put).await?.results;
    Ok((results.u32().unwrap(), results.rest_ref().to_vec()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_share_a_connection_and_each_has_a_context() {
    let address = start(&Arc::default()).await;
    let large = vec![5; 1 << 20];
    for service in [GssService::None, GssService::Integrity, GssService::Privacy] {
        let (client, credentials) = connect(address, service).await;
        assert!(matches!(ask(&client, 5, b"").await, Err(CallError::NoCredential(5))));
        for uid in [5, 6] {
            establish(&client, &credentials, uid).await.unwrap();
            for arguments in [&b"argument"[..], b"", &large] {
                let answer = ask(&client, uid, arguments).await.unwrap();
                assert_eq!(answer.0, service as u32);
                assert!(answer.1 == arguments, "{} bytes", arguments.len());
            }
        }
        let put = |_: &mut Encoder| {};
        let refused = client.call_for(OnBehalf::User(&user(5)), (PROGRAM, 1, 9), put).await;
        assert!(matches!(refused, Err(CallError::Refused(Refusal::ProcedureUnavailable))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_mechanism_holds_up_no_call_of_the_connection() {
    let mechanism = Arc::<TestMechanism>::default();
    let (client, credentials) = connect(start(&mechanism).await, GssService::Integrity).await;
    establish(&client, &credentials, 5).await.unwrap();
    mechanism.shut();
    let slow = {
        let (client, credentials) = (client.clone(), Arc::clone(&credentials));
        tokio::spawn(async move { establish(&client, &credentials, 6).await })
    };
    for _ in 0..100 {
        assert_eq!(ask(&client, 5, b"argument").await.unwrap().1, b"argument");
    }
    assert!(!slow.is_finished());
    mechanism.open();
    slow.await.unwrap().unwrap();
    assert_eq!(ask(&client, 6, b"argument").await.unwrap().1, b"argument");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contexts_outlive_the_connection() {
    let (client, credentials) = connect(start(&Arc::default()).await, GssService::Privacy).await;
    establish(&client, &credentials, 5).await.unwrap();
    client.disconnect();
    assert_eq!(ask(&client, 5, b"argument").await.unwrap().1, b"argument");
    assert_eq!(client.generation(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_of_one_context_are_under_way_at_once() {
    let (client, credentials) = connect(start(&Arc::default()).await, GssService::Privacy).await;
    establish(&client, &credentials, 5).await.unwrap();
    let call = |number: u32| {
        let client = client.clone();
        tokio::spawn(async move {
            let arguments = number.to_be_bytes();
            assert_eq!(ask(&client, 5, &arguments).await.unwrap().1, arguments);
        })
    };
    for call in (0..500).map(call).collect::<Vec<_>>() {
        call.await.unwrap();
    }
}
