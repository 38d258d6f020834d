//! What may be said of an export or of some of its clients, in either form of configuration; what is not said
//! is left open.

use std::net::IpAddr;
use std::path::PathBuf;

use server::exports::{
    CertificatePattern, Clients, ExportOptions, ExportPath, Flavor, NamePattern, Network, Rule, Squash,
    TransportSecurities, TransportSecurity, Version, Versions,
};

use super::{BackEndChoice, ExportSpec};

/// Why a word of a configuration cannot be used: a sentence's end, with what to do about it.
pub(super) type Wrong = String;

/// Which callers act as nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Squashed {
    None,
    Root,
    All,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Terms {
    pub(super) read_only: Option<bool>,
    pub(super) squash: Option<Squashed>,
    pub(super) anonuid: Option<u32>,
    pub(super) anongid: Option<u32>,
    pub(super) security: Option<Vec<Flavor>>,
    pub(super) transports: Option<TransportSecurities>,
    pub(super) secure: Option<bool>,
    pub(super) certificates: Option<Vec<CertificatePattern>>,
}

impl Terms {
    /// These, and where they say nothing `others`.
    pub(super) fn or(&self, others: &Self) -> Self {
        Self {
            read_only: self.read_only.or(others.read_only),
            squash: self.squash.or(others.squash),
            anonuid: self.anonuid.or(others.anonuid),
            anongid: self.anongid.or(others.anongid),
            security: self.security.clone().or_else(|| others.security.clone()),
            transports: self.transports.or(others.transports),
            secure: self.secure.or(others.secure),
            certificates: self.certificates.clone().or_else(|| others.certificates.clone()),
        }
    }

    /// A rule for these clients, with the defaults where nothing is said.
    pub(super) fn rule(&self, clients: Clients) -> Rule {
        let (nobody, nogroup) = Squash::NOBODY;
        let anonymous = (self.anonuid.unwrap_or(nobody), self.anongid.unwrap_or(nogroup));
        let squash = match self.squash.unwrap_or(Squashed::Root) {
            Squashed::None => Squash::None { anonymous },
            Squashed::Root => Squash::Root { anonymous },
            Squashed::All => Squash::All { anonymous },
        };
        let default = Rule::default();
        Rule {
            clients,
            certificates: self.certificates.clone().unwrap_or_default(),
            read_only: self.read_only.unwrap_or(default.read_only),
            squash,
            flavors: self.security.clone().unwrap_or(default.flavors),
            transports: self.transports.unwrap_or(default.transports),
            privileged_port: self.secure.unwrap_or(default.privileged_port),
        }
    }
}

/// The word of `words` that is most like `word`, to be asked back: "; did you mean `x`?".
pub(crate) fn nearest(word: &str, words: &[&str]) -> String {
    let most_like = words
        .iter()
        .max_by(|one, other| strsim::jaro_winkler(word, one).total_cmp(&strsim::jaro_winkler(word, other)));
    most_like.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

/// A flavor of authentication.
pub(super) fn flavor(word: &str) -> Result<Flavor, Wrong> {
    if let Some(flavor) = Flavor::ALL.into_iter().find(|flavor| flavor.name() == word) {
        return Ok(flavor);
    }
    Err(match word {
        "tls" | "mtls" => {
            format!("`{word}` protects connections and authenticates no user; say it as `xprtsec`")
        }
        _ => {
            let nearest = nearest(word, &Flavor::ALL.map(Flavor::name));
            format!("`{word}` is no flavor of authentication{nearest}")
        }
    })
}

/// Several, each once.
pub(super) fn flavors<'w>(words: impl Iterator<Item = &'w str>) -> Result<Vec<Flavor>, Wrong> {
    let mut flavors = Vec::new();
    for word in words {
        let flavor = flavor(word)?;
        if !flavors.contains(&flavor) {
            flavors.push(flavor);
        }
    }
    if flavors.is_empty() {
        return Err(
            "no flavor of authentication is named; use `sys`, `krb5`, `krb5i`, `krb5p` or `none`".to_owned()
        );
    }
    Ok(flavors)
}

