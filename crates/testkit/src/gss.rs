//! A mechanism for RPCSEC_GSS (RFC 2203) without Kerberos, and surroundings that a test sets.
//!
//! Its keys are not secret and its checksums are weak. A context refuses each token that is not of its
//! principal and of the other side, or in which one bit is wrong.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use rpc::BoxFuture;
use rpc::auth::UnixUser;
use rpc::auth::gss::client::{Initiation, Initiator, InitiatorStep};
use rpc::auth::gss::wire::MajorStatus;
use rpc::auth::gss::{Acceptor, BadToken, BootInstance, Negotiation, SecurityContext, Step, Surroundings};

/// The first bytes of a token that makes the acceptor ask for another one, which names the principal.
pub const CONTINUE: &[u8] = b"continue";
/// The token that the acceptor refuses with GSS_S_DEFECTIVE_TOKEN and minor status [`MINOR`].
pub const DEFECTIVE: &[u8] = b"defective";
/// The minor status of a refused token.
pub const MINOR: u32 = 42;
/// The token that the acceptor returns when it needs another one.
pub const NEXT: &[u8] = b"next";
/// The token that the acceptor returns with an established context.
pub const WELCOME: &[u8] = b"welcome";

/// Accepts each token as the name of a principal, but for [`CONTINUE`] and [`DEFECTIVE`].
#[derive(Default)]
pub struct TestMechanism {
    lifetime: Mutex<Option<Duration>>,
    gate: Arc<Gate>,
}

/// Holds up the acceptor.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    is_shut: bool,
    waiting: Vec<Waker>,
}

impl TestMechanism {
    /// Sets the lifetime of contexts that are established from now on; they have no bound otherwise.
    pub fn set_lifetime(&self, lifetime: Option<Duration>) {
        *self.lifetime.lock() = lifetime;
    }

    /// Lets the acceptor wait until [`TestMechanism::open`].
    pub fn shut(&self) {
        self.gate.state.lock().is_shut = true;
    }

    /// Lets the acceptor go on.
    pub fn open(&self) {
        let waiting = {
            let mut state = self.gate.state.lock();
            state.is_shut = false;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn step(token: &Bytes, lifetime: Option<Duration>, gate: Arc<Gate>) -> Step {
        if token.starts_with(CONTINUE) {
            let negotiation = Box::new(SecondToken { lifetime, gate });
            return Step::Continue { token: NEXT.to_vec(), negotiation };
        }
        if token[..] == *DEFECTIVE {
            return Step::Failed { major: MajorStatus::DEFECTIVE_TOKEN, minor: MINOR };
        }
        let context = TestContext { lifetime, ..TestContext::new(Side::Acceptor, token) };
        Step::Complete { token: WELCOME.to_vec(), context: Box::new(context) }
    }

    fn wait_and_step(token: Bytes, lifetime: Option<Duration>, gate: Arc<Gate>) -> BoxFuture<Step> {
        Box::pin(async move {
            gate.wait().await;
            Self::step(&token, lifetime, gate)
        })
    }
}

impl Gate {
    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.state.lock();
            if !state.is_shut {
                return Poll::Ready(());
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Acceptor for TestMechanism {
    fn accept(&self, token: Bytes) -> BoxFuture<Step> {
        Self::wait_and_step(token, *self.lifetime.lock(), Arc::clone(&self.gate))
    }
}

struct SecondToken {
    lifetime: Option<Duration>,
    gate: Arc<Gate>,
}

impl Negotiation for SecondToken {
    fn accept(self: Box<Self>, token: Bytes) -> BoxFuture<Step> {
        TestMechanism::wait_and_step(token, self.lifetime, self.gate)
    }
}

/// How many tokens a client sends until its context is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchanges {
    /// One, and it needs none of the server.
    One,
    /// One, and it needs that of the server.
    Mutual,
    /// [`CONTINUE`] first, and then the name.
    Two,
}

/// Begins contexts of `user5@R` for the user 5, and of `host/client@R` for the client itself. The user 404
/// has none.
#[derive(Debug, Clone, Copy)]
pub struct TestInitiator(pub Exchanges);

/// The minor status of a user without a context.
pub const NO_TICKET: u32 = 404;

impl Initiator for TestInitiator {
    fn begin(&self, user: Option<UnixUser>) -> BoxFuture<InitiatorStep> {
        let principal = match user {
            Some(user) if user.uid == NO_TICKET => {
                let failed = InitiatorStep::Failed { major: MajorStatus::FAILURE, minor: NO_TICKET };
                return Box::pin(std::future::ready(failed));
            }
            Some(user) => format!("user{}@R", user.uid),
            None => "host/client@R".to_owned(),
        };
        let initiation = Box::new(OneToken { principal: principal.clone() });
        let step = match self.0 {
            Exchanges::One => {
                let context = Box::new(TestContext::new(Side::Initiator, principal.as_bytes()));
                InitiatorStep::Complete { token: Some(principal.into_bytes()), context }
            }
            Exchanges::Mutual => InitiatorStep::Continue { token: principal.into_bytes(), initiation },
            Exchanges::Two => InitiatorStep::Continue { token: CONTINUE.to_vec(), initiation },
        };
        Box::pin(std::future::ready(step))
    }
}

/// Needs [`NEXT`] or [`WELCOME`] of the server.
struct OneToken {
    principal: String,
}

impl Initiation for OneToken {
    fn accept(self: Box<Self>, token: Bytes) -> BoxFuture<InitiatorStep> {
        let context = Box::new(TestContext::new(Side::Initiator, self.principal.as_bytes()));
        let step = match &token[..] {
            NEXT => InitiatorStep::Complete { token: Some(self.principal.into_bytes()), context },
            WELCOME => InitiatorStep::Complete { token: None, context },
            _ => InitiatorStep::Failed { major: MajorStatus::DEFECTIVE_TOKEN, minor: MINOR },
        };
        Box::pin(std::future::ready(step))
    }
}

/// The end of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Initiator,
    /// The server.
    Acceptor,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Acceptor,
            Self::Acceptor => Self::Initiator,
        }
    }
}

