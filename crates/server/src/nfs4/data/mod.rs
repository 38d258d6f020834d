//! The operations on the data of regular files.

pub(crate) mod allocate;
pub(crate) mod clone;
pub(crate) mod commit;
pub(crate) mod copy;
pub(crate) mod deallocate;
pub(crate) mod io_advise;
pub(crate) mod read;
pub(crate) mod read_plus;
pub(crate) mod seek;
pub(crate) mod write;
