//! The network namespaces that clients are in: those of the user, or those that the benchmark makes.
//!
//! Owns those that it makes, which end with it. Those of killed benchmarks are removed by the next that makes
//! some.

use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use netlab::guest::BridgedNamespaces;

use super::check::most_clients;
use super::{Error, Options};

/// The word for namespaces that the benchmark makes.
const AUTO: &str = "auto";

/// Which network namespaces clients are in. The default is that of the benchmark, for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientNamespaces {
    /// Namespaces by name (ip-netns(8)), one for each client; none for that of the benchmark.
    Named(Vec<String>),
    /// One for each client, made and removed by the benchmark.
    Auto,
}

impl ClientNamespaces {
    /// Whether clients are in the network namespace of the benchmark.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Named(names) if names.is_empty())
    }
}

impl Default for ClientNamespaces {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

impl fmt::Display for ClientNamespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(names) => formatter.write_str(&names.join(",")),
            Self::Auto => formatter.write_str(AUTO),
        }
    }
}

impl FromStr for ClientNamespaces {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            AUTO => Self::Auto,
            names => Self::Named(names.split(',').map(str::to_owned).collect()),
        })
    }
}

/// The namespaces of a running benchmark. Those that it made are removed when this is dropped, which must be
/// after the end of the mounts in them.
pub(crate) struct ClientNetwork {
    names: Vec<String>,
    made: Option<BridgedNamespaces>,
}

impl ClientNetwork {
    /// Makes the namespaces that `options` ask for.
    pub(crate) fn open(options: &Options) -> Result<Self, Error> {
        let names = match &options.client_namespaces {
            ClientNamespaces::Named(names) => names.clone(),
            ClientNamespaces::Auto => {
                let made = BridgedNamespaces::create(most_clients(options)).map_err(|error| {
                    Error::Usage(format!(
                        "network namespaces for the clients cannot be made: {error}; make them with \
                         ip-netns(8) and name them in --client-namespaces"
                    ))
                })?;
                let names = made.names().map(str::to_owned).collect();
                return Ok(Self { names, made: Some(made) });
            }
        };
        Ok(Self { names, made: None })
    }

    /// The names, in the order of the clients.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The address by which namespaces that were made reach this machine.
    pub(crate) fn host_address(&self) -> Option<IpAddr> {
        self.made.as_ref().map(BridgedNamespaces::host_address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_written_as_they_are_read() {
        for text in ["auto", "a", "a,b"] {
            assert_eq!(text.parse::<ClientNamespaces>().unwrap().to_string(), text);
        }
        assert_eq!("auto".parse(), Ok(ClientNamespaces::Auto));
        assert!(ClientNamespaces::default().is_empty() && !ClientNamespaces::Auto.is_empty());
    }
}
