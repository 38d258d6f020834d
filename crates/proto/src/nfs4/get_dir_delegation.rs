//! GET_DIR_DELEGATION (RFC 8881 §18.39).

use xdr::Xdr;

use super::attributes::Bitmap;
use super::{StateId, Time, Verifier};

/// `GET_DIR_DELEGATION4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct GetDirDelegationArgs {
    /// The client would like to hear when a delegation can be had.
    pub signal_available: bool,
    /// The changes that it would like to be notified of instead of a recall.
    pub notification_types: Bitmap,
    /// How late notifications about entries may come.
    pub child_attribute_delay: Time,
    /// How late notifications about the directory may come.
    pub directory_attribute_delay: Time,
    /// Attributes of entries that it would like to be notified of.
    pub child_attributes: Bitmap,
    /// Attributes of the directory that it would like to be notified of.
    pub directory_attributes: Bitmap,
}

/// `GET_DIR_DELEGATION4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct DirDelegation {
    /// As in READDIR.
    pub cookie_verifier: Verifier,
    /// The delegation.
    pub state_id: StateId,
    /// The changes that the client will be notified of.
    pub notification_types: Bitmap,
    /// Attributes of entries that it will be notified of.
    pub child_attributes: Bitmap,
    /// Attributes of the directory that it will be notified of.
    pub directory_attributes: Bitmap,
}

/// `GET_DIR_DELEGATION4res_non_fatal`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum GetDirDelegationResult {
    /// Granted.
    #[xdr(case = 0)]
    Ok(DirDelegation),
    /// Not granted; true when the server will say when it can be had.
    #[xdr(case = 1)]
    Unavailable(bool),
}
