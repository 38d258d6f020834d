//! The options of an address, with the names that mount(8) has for them: one table.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use rpc_net::TcpOptions;

use crate::options::{AttributeTimeouts, LookupCache, Options, Version, WriteDelegations};
use crate::url::UrlError;

type Set = fn(&str, &mut Options) -> Result<(), String>;

/// Name, other names, and what it does.
struct Definition {
    name: &'static str,
    aliases: &'static [&'static str],
    set: Set,
}

const fn definition(name: &'static str, aliases: &'static [&'static str], set: Set) -> Definition {
    Definition { name, aliases, set }
}

const PORT: &str = "port";
const TRANSFER_BYTES_MIN: u64 = 1024;
const TRANSFER_BYTES_MAX: u64 = 4 << 20;
/// The most slots that a server may be asked for.
const SLOTS_MAX: u64 = 1 << 16;
/// A day: longer is a mistake.
const SECONDS_MAX: u64 = 86_400;

static DEFINITIONS: &[Definition] = &[
    definition("version", &["vers", "nfsvers"], |v, o| versions(v).map(|list| o.versions = list)),
    definition("nconnect", &[], |v, o| number(v, 1, 16).map(|n| o.connections = n as u32)),
    definition("congestion", &[], |v, o| v.parse().map(|name| o.tcp.congestion = Some(name))),
    definition("socket_buffer", &[], |v, o| socket_buffer(v).map(|n| o.tcp.socket_buffer_bytes = Some(n))),
    definition("slots", &[], |v, o| number(v, 1, SLOTS_MAX).map(|n| o.slots_max = n as u32)),
    definition("rsize", &[], |v, o| transfer_bytes(v).map(|n| o.read_bytes_max = n)),
    definition("wsize", &[], |v, o| transfer_bytes(v).map(|n| o.write_bytes_max = n)),
    definition("timeo", &[], |v, o| {
        number(v, 1, SECONDS_MAX * 10).map(|tenths| o.timeout = Duration::from_millis(tenths * 100))
    }),
    definition("retrans", &[], |v, o| number(v, 0, 1000).map(|n| o.retransmissions = n as u32)),
    definition("soft", &[], |v, o| flag(v).map(|on| o.soft = on)),
    definition("hard", &[], |v, o| flag(v).map(|on| o.soft = !on)),
    definition("actimeo", &[], |v, o| seconds(v).map(|s| o.attribute_timeouts = AttributeTimeouts::fixed(s))),
    definition("noac", &[], |v, o| {
        flag(v).map(|on| {
            if on {
                o.attribute_timeouts = AttributeTimeouts::fixed(Duration::ZERO);
            }
        })
    }),
    definition("acregmin", &[], |v, o| seconds(v).map(|s| o.attribute_timeouts.file_min = s)),
    definition("acregmax", &[], |v, o| seconds(v).map(|s| o.attribute_timeouts.file_max = s)),
    definition("acdirmin", &[], |v, o| seconds(v).map(|s| o.attribute_timeouts.directory_min = s)),
    definition("acdirmax", &[], |v, o| seconds(v).map(|s| o.attribute_timeouts.directory_max = s)),
    definition("ro", &[], |v, o| flag(v).map(|on| o.read_only = on)),
    definition("rw", &[], |v, o| flag(v).map(|on| o.read_only = !on)),
    definition("ac", &[], |v, o| {
        flag(v).map(|on| {
            o.attribute_timeouts = match on {
                true => AttributeTimeouts::default(),
                false => AttributeTimeouts::fixed(Duration::ZERO),
            };
        })
    }),
    definition("lookupcache", &[], |v, o| lookup_cache(v).map(|cache| o.lookup_cache = cache)),
    definition("nolock", &[], |v, o| flag(v).map(|on| o.local_locks = on)),
    definition("lock", &[], |v, o| flag(v).map(|on| o.local_locks = !on)),
    definition("lock_callbacks", &[], |v, o| flag(v).map(|on| o.lock_callbacks = on)),
    definition("proto", &["mountproto"], |v, _| only(v, &["tcp", "tcp6"], "NFS is spoken over TCP")),
    definition("tcp", &[], |v, _| flag(v).map(drop)),
    definition("sec", &[], |v, _| only(v, &["sys"], "requests are made with numbers of user and group")),
    definition("xprtsec", &[], |v, o| v.parse().map(|security| o.transport_security = security)),
    definition("tls_ca", &[], |v, o| path(v).map(|path| o.tls.authorities = Some(path))),
    definition("tls_cert", &[], |v, o| path(v).map(|path| o.tls.certificate = Some(path))),
    definition("tls_key", &[], |v, o| path(v).map(|path| o.tls.key = Some(path))),
    definition("tls_name", &[], |v, o| text(v).map(|name| o.tls.server_name = Some(name))),
    definition("mountvers", &[], |v, _| only(v, &["3"], "MOUNT is spoken in version 3")),
    definition(PORT, &[], |v, _| number(v, 1, 65_535).map(drop)),
    definition("mountport", &[], |v, o| number(v, 1, 65_535).map(|n| o.mount_port = Some(n as u16))),
    definition("lockport", &[], |v, o| number(v, 1, 65_535).map(|n| o.lock_port = Some(n as u16))),
    definition("delegations", &[], |v, o| flag(v).map(|on| o.delegations = on)),
    definition("write_delegations", &[], |v, o| {
        write_delegations(v).map(|wanted| o.write_delegations = wanted)
    }),
    definition("uid", &[], |v, o| number(v, 0, u64::from(u32::MAX)).map(|n| o.uid = n as u32)),
    definition("gid", &[], |v, o| number(v, 0, u64::from(u32::MAX)).map(|n| o.gid = n as u32)),
    definition("cache", &[], |v, o| flag(v).map(|on| o.data_cache = on)),
    definition("readahead", &[], |v, o| number(v, 0, 1 << 30).map(|n| o.readahead_bytes_max = n as usize)),
];

/// Options of mount(8) that would change what a caller may rely on, and why there is no such thing here.
/// Passing over them would be a lie.
static NOT_OFFERED: &[(&str, &str)] = &[
    ("udp", "NFS is spoken over TCP"),
    ("rdma", "NFS is spoken over TCP"),
    ("fsc", "nothing is cached on disk"),
    ("resvport", "connections come from any port; let the server accept that (`insecure`)"),
    ("nocto", "opening a file always shows what was written before it was closed elsewhere"),
    ("bg", "connecting is tried once; the program decides when to try again"),
    ("migration", "a tree that moves to another server is not followed"),
];

/// An option with its value, known to be good.
#[derive(Clone)]
pub(crate) struct Setting {
    definition: &'static Definition,
    value: String,
}

impl Setting {
    /// Sets the option.
    pub(crate) fn apply(&self, options: &mut Options) {
        (self.definition.set)(&self.value, options).expect("the value was checked when it was parsed");
    }

    /// The port of NFS, if that is what the option says.
    pub(crate) fn nfs_port(&self) -> Option<u16> {
        (self.definition.name == PORT).then(|| self.value.parse().ok()).flatten()
    }
}

impl FromStr for Setting {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let found = DEFINITIONS.iter().find(|d| d.name == name || d.aliases.contains(&name));
        let definition = found.ok_or_else(|| unknown(name))?;
        let mut scratch = Options::default();
        (definition.set)(value, &mut scratch)
            .map_err(|cause| UrlError::Value { name: definition.name, cause })?;
        Ok(Self { definition, value: value.to_owned() })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.is_empty() {
            true => f.write_str(self.definition.name),
            false => write!(f, "{}={}", self.definition.name, self.value),
        }
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        (self.definition.name, &self.value) == (other.definition.name, &other.value)
    }
}

