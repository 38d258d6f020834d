//! Numbers and names of the procedures of NFSv3 (RFC 1813 §3).

use std::fmt;

use xdr::{Decode, Encode};

/// The arguments of a procedure, tied to what answers them.
pub trait Request: Decode + Encode {
    /// Which procedure.
    const PROCEDURE: Procedure;
    /// The body of a success.
    type Ok: Decode + Encode;
    /// The body of a failure.
    type Fail: Decode + Encode;
}

macro_rules! procedures {
    ($($name:ident = $value:literal, $rfc:literal;)*) => {
        /// A procedure of NFSv3.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are those of the standard")]
        pub enum Procedure {
            $($name = $value,)*
        }

        impl Procedure {
            /// All of them, in the order of their numbers, which are 0 to 21.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The procedure with this number.
            pub fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($value => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its number on the wire.
            pub fn number(self) -> u32 {
                self as u32
            }

            /// Its name in the standard.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $rfc,)*
                }
            }
        }
    };
}

procedures! {
    Null = 0, "NULL";
    GetAttr = 1, "GETATTR";
    SetAttr = 2, "SETATTR";
    Lookup = 3, "LOOKUP";
    Access = 4, "ACCESS";
    ReadLink = 5, "READLINK";
    Read = 6, "READ";
    Write = 7, "WRITE";
    Create = 8, "CREATE";
    MkDir = 9, "MKDIR";
    Symlink = 10, "SYMLINK";
    MkNod = 11, "MKNOD";
    Remove = 12, "REMOVE";
    RmDir = 13, "RMDIR";
    Rename = 14, "RENAME";
    Link = 15, "LINK";
    ReadDir = 16, "READDIR";
    ReadDirPlus = 17, "READDIRPLUS";
    FsStat = 18, "FSSTAT";
    FsInfo = 19, "FSINFO";
    PathConf = 20, "PATHCONF";
    Commit = 21, "COMMIT";
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_their_own_inverse_and_without_gaps() {
        for (number, procedure) in Procedure::ALL.iter().enumerate() {
            assert_eq!(procedure.number() as usize, number);
            assert_eq!(Procedure::from_number(procedure.number()), Some(*procedure));
        }
        assert_eq!(Procedure::ALL.len(), 22);
        assert_eq!(Procedure::from_number(22), None);
    }
}
