//! What the server takes away from a client: leases that ran out, revocations, networks that fail.
