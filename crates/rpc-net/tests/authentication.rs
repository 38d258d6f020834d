//! Flavors of authentication that no service has yet: one that demands a verifier, one that transforms
//! arguments and results, calls that are the authenticator's own. Nothing but the authenticator knows of
//! them.

#![allow(missing_docs, clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rpc::auth::{
    Answer, Authenticator, CallProtection, Caller, Claim, Credentials, Flavor, OnBehalf, OpaqueAuth, Pass,
    Protection, SystemAuthenticator, SystemCredentials, UnixUser, Verdict, Verifier,
};
use rpc::{AuthStatus, Call, CallError, CallHeader, Connection, Credential, Disposition, Refusal, Service};
use rpc_net::{Client, ClientOptions, ServerOptions, serve};
use testkit::peer::RawPeer;
use testkit::wire::RawCall;
use tokio::net::TcpListener;
use xdr::{Decoder, Encoder};

const PROGRAM: u32 = 400_000;
/// The flavor of the doubles.
const SEALED: u32 = 400_001;
/// Credentials of it name the kind of the call.
const DATA: &[u8] = b"data";
const BEGIN: &[u8] = b"init";
const STALE: &[u8] = b"late";
/// The answer comes once the test allows it.
const SLOW: &[u8] = b"slow";
const MASK: u8 = 0x5a;

/// Callers of [`SEALED`] prove what they sent: the verifier is the sum of the bytes that it signs.
#[derive(Default)]
struct Seals {
    judged: AtomicUsize,
    may_answer: Arc<tokio::sync::Notify>,
}

fn sum(bytes: &[u8]) -> [u8; 4] {
    bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>().to_be_bytes()
}

impl Authenticator for Seals {
    fn judge(
        &self,
        header: &CallHeader,
        claim: &Claim<'_>,
        arguments: &[u8],
        connection: &dyn Connection,
    ) -> Verdict {
        self.judged.fetch_add(1, Ordering::SeqCst);
        if claim.credential.flavor != SEALED {
            return SystemAuthenticator.judge(header, claim, arguments, connection);
        }
        if claim.verifier != (OpaqueAuth { flavor: SEALED, body: &sum(claim.signed) }) {
            return Verdict::Refuse(Refusal::Authentication(AuthStatus::RejectedVerifier));
        }
        match claim.credential.body {
            DATA => Verdict::Protected(Arc::new(Caller::named(SEALED, b"ann", None)), Box::new(Mask)),
            BEGIN => Verdict::Answer(Answer { verifier: proof(), results: arguments.to_vec() }),
            SLOW => {
                let (may_answer, results) = (Arc::clone(&self.may_answer), arguments.to_vec());
                Verdict::Later(Box::pin(async move {
                    may_answer.notified().await;
                    if results.is_empty() {
                        return Err(Refusal::SystemError);
                    }
                    Ok(Answer { verifier: proof(), results })
                }))
            }
            _ => Verdict::Silence,
        }
    }
}

fn proof() -> Verifier {
    Verifier { flavor: SEALED, body: b"server".to_vec() }
}

/// Turns bits over, and has a word in front of the results.
struct Mask;

impl Protection for Mask {
    fn verifier(&mut self) -> Verifier {
        proof()
    }

    fn unwrap(&mut self, arguments: Decoder) -> Result<Decoder, Refusal> {
        let plain: Vec<u8> = arguments.rest_ref().iter().map(|byte| byte ^ MASK).collect();
        if plain.is_empty() { Err(Refusal::GarbageArguments) } else { Ok(Decoder::new(plain.into())) }
    }

    fn begin(&mut self, reply: &mut Encoder) {
        reply.u32(0);
    }

    fn wrap(&mut self, reply: &mut Encoder, start: usize) -> Result<Disposition, Refusal> {
        let bytes = &mut reply.buffer_mut()[start..];
        let (length, results) = bytes.split_at_mut(4);
        length.copy_from_slice(&(results.len() as u32).to_be_bytes());
        match &results[4..] {
            b"no reply" => return Ok(Disposition::Drop),
            b"not allowed" => return Err(Refusal::Authentication(AuthStatus::TooWeak)),
            _ => results.iter_mut().for_each(|byte| *byte ^= MASK),
        }
        Ok(Disposition::Reply)
    }
}

/// Answers with the number of the caller's flavor and the arguments. It does not have procedure 9.
struct Echo(Arc<Seals>);

