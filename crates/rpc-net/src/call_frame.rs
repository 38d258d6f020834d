//! Calls of ours as whole records, and the results in their replies.

use bytes::Bytes;
use rpc::auth::{CallProtection, OpaqueAuth, Pass};
use rpc::message::{self, Message};
use rpc::{CallError, CallHeader, Credential};
use xdr::{Decoder, Encoder};

/// Room for most calls without data, in bytes.
const CALL_BYTES: usize = 512;

/// Returns a whole record that carries a call.
pub(crate) fn frame_call(
    header: &CallHeader,
    credential: &Credential,
    arguments: impl FnOnce(&mut Encoder),
) -> Vec<u8> {
    let mut encoder = Encoder::with_buffer(Vec::with_capacity(CALL_BYTES));
    encoder.u32(0);
    message::encode_call(header, credential, &mut encoder);
    arguments(&mut encoder);
    with_mark(encoder)
}

/// As [`frame_call`], with proof and protection.
fn frame_protected_call(
    header: &CallHeader,
    protection: &mut dyn CallProtection,
    arguments: impl FnOnce(&mut Encoder),
) -> Vec<u8> {
    let mut encoder = Encoder::with_buffer(Vec::with_capacity(CALL_BYTES));
    encoder.u32(0);
    let (start, credential) = (encoder.len(), protection.credential());
    message::encode_verified_call(header, &credential, &mut encoder, start, |signed| {
        protection.verifier(signed)
    });
    let start = encoder.len();
    protection.begin(&mut encoder);
    arguments(&mut encoder);
    protection.wrap(&mut encoder, start);
    with_mark(encoder)
}

/// Returns a whole record that carries a call with `pass`, and the protection that its reply has
/// ([`results_of`]).
pub(crate) fn frame_call_with(
    header: &CallHeader,
    pass: Pass,
    arguments: impl FnOnce(&mut Encoder),
) -> (Vec<u8>, Option<Box<dyn CallProtection>>) {
    match pass {
        Pass::Plain(credential) => (frame_call(header, &credential, arguments), None),
        Pass::Protected(mut protection) => {
            (frame_protected_call(header, &mut *protection, arguments), Some(protection))
        }
    }
}

/// Returns the results of a reply, whose decoder stands behind xid and type, after the check of its verifier.
///
/// # Errors
/// `Protocol` when the reply cannot be decoded, `Refused`, and those of [`CallProtection::unwrap`].
pub(crate) fn results_of(
    mut reply: Decoder,
    protection: Option<Box<dyn CallProtection>>,
) -> Result<Decoder, CallError> {
    let verifier =
        message::decode_reply(&mut reply).map_err(CallError::Protocol)?.map_err(CallError::Refused)?;
    let Some(mut protection) = protection else { return Ok(reply) };
    let message = reply.clone();
    protection.unwrap(verifier.of(message.input_ref()), reply)
}

/// Returns the result of `check` on verifier and results of a whole message; `None` unless the message is an
/// accepted reply to the call `xid`, with SUCCESS.
pub(crate) fn with_verifier<R>(
    message: Bytes,
    xid: u32,
    check: impl FnOnce(OpaqueAuth<'_>, &[u8]) -> R,
) -> Option<R> {
    let mut decoder = Decoder::new(message);
    match message::decode(&mut decoder).ok()? {
        Message::Reply { xid: of } if of == xid => {}
        _ => return None,
    }
    let verifier = message::decode_reply(&mut decoder).ok()?.ok()?;
    Some(check(verifier.of(decoder.input_ref()), decoder.rest_ref()))
}

/// Fills in the mark that was left open in the first four bytes.
fn with_mark(encoder: Encoder) -> Vec<u8> {
    let mut frame = encoder.into_inner();
    let length = frame.len() - 4;
    frame[..4].copy_from_slice(&rpc::mark(length));
    frame
}
