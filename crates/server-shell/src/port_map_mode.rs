//! How clients of NFSv3 find the programs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How clients of NFSv3 find the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PortMapMode {
    /// They are told the port; locks are then the client's own.
    #[default]
    None,
    /// A running rpcbind is told where they listen.
    Register,
    /// This server is the port mapper, on port 111.
    Builtin,
}

impl PortMapMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Register, Self::Builtin];
}

impl fmt::Display for PortMapMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Register => "register",
            Self::Builtin => "builtin",
        })
    }
}

impl FromStr for PortMapMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mode| mode.to_string() == text);
        found.ok_or_else(|| "it is one of none, register and builtin".to_owned())
    }
}
