//! The security of requests, as the factor of a comparison: what does each protection cost?

use std::str::FromStr;

use serde::Deserialize;

use crate::runner::{ArmSpec, Target};

/// How requests are authenticated and protected, by the words of nfs(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Security {
    /// `sys`: users by their numbers, over plain connections.
    Sys,
    /// `tls`: the same over TLS, with the certificate of the server.
    Tls,
    /// `mtls`: with the certificates of both.
    MutualTls,
}

impl Security {
    const ALL: [Self; 3] = [Self::Sys, Self::Tls, Self::MutualTls];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sys => "sys",
            Self::Tls => "tls",
            Self::MutualTls => "mtls",
        }
    }

    /// The option of an address that demands it.
    fn option(self) -> &'static str {
        match self {
            Self::Sys => "xprtsec=none",
            Self::Tls => "xprtsec=tls",
            Self::MutualTls => "xprtsec=mtls",
        }
    }

    /// The arm that has this security on `server`, else on a server of the benchmark's own.
    #[must_use]
    pub fn arm(self, server: Option<&str>) -> ArmSpec {
        let target = match server {
            Some(url) => {
                let joint = if url.contains('?') { '&' } else { '?' };
                Target::Url(format!("{url}{joint}{}", self.option()))
            }
            None => Target::Own { command: None, flags: Vec::new(), query: self.option().to_owned() },
        };
        ArmSpec::new(self.name(), target)
    }
}

impl FromStr for Security {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if let Some(known) = Self::ALL.into_iter().find(|known| known.name() == word) {
            return Ok(known);
        }
        Err(match word {
            "krb5" | "krb5i" | "krb5p" => format!("`{word}` needs Kerberos, which this client does not have"),
            _ => format!("`{word}` is no security; use sys, tls or mtls"),
        })
    }
}

impl TryFrom<String> for Security {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        word.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_add_their_option_to_the_address_of_the_server() {
        let url = |security: Security, server| match security.arm(server).target {
            Target::Url(url) => url,
            target => panic!("{target:?}"),
        };
        assert_eq!(url(Security::Tls, Some("nfs://h/x")), "nfs://h/x?xprtsec=tls");
        let options = Some("nfs://h/x?tls_ca=/ca.pem");
        assert_eq!(url(Security::Sys, options), "nfs://h/x?tls_ca=/ca.pem&xprtsec=none");
        let own = Security::MutualTls.arm(None);
        let query = "xprtsec=mtls".to_owned();
        assert_eq!(own.target, Target::Own { command: None, flags: Vec::new(), query });
        assert_eq!((own.name.as_str(), own.version), ("mtls", None));
    }

    #[test]
    fn unknown_words_are_refused_with_the_known_ones() {
        assert_eq!("mtls".parse(), Ok(Security::MutualTls));
        assert!("krb5p".parse::<Security>().unwrap_err().contains("Kerberos"));
        assert!("ssl".parse::<Security>().unwrap_err().contains("sys, tls or mtls"));
    }
}
