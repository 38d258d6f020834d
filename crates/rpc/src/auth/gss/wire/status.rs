//! The major status codes of GSS-API (RFC 2203, appendix A).

use xdr::Xdr;

/// A major status code. The number is what a mechanism returns; constants name those that the server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct MajorStatus(pub u32);

impl MajorStatus {
    /// `GSS_S_COMPLETE`: the context is established.
    pub const COMPLETE: Self = Self(0);
    /// `GSS_S_CONTINUE_NEEDED`: another token of the client is needed.
    pub const CONTINUE_NEEDED: Self = Self(1);
    /// `GSS_S_BAD_NAME`: the name of the client cannot be used.
    pub const BAD_NAME: Self = Self(0x0002_0000);
    /// `GSS_S_NO_CONTEXT`: there is no such context.
    pub const NO_CONTEXT: Self = Self(0x0008_0000);
    /// `GSS_S_DEFECTIVE_TOKEN`: the token cannot be read.
    pub const DEFECTIVE_TOKEN: Self = Self(0x0009_0000);
    /// `GSS_S_CONTEXT_EXPIRED`: the context has no lifetime left.
    pub const CONTEXT_EXPIRED: Self = Self(0x000c_0000);
    /// `GSS_S_FAILURE`: any other reason, which the minor status may name.
    pub const FAILURE: Self = Self(0x000d_0000);

    /// True when the context could not be established: a calling error or a routine error is set.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.0 >> 16 != 0
    }
}
