//! Addresses: `nfs://host[:port]/path?version=4.1&…`, one spelling everywhere. Parses and resolves; connects
//! to nothing.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use crate::options::Options;
use crate::setting::Setting;

/// The port of NFS.
pub const DEFAULT_PORT: u16 = 2049;

/// Where a tree is and how to reach it.
///
/// ```
/// let url: client::Url = "nfs://[::1]:2050/data/a%20b?version=3&nconnect=2".parse().unwrap();
/// assert_eq!((url.host(), url.port(), url.path()), ("::1", 2050, b"/data/a b".as_slice()));
/// assert_eq!(url.options().connections, 2);
/// assert_eq!(url.to_string(), "nfs://[::1]:2050/data/a%20b?version=3&nconnect=2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    host: String,
    port: u16,
    path: Vec<u8>,
    settings: Vec<Setting>,
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It does not start as one.
    #[error("`{0}` is no NFS address; one looks like nfs://server/path")]
    Scheme(String),
    /// There is no host.
    #[error("the address names no host")]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("`{0}` is no port")]
    Port(String),
    /// A `%` that two hexadecimal digits do not follow.
    #[error("`{0}` has a `%` without two hexadecimal digits")]
    Escape(String),
    /// An option that there is not.
    #[error("there is no option `{name}`; did you mean `{nearest}`?")]
    UnknownOption {
        /// What was given.
        name: String,
        /// The most similar one that there is.
        nearest: &'static str,
    },
    /// An option of mount(8) that there is not here.
    #[error("option `{name}` is not offered: {cause}")]
    NotOffered {
        /// The option.
        name: &'static str,
        /// Why.
        cause: &'static str,
    },
    /// An option's value makes no sense.
    #[error("option `{name}`: {cause}")]
    Value {
        /// The option.
        name: &'static str,
        /// What is wrong.
        cause: String,
    },
}

impl Url {
    /// Name or address of the server, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of NFS.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path on the server, which starts with `/`.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The default options with those of the address.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        self.apply(&mut options);
        options
    }

    /// Sets in `options` what the address says.
    pub fn apply(&self, options: &mut Options) {
        for setting in &self.settings {
            setting.apply(options);
        }
    }

    /// The server's address; the first that the resolver gives.
    ///
    /// # Errors
    /// What the resolver says.
    pub async fn resolve(&self) -> std::io::Result<SocketAddr> {
        tokio::net::lookup_host((self.host.as_str(), self.port))
            .await?
            .next()
            .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::NotFound, "the host has no address"))
    }

    /// Another path on the same server; a slash in front is added where there is none.
    #[must_use]
    pub fn with_path(&self, path: impl Into<Vec<u8>>) -> Self {
        let mut path = path.into();
        if path.first() != Some(&b'/') {
            path.insert(0, b'/');
        }
        Self { path, ..self.clone() }
    }

    /// The same with one more option, as it stands in an address; it wins over those that are there.
    ///
    /// # Errors
    /// When there is no such option, or its value makes no sense.
    pub fn with_option(&self, option: &str) -> Result<Self, UrlError> {
        let mut url = self.clone();
        url.settings.push(option.parse()?);
        Ok(url)
    }

    /// The same tree reached at another address, for example through a relay.
    #[must_use]
    pub fn through(&self, address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V6(address) if address.scope_id() != 0 => {
                format!("{}%{}", address.ip(), address.scope_id())
            }
            _ => address.ip().to_string(),
        };
        Self { host, port: address.port(), ..self.clone() }
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let rest = text.strip_prefix("nfs://").ok_or_else(|| UrlError::Scheme(text.to_owned()))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = split_authority(authority)?;
        let settings = query.split('&').filter(|part| !part.is_empty()).map(str::parse);
        let mut settings: Vec<Setting> = settings.collect::<Result<_, _>>()?;
        let mut number = match port {
            Some(port) => Some(parse_port(port)?),
            None => None,
        };
        settings.retain(|setting| match setting.nfs_port() {
            Some(port) => {
                number = Some(port);
                false
            }
            None => true,
        });
        let path = if path.is_empty() { vec![b'/'] } else { unescape(path)? };
        Ok(Self { host, port: number.unwrap_or(DEFAULT_PORT), path, settings })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "nfs://[{}]", self.host.replacen('%', "%25", 1))?,
            false => write!(f, "nfs://{}", self.host)?,
        }
        if self.port != DEFAULT_PORT {
            write!(f, ":{}", self.port)?;
        }
        for byte in &self.path {
            match byte {
                b'a'..=b'z'
                | b'A'..=b'Z'
                | b'0'..=b'9'
                | b'/'
                | b'-'
                | b'.'
                | b'_'
                | b'~'
                | b'@'
                | b'+'
                | b','
                | b'=' => write!(f, "{}", char::from(*byte))?,
                other => write!(f, "%{other:02X}")?,
            }
        }
        for (index, setting) in self.settings.iter().enumerate() {
            write!(f, "{}{setting}", if index == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

/// Host and port. In brackets, `%25` stands for the `%` before the zone of an IPv6 address (RFC 6874),
/// which may stand there itself as well. A port may be empty (RFC 3986 §3.2.3).
fn split_authority(authority: &str) -> Result<(String, Option<&str>), UrlError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or(UrlError::Host)?;
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err(UrlError::Host),
            }
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err(UrlError::Host);
    }
    Ok((host.replacen("%25", "%", 1), port.filter(|port| !port.is_empty())))
}

