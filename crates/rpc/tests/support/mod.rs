//! What several tests send over sockets of their own.

/// A call without arguments, with its mark.
pub fn call(xid: u32) -> Vec<u8> {
    // CALL, RPC version, program, version, procedure, credential, verifier.
    let words = [xid, 0, 2, 400_000, 1, 0, 0, 0, 0, 0];
    let mut bytes = rpc::mark(words.len() * 4).to_vec();
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    bytes
}
