//! The operations on clients and sessions.

pub(crate) mod backchannel_ctl;
pub(crate) mod bind_conn_to_session;
mod bring_back;
pub(crate) mod create_session;
pub(crate) mod destroy_client_id;
pub(crate) mod destroy_session;
pub(crate) mod exchange_id;
pub(crate) mod reclaim_complete;
pub(crate) mod sequence;
