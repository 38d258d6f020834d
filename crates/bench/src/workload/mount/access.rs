//! What is asked of a client: its habits, and how it opens a file.

/// What a client may do of its own accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Habits {
    /// Whether it asks for delegations.
    pub(crate) delegations: bool,
    /// Whether it reads ahead.
    pub(crate) readahead: bool,
    /// Whether it keeps what it has read.
    pub(crate) data_cache: bool,
}

/// How to open a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    /// To read it.
    Read,
    /// To overwrite it in place.
    Write {
        /// Whether each write is on stable storage before it returns.
        sync: bool,
    },
    /// To read it and overwrite it in place.
    ReadWrite {
        /// Whether each write is on stable storage before it returns.
        sync: bool,
    },
    /// To make it, and to read and write it.
    CreateReadWrite {
        /// Whether each write is on stable storage before it returns.
        sync: bool,
    },
    /// To write it anew, made when it is absent.
    Replace,
    /// To make it, as creat(2) does.
    Create,
}
