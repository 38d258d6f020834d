//! The table `[kerberos]` of a configuration.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The service of NFS servers (RFC 7530 §3.2.1).
const SERVICE: &str = "nfs";

/// The keys of a server, and the accounts of its clients' principals.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KerberosTable {
    /// The file with the key of the service; the system's (`/etc/krb5.keytab`), when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keytab: Option<PathBuf>,
    /// The service that clients have tickets for: `nfs`, when nothing is said; `*` for any service with a
    /// key in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Principals whose accounts are not those that the rules of the Kerberos library give
    /// (`auth_to_local`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user: Vec<PrincipalTable>,
}

/// The account of a principal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalTable {
    /// The principal, such as `host/build.example.org@EXAMPLE.ORG`.
    pub principal: String,
    /// The name of an account of this host. It may be `root`.
    pub account: String,
}

impl KerberosTable {
    /// The service; `None` for any.
    pub(super) fn service(&self) -> Option<&str> {
        match self.service.as_deref() {
            Some("*") => None,
            Some(service) => Some(service),
            None => Some(SERVICE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_is_nfs_unless_another_or_any_is_named() {
        let named = |service: Option<&str>| KerberosTable {
            service: service.map(str::to_owned),
            ..KerberosTable::default()
        };
        assert_eq!(named(None).service(), Some("nfs"));
        assert_eq!(named(Some("files")).service(), Some("files"));
        assert_eq!(named(Some("*")).service(), None);
    }
}
