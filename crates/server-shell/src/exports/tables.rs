//! The `[[export]]` tables of a configuration file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use server::exports::{Clients, ExportPath, Flavor, Rule, Squash, TransportSecurity, Version, Versions};
use toml::Spanned;

use super::certificates::{CertificateTable, patterns};
use super::terms::{Draft, Squashed, Terms, Wrong, clients, flavors, id, transports, versions};
use super::{BackEndChoice, ExportSpec};
use crate::back_ends::DEFAULT;

/// An export, as it stands in a file. Every key but `path` is optional.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExportTable {
    /// The directory.
    pub path: Spanned<PathBuf>,
    /// The back end that opens it: `local`, the default, for a directory; `memory` for a file system that
    /// ends with the server, which `path` only names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_end: Option<Spanned<String>>,
    /// Where clients see it; its path, when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pseudo: Option<Spanned<String>>,
    /// Acknowledge changes when they are on disk: the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Spanned<bool>>,
    /// Acknowledge changes before they are on disk.
    #[serde(rename = "async", skip_serializing_if = "Option::is_none")]
    pub asynchronous: Option<Spanned<bool>>,
    /// The versions of NFS: "3", "4", "4.0", "4.1", "4.2"; all, when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Spanned<Vec<String>>>,
    /// Grant delegations to NFSv4 clients, where the server does at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegations: Option<bool>,
    /// Take the groups of a user from this host, and not from the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manage_gids: Option<bool>,
    /// Refuse every change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Who acts as nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<SquashKey>,
    /// Nobody's user id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anonuid: Option<Spanned<i64>>,
    /// Nobody's group id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anongid: Option<Spanned<i64>>,
    /// The flavours of authentication that are accepted, best first: "sys", "none".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<Spanned<Vec<String>>>,
    /// The protections of connections that are accepted: "none", "tls" and "mtls" (a client with a verified
    /// certificate); all, when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xprtsec: Option<Spanned<Vec<String>>>,
    /// Accept calls from ports below 1024 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secure: Option<bool>,
    /// Who may use it, with what is different for them; everybody, when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<ClientTable>,
}

/// Some of the clients of an export, as they stand in a file.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClientTable {
    /// Addresses, networks, names, patterns of names, or `*`.
    pub hosts: Vec<Spanned<String>>,
    /// Refuse every change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Who acts as nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<SquashKey>,
    /// Nobody's user id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anonuid: Option<Spanned<i64>>,
    /// Nobody's group id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anongid: Option<Spanned<i64>>,
    /// The flavours of authentication that are accepted, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<Spanned<Vec<String>>>,
    /// The protections of connections that are accepted: "none", "tls" and "mtls" (a client with a verified
    /// certificate); all, when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xprtsec: Option<Spanned<Vec<String>>>,
    /// Accept calls from ports below 1024 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secure: Option<bool>,
    /// Certificates of clients (`mtls`), any of which will do. Clients with others, or without one, are left
    /// to the tables behind this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<Spanned<Vec<CertificateTable>>>,
}

/// Who acts as nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SquashKey {
    /// The superuser.
    Root,
    /// Everybody.
    All,
    /// Those without ids only.
    None,
}

/// Where something stands, and what is wrong with it.
pub(crate) type WrongAt = (usize, Wrong);

/// The exports that the tables of a file describe; `line_of` tells the line of a place in it.
pub(crate) fn specs(
    tables: &[ExportTable],
    line_of: &impl Fn(usize) -> usize,
) -> Result<Vec<ExportSpec>, WrongAt> {
    tables.iter().map(|table| spec(table, line_of)).collect()
}

fn spec(table: &ExportTable, line_of: &impl Fn(usize) -> usize) -> Result<ExportSpec, WrongAt> {
    let directory = table.path.get_ref();
    let line = line_of(table.path.span().start);
    if !directory.is_absolute() {
        let wrong = format!(
            "the path {} does not begin with /; name the directory from the root",
            directory.display()
        );
        return Err((line, wrong));
    }
    let (at, pseudo) = match &table.pseudo {
        Some(pseudo) => (line_of(pseudo.span().start), pseudo.get_ref().as_str()),
        None => (line, directory.to_str().ok_or((line, "the path is no UTF-8; say `pseudo`".to_owned()))?),
    };
    let path = ExportPath::new(pseudo.as_bytes()).map_err(|error| {
        (at, format!("clients cannot see an export at `{pseudo}`: {error}; use a path such as /data"))
    })?;
    let terms = terms_of_export(table, line_of)?;
    let draft = Draft {
        directory: directory.clone(),
        back_end: match &table.back_end {
            Some(name) => BackEndChoice::Named(name.get_ref().clone()),
            None => BackEndChoice::default(),
        },
        path,
        asynchronous: is_asynchronous(table, line_of)?,
        versions: match &table.versions {
            Some(words) => versions(words.get_ref().iter().map(String::as_str))
                .map_err(|wrong| (line_of(words.span().start), wrong))?,
            None => Versions::ALL,
        },
        delegations: table.delegations.unwrap_or(true),
        manage_gids: table.manage_gids.unwrap_or(false),
        rules: rules(table, line, &terms, line_of)?,
    };
    draft.finish()
}