fn parse_port(text: &str) -> Result<u16, UrlError> {
    text.parse().ok().filter(|port| *port != 0).ok_or_else(|| UrlError::Port(text.to_owned()))
}

fn unescape(text: &str) -> Result<Vec<u8>, UrlError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push((high << 4 | low) as u8),
            _ => return Err(UrlError::Escape(text.to_owned())),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::options::{AttributeTimeouts, LookupCache, Version, WriteDelegations};

    fn parse(text: &str) -> Result<Url, UrlError> {
        text.parse()
    }

    #[test]
    fn parts_that_are_left_out_have_their_defaults() {
        let url = parse("nfs://server").unwrap();
        assert_eq!((url.host(), url.port(), url.path()), ("server", 2049, &b"/"[..]));
        assert_eq!(url.to_string(), "nfs://server/");
        assert_eq!(parse("nfs://10.0.0.1:20490/x").unwrap().port(), 20490);
        assert_eq!(parse("nfs://[fe80::1]/x").unwrap().host(), "fe80::1");
        assert_eq!(parse("nfs://h:/x").unwrap().port(), 2049);
    }

    #[test]
    fn the_zone_of_an_address_is_kept() {
        for text in ["nfs://[fe80::1%2]:99/x", "nfs://[fe80::1%252]:99/x"] {
            let url = parse(text).unwrap();
            assert_eq!((url.host(), url.port()), ("fe80::1%2", 99));
            assert_eq!(url.to_string(), "nfs://[fe80::1%252]:99/x");
            assert_eq!(parse(&url.to_string()), Ok(url));
        }
        let address = std::net::SocketAddrV6::new(std::net::Ipv6Addr::LOCALHOST, 5, 0, 3);
        assert_eq!(parse("nfs://h/p").unwrap().through(address.into()).host(), "::1%3");
    }

    #[test]
    fn paths_keep_their_spelling() {
        for (text, path) in [
            ("nfs://h", &b"/"[..]),
            ("nfs://h/", b"/"),
            ("nfs://h//", b"//"),
            ("nfs://h?ro", b"/"),
            ("nfs://h/a/", b"/a/"),
            ("nfs://h/./a%2Fb%ff", b"/./a/b\xff"),
        ] {
            assert_eq!(parse(text).unwrap().path(), path, "{text}");
        }
    }

    #[test]
    fn every_option_reaches_the_field_it_names() {
        let text = "nfs://h/?vers=3&nconnect=4&rsize=65536&wsize=32768&timeo=600&acregmin=1&acregmax=2\
                    &acdirmin=3&acdirmax=4&ro&mountport=635&delegations=0&uid=7&gid=8&cache=0&readahead=0\
                    &write_delegations=always\
                    &congestion=reno&socket_buffer=65536&slots=160";
        let options = parse(text).unwrap().options();
        assert_eq!(options.versions, [Version::V3]);
        assert_eq!((options.connections, options.read_bytes_max, options.write_bytes_max), (4, 65536, 32768));
        assert_eq!(options.timeout, Duration::from_secs(60));
        let timeouts = options.attribute_timeouts;
        assert_eq!((timeouts.file_min.as_secs(), timeouts.file_max.as_secs()), (1, 2));
        assert_eq!((timeouts.directory_min.as_secs(), timeouts.directory_max.as_secs()), (3, 4));
        assert!(options.read_only && !options.delegations && !options.data_cache);
        assert_eq!(options.write_delegations, WriteDelegations::Always);
        assert_eq!((options.mount_port, options.uid, options.gid), (Some(635), 7, 8));
        assert_eq!((options.readahead_bytes_max, options.slots_max), (0, 160));
        assert_eq!(options.tcp.congestion, Some("reno".parse().unwrap()));
        assert_eq!(options.tcp.socket_buffer_bytes, Some(65536));
        let fixed = parse("nfs://h/?actimeo=9").unwrap().options().attribute_timeouts;
        assert_eq!(fixed.directory_min, Duration::from_secs(9));
        assert_eq!(parse("nfs://h/?port=99").unwrap().port(), 99);
    }

    #[test]
    fn without_a_version_the_newest_that_the_server_offers_will_do() {
        let versions = |text: &str| parse(text).unwrap().options().versions;
        assert_eq!(versions("nfs://h/"), [Version::V4_2, Version::V4_1, Version::V3]);
        assert_eq!(versions("nfs://h/?vers=4"), [Version::V4_2, Version::V4_1]);
        assert_eq!(versions("nfs://h/?version=4.1"), [Version::V4_1]);
        assert_eq!(versions("nfs://h/?nfsvers=4.2"), [Version::V4_2]);
    }

    #[test]
    fn a_misspelt_option_names_the_nearest_one() {
        for (given, nearest) in [("nconect", "nconnect"), ("rzise", "rsize"), ("delegation", "delegations")] {
            let error = parse(&format!("nfs://h/?{given}=1")).unwrap_err();
            assert_eq!(error, UrlError::UnknownOption { name: given.into(), nearest });
        }
    }

    #[test]
    fn options_of_mount_that_say_what_is_so_anyway_may_be_said() {
        let text = "nfs://h/?rw&proto=tcp&sec=sys&xprtsec=none&mountvers=3&tcp&ac&lock&lookupcache=all";
        let (said, default) = (parse(text).unwrap().options(), Options::default());
        assert_eq!(format!("{said:?}"), format!("{default:?}"));
        let options = parse("nfs://h/?lookupcache=pos&nolock&noac").unwrap().options();
        assert_eq!((options.lookup_cache, options.local_locks), (LookupCache::Positive, true));
        assert_eq!(options.attribute_timeouts, AttributeTimeouts::fixed(Duration::ZERO));
    }

    #[test]
    fn options_of_mount_that_cannot_be_kept_are_refused_with_the_reason() {
        for (query, sentence) in [
            ("proto=udp", "option `proto`: `udp` is not offered, only tcp: NFS is spoken over TCP"),
            (
                "sec=krb5p",
                "option `sec`: `krb5p` is not offered, only sys: requests are made with numbers of user and \
                 group",
            ),
            ("rdma", "option `rdma` is not offered: NFS is spoken over TCP"),
            ("lookupcache=some", "option `lookupcache`: `some` is neither all, positive nor none"),
            ("rsize=100", "option `rsize`: `100` is not a number from 1024 to 4194304"),
            ("socket_buffer=100", "option `socket_buffer`: `100` is not a number from 4096 to 67108864"),
            ("slots=0", "option `slots`: `0` is not a number from 1 to 65536"),
            (
                "congestion=../x",
                "option `congestion`: `../x` is no name of a congestion control; \
                 a name has 1 to 15 letters, digits, - and _",
            ),
        ] {
            assert_eq!(parse(&format!("nfs://h/?{query}")).unwrap_err().to_string(), sentence);
        }
    }

    #[test]
    fn invalid_url_is_refused_with_the_cause() {
        assert!(matches!(parse("http://h/"), Err(UrlError::Scheme(_))));
        assert_eq!(parse("nfs:///x"), Err(UrlError::Host));
        assert_eq!(parse("nfs://h:0/x"), Err(UrlError::Port("0".into())));
        assert!(matches!(parse("nfs://h/%4"), Err(UrlError::Escape(_))));
        let error = parse("nfs://h/?version=5").unwrap_err();
        assert_eq!(error.to_string(), "option `version`: there is no version `5`, only 3, 4.1 and 4.2");
        let error = parse("nfs://h/?nconnect=17").unwrap_err();
        assert_eq!(error.to_string(), "option `nconnect`: `17` is not a number from 1 to 16");
    }

    #[test]
    fn another_address_keeps_path_and_options() {
        let url = parse("nfs://h/p?version=3").unwrap().through(([127, 0, 0, 1], 5).into());
        assert_eq!(url.to_string(), "nfs://127.0.0.1:5/p?version=3");
        assert_eq!(url.with_path(*b"q\n").to_string(), "nfs://127.0.0.1:5/q%0A?version=3");
        let ported = url.with_option("mountport=7").unwrap().with_option("lockport=8").unwrap();
        let options = ported.with_option("mountport=9").unwrap().options();
        assert_eq!((options.mount_port, options.lock_port), (Some(9), Some(8)));
        assert!(url.with_option("mountprot=7").is_err());
    }
}
