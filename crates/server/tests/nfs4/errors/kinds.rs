//! What can go wrong in a back end although its caller did nothing wrong.

use vfs::Error;

/// An error that a back end may meet, and the calls in which it may.
pub struct Kind {
    pub error: fn() -> Error,
    calls: &'static [&'static [&'static str]],
}

impl Kind {
    /// True for a call that may fail like this.
    pub fn meets(&self, call: &str) -> bool {
        self.calls.iter().any(|calls| calls.contains(&call))
    }
}

/// Calls without a user.
const FINDING: &[&str] = &["resolve", "attributes", "access", "stat_fs"];
const LOOKING: &[&str] = &["lookup", "lookup_parent", "read_dir", "read_link", "read"];
const MAKING: &[&str] = &["create", "make_dir", "make_symlink", "make_node"];
const MOVING: &[&str] = &["link", "rename"];
const LEAVING: &[&str] = &["remove", "rename"];
const WRITING: &[&str] = &["write", "set_attributes"];
const SHAPING: &[&str] = &["allocate", "deallocate", "copy", "clone_range"];
const XATTRS: &[&str] = &["get_xattr", "list_xattrs"];
const SETTING_XATTRS: &[&str] = &["set_xattr", "remove_xattr"];
const USING_DATA: &[&str] = &["read", "write", "commit"];

/// All of them. Each meets each of its calls in turn.
pub const KINDS: &[Kind] = &[
    Kind {
        error: || Error::Io(std::io::ErrorKind::Other.into()),
        calls: &[
            FINDING,
            LOOKING,
            MAKING,
            MOVING,
            LEAVING,
            WRITING,
            SHAPING,
            XATTRS,
            SETTING_XATTRS,
            &["commit", "seek"],
        ],
    },
    Kind {
        error: || Error::TryAgain,
        calls: &[
            FINDING,
            LOOKING,
            MAKING,
            MOVING,
            LEAVING,
            WRITING,
            SHAPING,
            XATTRS,
            SETTING_XATTRS,
            &["commit", "seek"],
        ],
    },
    Kind {
        error: || Error::Stale,
        calls: &[
            FINDING,
            LOOKING,
            MAKING,
            MOVING,
            LEAVING,
            WRITING,
            SHAPING,
            XATTRS,
            SETTING_XATTRS,
            &["commit", "seek"],
        ],
    },
    Kind {
        error: || Error::AccessDenied,
        calls: &[
            LOOKING,
            MAKING,
            MOVING,
            LEAVING,
            WRITING,
            SHAPING,
            XATTRS,
            SETTING_XATTRS,
            &["commit", "seek"],
        ],
    },
    Kind {
        error: || Error::NotPermitted,
        calls: &[
            LOOKING,
            MAKING,
            MOVING,
            LEAVING,
            WRITING,
            SHAPING,
            XATTRS,
            SETTING_XATTRS,
            &["commit", "seek"],
        ],
    },
    Kind { error: || Error::ReadOnly, calls: &[MAKING, MOVING, LEAVING, WRITING, SHAPING, SETTING_XATTRS] },
    Kind {
        error: || Error::NoSpace,
        calls: &[MAKING, MOVING, WRITING, SHAPING, SETTING_XATTRS, &["commit"]],
    },
    Kind {
        error: || Error::QuotaExceeded,
        calls: &[MAKING, MOVING, WRITING, SHAPING, SETTING_XATTRS, &["commit"]],
    },
    Kind { error: || Error::FileTooBig, calls: &[WRITING, SHAPING, &["create"]] },
    Kind { error: || Error::TooManyLinks, calls: &[MOVING, &["make_dir"]] },
    Kind { error: || Error::NameTooLong, calls: &[MAKING, MOVING, LEAVING, &["lookup"]] },
    Kind { error: || Error::InvalidName, calls: &[MAKING, MOVING, LEAVING, &["lookup"]] },
    Kind { error: || Error::Exists, calls: &[MAKING, MOVING] },
    Kind { error: || Error::NotFound, calls: &[MAKING, MOVING, LEAVING, &["lookup", "lookup_parent"]] },
    Kind {
        error: || Error::NotDirectory,
        calls: &[MAKING, MOVING, LEAVING, &["lookup", "lookup_parent", "read_dir"]],
    },
    Kind { error: || Error::IsDirectory, calls: &[MOVING, USING_DATA] },
    Kind { error: || Error::IsSymlink, calls: &[USING_DATA, &["lookup", "create"]] },
    Kind { error: || Error::CrossDevice, calls: &[MOVING] },
    Kind { error: || Error::Busy, calls: &[MOVING, LEAVING, WRITING, SHAPING, SETTING_XATTRS] },
    Kind {
        error: || Error::Invalid,
        calls: &[
            &["lookup", "read_dir", "read_link", "read"],
            MAKING,
            MOVING,
            LEAVING,
            WRITING,
            SHAPING,
            SETTING_XATTRS,
            &["commit"],
        ],
    },
    Kind { error: || Error::BadType, calls: &[&["make_node"]] },
    Kind {
        error: || Error::NotSupported,
        calls: &[MAKING, MOVING, WRITING, SHAPING, XATTRS, SETTING_XATTRS, &["commit", "seek"]],
    },
    Kind { error: || Error::NoXattr, calls: &[&["get_xattr"], SETTING_XATTRS] },
    Kind { error: || Error::XattrTooBig, calls: &[SETTING_XATTRS] },
    Kind { error: || Error::BeyondEnd, calls: &[&["seek"]] },
    Kind { error: || Error::NotEmpty, calls: &[LEAVING] },
    Kind { error: || Error::BadCookie, calls: &[&["read_dir"]] },
];
