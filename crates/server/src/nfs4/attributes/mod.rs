//! Attributes: from a back end's to NFSv4's and back (RFC 8881 §5). `docs/attributes.md` says which there are, and why.

mod set;
mod sets;
mod values;

pub(crate) use set::to_set;
pub(crate) use sets::{
    DELEGATED_TIMES, SETTABLE, SETTABLE_BY_SETATTR, SETTABLE_EXCLUSIVELY, check_supported, not_supported,
    write_only,
};
pub(crate) use values::{of, of_error};