impl Service for Echo {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        if call.header.procedure == 9 {
            return Err(Refusal::ProcedureUnavailable);
        }
        reply.u32(call.caller.flavor().number());
        if call.caller.flavor() == Flavor::Other(SEALED) {
            assert_eq!(call.caller.principal(), Caller::named(SEALED, b"ann", None).principal());
        }
        reply.buffer_mut().extend_from_slice(call.arguments.rest_ref());
        Ok(Disposition::Reply)
    }

    fn authenticator(&self) -> Arc<dyn Authenticator> {
        Arc::clone(&self.0) as Arc<dyn Authenticator>
    }
}

async fn echo() -> (SocketAddr, Arc<Seals>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, seals) = (listener.local_addr().unwrap(), Arc::new(Seals::default()));
    let service = Arc::new(Echo(Arc::clone(&seals)));
    tokio::spawn(serve(listener, service, ServerOptions::default(), std::future::pending()));
    (address, seals)
}

/// A call of this flavor with a verifier that is right or not.
fn call(flavor: u32, body: &[u8], is_proven: bool, arguments: &[u8]) -> Vec<u8> {
    call_of(1, flavor, body, is_proven, arguments)
}

/// Like [`call`], of another procedure.
fn call_of(procedure: u32, flavor: u32, body: &[u8], is_proven: bool, arguments: &[u8]) -> Vec<u8> {
    let call = RawCall::new(7, (PROGRAM, 1, procedure)).with_credential(flavor, body).with_bytes(arguments);
    let proof = sum(&call.head());
    let verifier: &[u8] = if is_proven { &proof } else { &[] };
    call.with_verifier(if flavor == SEALED { SEALED } else { 0 }, verifier).record()
}

/// Sends calls in one piece, and returns the replies behind their transaction ids.
fn exchange(address: SocketAddr, calls: &[Vec<u8>], replies: usize) -> Vec<Vec<u8>> {
    let mut peer = RawPeer::connect(address).unwrap();
    peer.set_read_timeout(Duration::from_secs(60)).unwrap();
    peer.send(&calls.concat()).unwrap();
    (0..replies).map(|_| peer.receive().unwrap().split_off(4)).collect()
}

/// REPLY, ACCEPTED, this verifier, SUCCESS, and these results.
fn success(verifier: &Verifier, results: &[u8]) -> Vec<u8> {
    let mut reply = Encoder::new();
    for word in [1, 0, verifier.flavor] {
        reply.u32(word);
    }
    reply.opaque(&verifier.body);
    reply.u32(0);
    reply.buffer_mut().extend_from_slice(results);
    reply.into_inner()
}

/// REPLY, ACCEPTED, the verifier of the server, and a status that is not SUCCESS.
fn accepted(status: u32) -> Vec<u8> {
    let mut reply = success(&proof(), &[]);
    reply.truncate(reply.len() - 4);
    [&reply[..], &status.to_be_bytes()].concat()
}

/// REPLY, DENIED, AUTH_ERROR.
fn denied(status: u32) -> Vec<u8> {
    [1, 1, 1, status].iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
}