/// One end of a context. Both ends derive the key from the principal.
#[derive(Debug, Clone)]
pub struct TestContext {
    side: Side,
    principal: Vec<u8>,
    key: u64,
    lifetime: Option<Duration>,
}

/// The bytes in front of the message in a token of wrap.
const HEAD: &[u8] = b"sealed: ";
/// The length of a MIC: no multiple of four, so that it is padded.
const MIC_BYTES: usize = 9;

impl TestContext {
    /// Returns this end of the context of a principal, without a bound of its lifetime.
    #[must_use]
    pub fn new(side: Side, principal: &[u8]) -> Self {
        let key = checksum(0x9e37_79b9_7f4a_7c15, principal);
        Self { side, principal: principal.to_vec(), key, lifetime: None }
    }

    /// Returns the MIC of a message that `side` sends.
    fn mic_of(&self, side: Side, message: &[u8]) -> [u8; MIC_BYTES] {
        let mut mic = [side as u8; MIC_BYTES];
        mic[..8].copy_from_slice(&checksum(self.key ^ side as u64, message).to_be_bytes());
        mic
    }

    fn mask(&self, bytes: &mut [u8]) {
        let key = self.key.to_be_bytes();
        bytes.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
    }

    /// Returns the token of a message that this end sends.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn wrapped(&self, message: &[u8]) -> Vec<u8> {
        let mut token = [&[0; HEAD.len()], message].concat();
        self.wrap(&mut token, 0).unwrap();
        token
    }
}

/// FNV-1a with a key and the length: steps that can be undone, so that one changed byte changes the result.
fn checksum(key: u64, bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().copied().chain((bytes.len() as u32).to_be_bytes()).fold(key, step)
}

impl SecurityContext for TestContext {
    fn mic(&self, message: &[u8]) -> Result<Vec<u8>, BadToken> {
        Ok(self.mic_of(self.side, message).to_vec())
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), BadToken> {
        if mic == self.mic_of(self.side.other(), message) { Ok(()) } else { Err(BadToken) }
    }

    fn wrap_head_bytes(&self) -> usize {
        HEAD.len()
    }

    fn wrap(&self, buffer: &mut Vec<u8>, start: usize) -> Result<(), BadToken> {
        let (head, message) = buffer[start..].split_at_mut_checked(HEAD.len()).ok_or(BadToken)?;
        head.copy_from_slice(HEAD);
        let mic = self.mic_of(self.side, message);
        self.mask(message);
        buffer.extend_from_slice(&mic);
        Ok(())
    }

    fn unwrap(&self, token: &Bytes) -> Result<Bytes, BadToken> {
        let sealed = token.strip_prefix(HEAD).ok_or(BadToken)?;
        let (message, mic) = sealed.split_last_chunk::<MIC_BYTES>().ok_or(BadToken)?;
        let mut message = message.to_vec();
        self.mask(&mut message);
        self.verify_mic(&message, mic)?;
        Ok(message.into())
    }

    fn principal(&self) -> &[u8] {
        &self.principal
    }

    fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }
}

/// A clock that a test sets, and randomness that is the same in each run.
#[derive(Debug)]
pub struct ManualSurroundings {
    now_ms: AtomicU64,
    draws: AtomicU64,
    boot: BootInstance,
}

impl ManualSurroundings {
    /// Returns surroundings at 0 ms in this run of the server.
    #[must_use]
    pub fn new(boot: u64) -> Self {
        Self { now_ms: AtomicU64::new(0), draws: AtomicU64::new(0), boot: BootInstance(boot) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Surroundings for ManualSurroundings {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn random(&self, bytes: &mut [u8]) {
        let draw = self.draws.fetch_add(1, Ordering::SeqCst).to_be_bytes();
        bytes.iter_mut().zip(draw.iter().cycle()).for_each(|(byte, draw)| *byte = *draw);
    }

    fn boot_instance(&self) -> BootInstance {
        self.boot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_of_one_principal_and_of_the_other_side() {
        let ends = |name: &[u8]| [Side::Initiator, Side::Acceptor].map(|side| TestContext::new(side, name));
        let ([client, server], [stranger, _]) = (ends(b"ann"), ends(b"bob"));
        let (mic, token) = (client.mic(b"message").unwrap(), Bytes::from(client.wrapped(b"message")));
        assert_eq!(server.verify_mic(b"message", &mic), Ok(()));
        assert_eq!(server.unwrap(&token).unwrap(), "message");
        for other in [&client, &stranger] {
            assert_eq!(other.verify_mic(b"message", &mic), Err(BadToken));
            assert_eq!(other.unwrap(&token), Err(BadToken));
        }
    }

    #[test]
    fn token_with_one_wrong_bit_is_bad() {
        let server = TestContext::new(Side::Acceptor, b"ann");
        let token = TestContext::new(Side::Initiator, b"ann").wrapped(b"message");
        for bit in 0..token.len() * 8 {
            let mut wrong = token.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(server.unwrap(&wrong.into()), Err(BadToken), "bit {bit}");
        }
    }
}