/// Protections of connections, by the names of exports(5).
pub(super) fn transports<'w>(words: impl Iterator<Item = &'w str>) -> Result<TransportSecurities, Wrong> {
    let mut found = Vec::new();
    for word in words {
        let named = TransportSecurity::ALL.into_iter().find(|security| security.name() == word);
        found.push(named.ok_or_else(|| {
            format!("`{word}` is no protection of connections{}", nearest(word, &["none", "tls", "mtls"]))
        })?);
    }
    if found.is_empty() {
        return Err("no protection of connections is named; use `none`, `tls` or `mtls`".to_owned());
    }
    Ok(found.into_iter().collect())
}

/// Versions of NFS; `4` means all of its minor versions.
pub(super) fn versions<'w>(words: impl Iterator<Item = &'w str>) -> Result<Versions, Wrong> {
    let mut found = Vec::new();
    for word in words {
        match word {
            "4" => found.extend(Version::ALL.into_iter().filter(|version| *version != Version::V3)),
            _ => {
                let named = Version::ALL.into_iter().find(|version| version.name() == word);
                found.push(named.ok_or_else(|| {
                    format!("`{word}` is no version of NFS that is served; use 3, 4, 4.0, 4.1 or 4.2")
                })?);
            }
        }
    }
    if found.is_empty() {
        return Err("no version of NFS is named; use 3, 4, 4.0, 4.1 or 4.2".to_owned());
    }
    Ok(found.into_iter().collect())
}

/// A user or group id.
pub(super) fn id(number: i64) -> Result<u32, Wrong> {
    // The highest number means "no id" to the system.
    let id = u32::try_from(number).ok().filter(|id| *id != u32::MAX);
    id.ok_or_else(|| format!("{number} is no id; use a number from 0 to {}", u32::MAX - 1))
}

/// Clients as both forms write them: `*`, an address, a network as `ADDRESS/BITS` or `ADDRESS/MASK`, a name,
/// a pattern of names, `@` and a netgroup.
pub(super) fn clients(word: &str) -> Result<Clients, Wrong> {
    if word == "*" {
        return Ok(Clients::All);
    }
    if let Some(group) = word.strip_prefix('@') {
        return match is_name(group) {
            true => Ok(Clients::Named(NamePattern::Netgroup(group.to_owned()))),
            false => Err(format!(
                "`{word}` is no netgroup; one is written as `@` and letters, digits, `-`, `_` or `.`"
            )),
        };
    }
    if let Ok(address) = word.parse::<IpAddr>() {
        return Ok(single(address));
    }
    if let Some((address, prefix)) = word.split_once('/') {
        return network(word, address, prefix).map(|network| Clients::Networks(vec![network]));
    }
    if word.contains(['[', ']', '{', '}']) {
        return Err(format!("`{word}` has a set of letters, which is not understood; use `*` and `?`"));
    }
    let is_pattern = word.contains(['*', '?']);
    if !is_name(&word.replace(['*', '?'], "x")) {
        return Err(format!(
            "`{word}` is neither an address, a network such as 192.0.2.0/24, nor the name of a host or a \
             pattern of names"
        ));
    }
    let name = word.to_owned();
    Ok(Clients::Named(if is_pattern { NamePattern::Wildcard(name) } else { NamePattern::Host(name) }))
}

fn single(address: IpAddr) -> Clients {
    let address = address.to_canonical();
    Clients::Networks(vec![Network { address, prefix_bits: Network::host_bits(address) }])
}

fn network(word: &str, address: &str, prefix: &str) -> Result<Network, Wrong> {
    let address: IpAddr = address
        .parse()
        .map_err(|_| format!("`{address}` in `{word}` is no address; use one such as 192.0.2.0"))?;
    let bits_max = Network::host_bits(address);
    let bits = match (prefix.parse::<u8>(), prefix.parse::<std::net::Ipv4Addr>()) {
        (Ok(bits), _) => Some(bits),
        // A mask of ones and then zeros.
        (_, Ok(mask)) if address.is_ipv4() => {
            let mask = mask.to_bits();
            let ones = mask.leading_ones();
            (mask.checked_shl(ones).unwrap_or(0) == 0).then_some(ones as u8)
        }
        _ => None,
    };
    let bits = bits.filter(|bits| *bits <= bits_max);
    let prefix_bits = bits
        .ok_or_else(|| format!("`{prefix}` in `{word}` is no prefix; use a number from 0 to {bits_max}"))?;
    let network = Network { address, prefix_bits };
    match first(&network) {
        first if first == address => Ok(network),
        first => Err(format!(
            "`{word}` has bits beyond its prefix; use {first}/{prefix_bits}, or the address alone"
        )),
    }
}