fn masked(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ MASK).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protection_is_taken_off_arguments_and_put_on_results() {
    let (address, _) = echo().await;
    let results = [&SEALED.to_be_bytes()[..], b"argument"].concat();
    let sealed = [&(results.len() as u32).to_be_bytes()[..], &masked(&results)].concat();
    let calls = [call(SEALED, DATA, true, &masked(b"argument")), call(SEALED, DATA, true, b"")];
    let replies = exchange(address, &calls, 2);
    assert_eq!(replies[0], success(&proof(), &sealed));
    assert_eq!(replies[1], accepted(4), "GARBAGE_ARGS: arguments that cannot be unwrapped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_calls_have_the_verifier_unless_they_are_denied() {
    let (address, _) = echo().await;
    let calls = [
        call_of(9, SEALED, DATA, true, &masked(b"argument")),
        call(SEALED, DATA, true, &masked(b"no reply")),
        call(SEALED, DATA, true, &masked(b"not allowed")),
        call_of(9, 0, b"", false, b"none"),
    ];
    let replies = exchange(address, &calls, 3);
    assert_eq!(replies[0], accepted(3), "PROC_UNAVAIL");
    assert_eq!(replies[1], denied(5), "AUTH_TOOWEAK");
    assert_eq!(replies[2], [1, 0, 0, 0, 3].map(u32::to_be_bytes).concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_answer_holds_up_no_other_call_of_the_connection() {
    let (address, seals) = echo().await;
    let mut peer = RawPeer::connect(address).unwrap();
    peer.set_read_timeout(Duration::from_secs(60)).unwrap();
    let calls = [call(SEALED, SLOW, true, b"token..."), call(0, b"", false, b"none")];
    peer.send(&calls.concat()).unwrap();
    assert_eq!(peer.receive().unwrap()[4..], success(&Verifier::NONE, b"\0\0\0\0none"));
    seals.may_answer.notify_one();
    assert_eq!(peer.receive().unwrap()[4..], success(&proof(), b"token..."));
    peer.send(&call(SEALED, SLOW, true, b"")).unwrap();
    seals.may_answer.notify_one();
    assert_eq!(peer.receive().unwrap()[4..], [1, 0, 0, 0, 5].map(u32::to_be_bytes).concat(), "SYSTEM_ERR");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_proof_is_refused_and_the_connection_goes_on() {
    let (address, _) = echo().await;
    let calls = [
        call(SEALED, DATA, false, &masked(b"argument")),
        call(SEALED, STALE, true, b""),
        call(SEALED, BEGIN, true, b"token..."),
        call(0, b"", false, b"none"),
    ];
    let replies = exchange(address, &calls, 3);
    assert_eq!(replies[0], denied(4), "AUTH_REJECTEDVERF");
    // The second is dropped without an answer; the third is the authenticator's own.
    assert_eq!(replies[1], success(&proof(), b"token..."));
    assert_eq!(replies[2], success(&Verifier::NONE, b"\0\0\0\0none"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lasting_callers_are_judged_once_for_each_credential() {
    let (address, seals) = echo().await;
    let user = |uid: u32| {
        let mut body = Encoder::new();
        for word in [0, 0, uid, uid, 0] {
            body.u32(word);
        }
        call(1, &body.into_inner(), false, b"data")
    };
    let calls = [user(1), user(1), user(1), user(2), user(2), call(SEALED, DATA, true, b"data"), user(2)];
    let replies = exchange(address, &calls, calls.len());
    assert_eq!(replies.len(), calls.len());
    assert_eq!(seals.judged.load(Ordering::SeqCst), 3, "protected calls are judged each");
    let malformed = exchange(address, &[call(1, &[0; 8], false, b"")], 1);
    assert_eq!(malformed[0], denied(1), "AUTH_BADCRED");
}

/// The client's side of [`Seals`]. Its user 1 has a credential, and no other.
#[derive(Debug)]
struct SealedUser {
    expects: &'static [u8],
}

impl Credentials for SealedUser {
    fn pass(&self, on_behalf: OnBehalf<'_>) -> Result<Pass, CallError> {
        match on_behalf {
            OnBehalf::User(UnixUser { uid: 1, .. }) | OnBehalf::Client => {
                Ok(Pass::Protected(Box::new(SealedCall { expects: self.expects })))
            }
            OnBehalf::User(user) => Err(CallError::NoCredential(user.uid)),
        }
    }
}

struct SealedCall {
    expects: &'static [u8],
}

impl CallProtection for SealedCall {
    fn credential(&self) -> Credential {
        Credential::Other { flavor: SEALED, body: DATA.into() }
    }

    fn verifier(&mut self, signed: &[u8]) -> Verifier {
        Verifier { flavor: SEALED, body: sum(signed).to_vec() }
    }

    fn wrap(&mut self, call: &mut Encoder, start: usize) {
        let plain = call.as_slice()[start..].to_vec();
        call.truncate(start);
        call.buffer_mut().extend(masked(&plain));
    }

    fn unwrap(&mut self, verifier: OpaqueAuth<'_>, mut results: Decoder) -> Result<Decoder, CallError> {
        if verifier != (OpaqueAuth { flavor: SEALED, body: self.expects }) {
            return Err(CallError::Unproven);
        }
        let length = results.u32().map_err(CallError::Protocol)? as usize;
        let plain = masked(results.rest_ref());
        if plain.len() == length { Ok(Decoder::new(plain.into())) } else { Err(CallError::Unproven) }
    }
}

fn user(uid: u32) -> UnixUser {
    UnixUser { uid, gid: 7, gids: vec![8] }
}

/// The results of a call for a user: the flavor that the service saw, and its arguments.
async fn ask(client: &Client, on_behalf: OnBehalf<'_>) -> Result<(u32, Vec<u8>), CallError> {
    let arguments = |to: &mut Encoder| to.buffer_mut().extend_from_slice(b"question");
    let mut results = client.call_for(on_behalf, (PROGRAM, 1, 1), arguments).await?.results;
    Ok((results.u32().unwrap(), results.rest_ref().to_vec()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_protect_calls_and_check_that_answers_are_the_servers() {
    let (address, _) = echo().await;
    let connect = |expects| {
        let credentials = Arc::new(SealedUser { expects });
        Client::connect(address, ClientOptions { credentials, ..ClientOptions::default() })
    };
    let client = connect(b"server").await.unwrap();
    for on_behalf in [OnBehalf::Client, OnBehalf::User(&user(1))] {
        assert_eq!(ask(&client, on_behalf).await.unwrap(), (SEALED, b"question".to_vec()));
    }
    let refused = ask(&client, OnBehalf::User(&user(2))).await.unwrap_err();
    assert!(matches!(refused, CallError::NoCredential(2)) && refused.was_not_sent(), "{refused}");
    let doubting = connect(b"another").await.unwrap();
    let unproven = ask(&doubting, OnBehalf::Client).await.unwrap_err();
    assert!(matches!(unproven, CallError::Unproven), "{unproven}");
}

/// Calls the client back with the arguments of each call, as a sealed user, and answers with the results.
struct CallsBack {
    expects: &'static [u8],
}

impl Service for CallsBack {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let pass = match call.header.procedure {
            1 => Pass::Protected(Box::new(SealedCall { expects: self.expects })),
            _ => Credential::None.into(),
        };
        let arguments = call.arguments.rest_ref().to_vec();
        let answered = call.connection.call(PROGRAM, 1, 1, pass, arguments, Duration::from_secs(60)).await;
        match answered {
            Ok(results) => reply.buffer_mut().extend_from_slice(&results),
            Err(CallError::Unproven) => return Err(Refusal::Authentication(AuthStatus::InvalidResponse)),
            Err(_) => return Err(Refusal::SystemError),
        }
        Ok(Disposition::Reply)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callbacks_are_protected_and_their_answers_are_checked() {
    let connect = async |expects| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = Arc::new(CallsBack { expects });
        tokio::spawn(serve(listener, service, ServerOptions::default(), std::future::pending()));
        let callbacks = Arc::new(Echo(Arc::default()));
        Client::connect_with_callbacks(address, ClientOptions::default(), callbacks).await.unwrap()
    };
    let ask = async |client: &Client, procedure| {
        let arguments = |to: &mut Encoder| to.buffer_mut().extend_from_slice(b"question");
        let mut results = client.call(PROGRAM, 1, procedure, arguments).await?.results;
        Ok::<_, CallError>((results.u32().unwrap(), results.rest_ref().to_vec()))
    };
    let client = connect(b"server").await;
    assert_eq!(ask(&client, 1).await.unwrap(), (SEALED, b"question".to_vec()));
    assert_eq!(ask(&client, 2).await.unwrap(), (0, b"question".to_vec()), "without protection");
    let unproven = ask(&connect(b"another").await, 1).await.unwrap_err();
    let expected = Refusal::Authentication(AuthStatus::InvalidResponse);
    assert!(matches!(unproven, CallError::Refused(refusal) if refusal == expected), "{unproven}");
}

/// Tells the user that it sees.
struct Who;

impl Service for Who {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let seen = call.caller.user().map_or(0, |user| user.uid);
        reply.u32(seen);
        Ok(Disposition::Reply)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_share_a_connection_and_each_has_its_own_credential() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Arc::new(Who), ServerOptions::default(), std::future::pending()));
    let own = rpc::AuthSys { stamp: 0, machine_name: "host".into(), uid: 5, gid: 5, gids: vec![] };
    let credentials = SystemCredentials::shared(Credential::Sys(own));
    let client =
        Client::connect(address, ClientOptions { credentials, ..ClientOptions::default() }).await.unwrap();
    for (on_behalf, uid) in
        [(OnBehalf::Client, 5), (OnBehalf::User(&user(6)), 6), (OnBehalf::User(&user(7)), 7)]
    {
        assert_eq!(ask(&client, on_behalf).await.unwrap().0, uid);
    }
}
