//! One table gives a protocol's status codes, their names and their encoding.

/// Writes the enum `Status` with its codec from rows of name, code and the standard's name. The first line is
/// the documentation of the type.
macro_rules! statuses {
    ($(#[$type_doc:meta])+ ; $($(#[$doc:meta])* $name:ident = $value:literal, $rfc:literal;)*) => {
        $(#[$type_doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Status {
            $($(#[$doc])* $name,)*
            /// A code that no standard known here defines.
            Unknown(u32),
        }

        impl Status {
            /// All that the standards define, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code on the wire.
            pub fn code(self) -> u32 {
                match self {
                    $(Self::$name => $value,)*
                    Self::Unknown(code) => code,
                }
            }

            /// The status with this code.
            pub fn from_code(code: u32) -> Self {
                match code {
                    $($value => Self::$name,)*
                    other => Self::Unknown(other),
                }
            }

            /// The name that the standards use.
            pub fn rfc_name(self) -> &'static str {
                match self {
                    $(Self::$name => $rfc,)*
                    Self::Unknown(_) => "unknown status",
                }
            }
        }

        impl xdr::Decode for Status {
            fn decode(from: &mut xdr::Decoder) -> xdr::Result<Self> {
                from.u32().map(Self::from_code)
            }
        }

        impl xdr::Encode for Status {
            fn encode(&self, to: &mut xdr::Encoder) {
                to.u32(self.code());
            }
        }

        impl std::fmt::Display for Status {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    Self::Unknown(code) => write!(f, "status {code}"),
                    known => f.write_str(known.rfc_name()),
                }
            }
        }

        impl std::error::Error for Status {}
    };
}

pub(crate) use statuses;
