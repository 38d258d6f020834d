//! The operations on file handles and names.

pub(crate) mod create;
pub(crate) mod get_fh;
pub(crate) mod link;
pub(crate) mod lookup;
pub(crate) mod lookup_parent;
pub(crate) mod put_fh;
pub(crate) mod put_pub_fh;
pub(crate) mod put_root_fh;
pub(crate) mod read_dir;
pub(crate) mod read_link;
pub(crate) mod remove;
pub(crate) mod rename;
pub(crate) mod restore_fh;
pub(crate) mod save_fh;
pub(crate) mod sec_info;
pub(crate) mod sec_info_no_name;