/// The first address of a network.
fn first(network: &Network) -> IpAddr {
    let bits = u32::from(network.prefix_bits);
    match network.address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

/// True for letters, digits, hyphens, underscores and dots, in parts that are not empty.
fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.len() <= 255 && text.split('.').all(|part| !part.is_empty() && part.bytes().all(allowed))
}

/// An export as it is written, with all that is not said left out.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) directory: PathBuf,
    pub(super) path: ExportPath,
    pub(super) asynchronous: bool,
    pub(super) versions: Versions,
    pub(super) back_end: BackEndChoice,
    pub(super) delegations: bool,
    pub(super) manage_gids: bool,
    /// Each with where it stands.
    pub(super) rules: Vec<(usize, Rule)>,
}

impl Draft {
    /// The export, when every rule of it can ever apply.
    ///
    /// # Errors
    /// The line of a rule that cannot, and why.
    pub(super) fn finish(self) -> Result<ExportSpec, (usize, Wrong)> {
        for (index, (line, rule)) in self.rules.iter().enumerate() {
            let earlier = &self.rules[..index];
            if let Some((other, wider)) = earlier.iter().find(|(_, other)| other.covers(rule)) {
                let (clients, wider) = (&rule.clients, &wider.clients);
                return Err((
                    *line,
                    format!(
                        "the rule for {clients} never applies, since that for {wider} in line {other} comes \
                         first; put it before that, or leave it out"
                    ),
                ));
            }
        }
        let options = ExportOptions {
            rules: self.rules.into_iter().map(|(_, rule)| rule).collect(),
            versions: self.versions,
            manage_gids: self.manage_gids,
            delegations: self.delegations,
        };
        Ok(ExportSpec {
            directory: self.directory,
            back_end: self.back_end,
            path: self.path,
            mount_path: None,
            asynchronous: self.asynchronous,
            options,
        })
    }
}

#[cfg(test)]
mod tests {
    use rpc::auth::gss::GssService;

    use super::*;

    #[test]
    fn clients_are_written_as_addresses_networks_names_and_patterns() {
        for (word, shown) in [
            ("*", "*"),
            ("10.0.0.7", "10.0.0.7"),
            ("::ffff:10.0.0.7", "10.0.0.7"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.0.0.0/255.0.0.0", "10.0.0.0/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("client.example.org", "client.example.org"),
            ("*.example.org", "*.example.org"),
            ("lab-??", "lab-??"),
            ("@staff", "@staff"),
        ] {
            assert_eq!(clients(word).map(|clients| clients.to_string()).as_deref(), Ok(shown), "{word}");
        }
    }

    #[test]
    fn clients_that_are_none_are_refused_with_the_reason() {
        for (word, reason) in [
            ("@", "is no netgroup"),
            ("10.0.0.1/8", "use 10.0.0.0/8"),
            ("10.0.0.0/33", "0 to 32"),
            ("10.0.0.0/255.0.255.0", "is no prefix"),
            ("2001:db8::/129", "0 to 128"),
            ("example.org/24", "is no address"),
            ("lab[1-9].x", "set of letters"),
            ("a b", "neither"),
            ("a..b", "neither"),
        ] {
            let wrong = clients(word).unwrap_err();
            assert!(wrong.contains(reason), "{word}: {wrong}");
        }
    }

    #[test]
    fn flavors_versions_and_ids_have_their_words() {
        assert_eq!(flavors(["sys", "none", "sys"].into_iter()), Ok(vec![Flavor::Sys, Flavor::None]));
        assert_eq!(flavor("krb5p"), Ok(Flavor::Kerberos(GssService::Privacy)));
        assert!(flavor("nonne").unwrap_err().contains("did you mean `none`?"));
        assert_eq!(
            versions(["3", "4.1"].into_iter()),
            Ok([Version::V3, Version::V4_1].into_iter().collect())
        );
        assert_eq!(versions(["3", "4"].into_iter()), Ok(Versions::ALL));
        assert!(versions(["2"].into_iter()).is_err() && versions([].into_iter()).is_err());
        assert_eq!((id(0), id(4_294_967_294)), (Ok(0), Ok(4_294_967_294)));
        assert!(id(-1).is_err() && id(4_294_967_295).is_err());
    }
}