fn rules(
    table: &ExportTable,
    line: usize,
    terms: &Terms,
    line_of: &impl Fn(usize) -> usize,
) -> Result<Vec<(usize, Rule)>, WrongAt> {
    if table.client.is_empty() {
        return Ok(vec![(line, terms.rule(Clients::All))]);
    }
    let mut rules = Vec::new();
    for client in &table.client {
        let terms = terms_of_client(client, line_of)?.or(terms);
        if let Some(certificates) = &client.certificates
            && terms.transports.is_some_and(|transports| !transports.contains(TransportSecurity::MutualTls))
        {
            let wrong =
                "rules for certificates are for connections with `mtls`; add it to `xprtsec`".to_owned();
            return Err((line_of(certificates.span().start), wrong));
        }
        if client.hosts.is_empty() {
            return Err((
                line,
                format!("a client of {} has no hosts; name some, or `*`", table.path.get_ref().display()),
            ));
        }
        for host in &client.hosts {
            let line = line_of(host.span().start);
            rules.push((line, terms.rule(clients(host.get_ref()).map_err(|wrong| (line, wrong))?)));
        }
    }
    Ok(rules)
}

fn is_asynchronous(table: &ExportTable, line_of: &impl Fn(usize) -> usize) -> Result<bool, WrongAt> {
    match (&table.sync, &table.asynchronous) {
        (Some(sync), Some(asynchronous)) if sync.get_ref() == asynchronous.get_ref() => {
            let wrong = "`sync` and `async` say the opposite of each other; leave one out".to_owned();
            Err((line_of(asynchronous.span().start), wrong))
        }
        (_, Some(asynchronous)) => Ok(*asynchronous.get_ref()),
        (Some(sync), None) => Ok(!sync.get_ref()),
        (None, None) => Ok(false),
    }
}

fn terms_of_export(table: &ExportTable, line_of: &impl Fn(usize) -> usize) -> Result<Terms, WrongAt> {
    Ok(Terms {
        read_only: table.read_only,
        squash: table.squash.map(squashed),
        anonuid: checked(&table.anonuid, line_of, |number| id(*number))?,
        anongid: checked(&table.anongid, line_of, |number| id(*number))?,
        security: checked(&table.security, line_of, |words| flavors(words.iter().map(String::as_str)))?,
        transports: checked(&table.xprtsec, line_of, |words| transports(words.iter().map(String::as_str)))?,
        secure: table.secure,
        certificates: None,
    })
}

fn terms_of_client(client: &ClientTable, line_of: &impl Fn(usize) -> usize) -> Result<Terms, WrongAt> {
    Ok(Terms {
        read_only: client.read_only,
        squash: client.squash.map(squashed),
        anonuid: checked(&client.anonuid, line_of, |number| id(*number))?,
        anongid: checked(&client.anongid, line_of, |number| id(*number))?,
        security: checked(&client.security, line_of, |words| flavors(words.iter().map(String::as_str)))?,
        transports: checked(&client.xprtsec, line_of, |words| transports(words.iter().map(String::as_str)))?,
        secure: client.secure,
        certificates: checked(&client.certificates, line_of, |tables| patterns(tables))?,
    })
}

fn checked<T, U>(
    value: &Option<Spanned<T>>,
    line_of: &impl Fn(usize) -> usize,
    check: impl Fn(&T) -> Result<U, Wrong>,
) -> Result<Option<U>, WrongAt> {
    match value {
        Some(value) => check(value.get_ref()).map(Some).map_err(|wrong| (line_of(value.span().start), wrong)),
        None => Ok(None),
    }
}

fn squashed(key: SquashKey) -> Squashed {
    match key {
        SquashKey::Root => Squashed::Root,
        SquashKey::All => Squashed::All,
        SquashKey::None => Squashed::None,
    }
}

/// A value that stands nowhere.
fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

impl From<&ExportSpec> for ExportTable {
    /// With everything said, and the rules in the order in which they are tried.
    fn from(spec: &ExportSpec) -> Self {
        let versions = spec.options.versions.iter().map(Version::name).map(str::to_owned);
        Self {
            path: unplaced(absolute(&spec.directory)),
            back_end: match &spec.back_end {
                BackEndChoice::Named(name) if name != DEFAULT => Some(unplaced(name.clone())),
                _ => None,
            },
            pseudo: Some(unplaced(spec.path.to_string())),
            sync: None,
            asynchronous: Some(unplaced(spec.asynchronous)),
            versions: Some(unplaced(versions.collect())),
            delegations: Some(spec.options.delegations),
            manage_gids: Some(spec.options.manage_gids),
            read_only: None,
            squash: None,
            anonuid: None,
            anongid: None,
            security: None,
            xprtsec: None,
            secure: None,
            client: spec.options.rules.iter().map(ClientTable::from).collect(),
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl From<&Rule> for ClientTable {
    fn from(rule: &Rule) -> Self {
        let (squash, (uid, gid)) = match rule.squash {
            Squash::None { anonymous } => (SquashKey::None, anonymous),
            Squash::Root { anonymous } => (SquashKey::Root, anonymous),
            Squash::All { anonymous } => (SquashKey::All, anonymous),
        };
        let hosts = match &rule.clients {
            Clients::Networks(networks) => networks.iter().map(ToString::to_string).collect(),
            others => vec![others.to_string()],
        };
        let flavor = |flavor: &Flavor| flavor.name().to_owned();
        Self {
            hosts: hosts.into_iter().map(unplaced).collect(),
            read_only: Some(rule.read_only),
            squash: Some(squash),
            anonuid: Some(unplaced(uid.into())),
            anongid: Some(unplaced(gid.into())),
            security: Some(unplaced(rule.flavors.iter().map(flavor).collect())),
            xprtsec: Some(unplaced(
                rule.transports.iter().map(|security| security.name().to_owned()).collect(),
            )),
            secure: Some(rule.privileged_port),
            certificates: (!rule.certificates.is_empty())
                .then(|| unplaced(rule.certificates.iter().map(CertificateTable::from).collect())),
        }
    }
}
