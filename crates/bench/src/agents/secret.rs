//! Who may give orders to an agent at a port: who knows its secret. Both prove it without telling it, by
//! HMAC-SHA-256 (RFC 2104) over numbers that both have chosen. What follows is neither encrypted nor signed:
//! a network that is not trusted is for ssh.

use std::io;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::channel::{Receiver, Sender};

/// A shorter secret could be guessed.
const SECRET_BYTES_MIN: usize = 16;
const SECRET_BYTES_MAX: u64 = 4096;
const NONCE_BYTES: usize = 32;
const PROOF_BYTES: usize = 32;

/// What an agent and who may use it have in common.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Reads it; white space around it is no part of it.
    ///
    /// # Errors
    /// One sentence: it cannot be read, or is not from 16 to 4096 bytes long.
    pub fn read(path: &Path) -> Result<Self, String> {
        let make = "head -c 32 /dev/urandom | base64 makes one";
        let failed = |cause: String| format!("cannot use the secret in {}: {cause}; {make}", path.display());
        let length = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
        if length > SECRET_BYTES_MAX {
            return Err(failed(format!("it has {length} bytes, and at most {SECRET_BYTES_MAX} may be")));
        }
        let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let text = text.trim_ascii();
        if text.len() < SECRET_BYTES_MIN {
            return Err(failed(format!("it has {} bytes, and {SECRET_BYTES_MIN} must be", text.len())));
        }
        Ok(Self(text.to_owned()))
    }

    /// The agent's side: true when the other knows the secret.
    pub(super) async fn admit(&self, to: &mut Sender, from: &mut Receiver) -> io::Result<bool> {
        let mine: [u8; NONCE_BYTES] = rand::random();
        to.raw(&mine).await?;
        to.flush().await?;
        let theirs: [u8; NONCE_BYTES] = from.raw().await?;
        let proof: [u8; PROOF_BYTES] = from.raw().await?;
        if self.proof("measures", &mine, &theirs).verify_slice(&proof).is_err() {
            return Ok(false);
        }
        to.raw(&self.proof("agent", &theirs, &mine).finalize().into_bytes()).await?;
        to.flush().await?;
        Ok(true)
    }

    /// The other side: true when the agent knows the secret, too.
    pub(super) async fn present(&self, to: &mut Sender, from: &mut Receiver) -> io::Result<bool> {
        let theirs: [u8; NONCE_BYTES] = from.raw().await?;
        let mine: [u8; NONCE_BYTES] = rand::random();
        to.raw(&mine).await?;
        to.raw(&self.proof("measures", &theirs, &mine).finalize().into_bytes()).await?;
        to.flush().await?;
        let proof: [u8; PROOF_BYTES] = from.raw().await?;
        Ok(self.proof("agent", &mine, &theirs).verify_slice(&proof).is_ok())
    }

    fn proof(&self, who: &str, first: &[u8], second: &[u8]) -> Hmac<Sha256> {
        let mut proof = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        for part in [who.as_bytes(), first, second] {
            proof.update(part);
        }
        proof
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::channel;
    use super::*;

    async fn meet(one: &Secret, other: &Secret) -> (io::Result<bool>, io::Result<bool>) {
        let (near, far) = tokio::io::duplex(256);
        let (agent, measuring) = (one.clone(), other.clone());
        let admitted = tokio::spawn(async move {
            let (from, to) = tokio::io::split(near);
            let (mut to, mut from) = channel(from, to);
            agent.admit(&mut to, &mut from).await
        });
        let (from, to) = tokio::io::split(far);
        let (mut to, mut from) = channel(from, to);
        let presented = measuring.present(&mut to, &mut from).await;
        (admitted.await.unwrap(), presented)
    }

    #[tokio::test]
    async fn only_who_knows_the_secret_is_admitted() {
        let (right, wrong) = (Secret(b"0123456789abcdef".to_vec()), Secret(b"0123456789abcdeF".to_vec()));
        let (admitted, presented) = meet(&right, &right.clone()).await;
        assert!(admitted.unwrap() && presented.unwrap());
        let (admitted, presented) = meet(&right, &wrong).await;
        assert!(!admitted.unwrap() && presented.is_err(), "the agent hangs up");
    }

    #[test]
    fn a_secret_that_could_be_guessed_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "  short  \n").unwrap();
        assert!(Secret::read(file.path()).unwrap_err().contains("it has 5 bytes, and 16 must be"));
        std::fs::write(file.path(), "long enough to be a secret\n").unwrap();
        assert_eq!(Secret::read(file.path()).unwrap().0, b"long enough to be a secret");
    }
}