impl Eq for Setting {}

/// `4` is the newest of that kind, as with mount(8).
fn versions(text: &str) -> Result<Vec<Version>, String> {
    match text {
        "4" => Ok(vec![Version::V4_2, Version::V4_1]),
        one => Ok(vec![one.parse()?]),
    }
}

fn lookup_cache(text: &str) -> Result<LookupCache, String> {
    match text {
        "all" => Ok(LookupCache::All),
        "pos" | "positive" => Ok(LookupCache::Positive),
        "none" => Ok(LookupCache::None),
        other => Err(format!("`{other}` is neither all, positive nor none")),
    }
}

/// An option with one value that is offered: it may be said, and anything else is refused with the reason.
fn only(text: &str, offered: &[&str], why: &str) -> Result<(), String> {
    match offered.contains(&text) {
        true => Ok(()),
        false => Err(format!("`{text}` is not offered, only {}: {why}", offered[0])),
    }
}

fn number(text: &str, min: u64, max: u64) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|n| (min..=max).contains(n))
        .ok_or_else(|| format!("`{text}` is not a number from {min} to {max}"))
}

fn transfer_bytes(text: &str) -> Result<u32, String> {
    number(text, TRANSFER_BYTES_MIN, TRANSFER_BYTES_MAX).map(|n| n as u32)
}

fn socket_buffer(text: &str) -> Result<u32, String> {
    let (least, most) = TcpOptions::SOCKET_BUFFER_BYTES.into_inner();
    number(text, least.into(), most.into()).map(|n| n as u32)
}

fn seconds(text: &str) -> Result<Duration, String> {
    number(text, 0, SECONDS_MAX).map(Duration::from_secs)
}

fn write_delegations(text: &str) -> Result<WriteDelegations, String> {
    match text {
        "never" => Ok(WriteDelegations::Never),
        "likely" => Ok(WriteDelegations::Likely),
        "always" => Ok(WriteDelegations::Always),
        other => Err(format!("`{other}` is neither never, likely nor always")),
    }
}

fn text(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("it needs a value".to_owned()) } else { Ok(text.to_owned()) }
}

fn path(path: &str) -> Result<PathBuf, String> {
    text(path).map(PathBuf::from)
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "" | "1" | "yes" | "on" => Ok(true),
        "0" | "no" | "off" => Ok(false),
        other => Err(format!("`{other}` is neither 1 nor 0")),
    }
}

fn unknown(name: &str) -> UrlError {
    match NOT_OFFERED.iter().find(|(known, _)| *known == name) {
        Some((name, cause)) => UrlError::NotOffered { name, cause },
        None => UrlError::UnknownOption { name: name.to_owned(), nearest: nearest_name(name) },
    }
}

fn nearest_name(name: &str) -> &'static str {
    let names = DEFINITIONS.iter().flat_map(|d| std::iter::once(&d.name).chain(d.aliases));
    names.min_by_key(|known| edit_distance(name, known)).expect("there are options")
}

/// How many letters must be put in, taken out or replaced to get from one to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    // The text is the user's: what is longer than any name needs no exact distance.
    for (i, a) in from.bytes().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
