//! The operations on opens, locks, delegations and their stateids.

pub(crate) mod close;
pub(crate) mod deleg_return;
pub(crate) mod free_state_id;
pub(crate) mod get_dir_delegation;
pub(crate) mod lock;
pub(crate) mod lock_t;
pub(crate) mod lock_u;
pub(crate) mod open;
mod open_create;
pub(crate) mod open_downgrade;
pub(crate) mod test_state_id;
pub(crate) mod want_delegation;
