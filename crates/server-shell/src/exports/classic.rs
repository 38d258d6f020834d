//! The classic table of exports, as in `/etc/exports` (exports(5)). What an option means is kept; what this
//! server cannot do is refused with the line and the word.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use server::exports::{Clients, ExportPath, NamePattern, Network, Version, Versions};

use super::tables::WrongAt;
use super::terms::{Draft, Squashed, Terms, Wrong, clients, flavors, id, nearest, transports};
use super::words::{Word, lines};
use super::{BackEndChoice, ExportSpec};

/// Options without a value that mean what this server does anyway: it always checks that a handle stays below
/// the directory, has no ACLs, labels or layouts, does not wait for further writes, and asks everybody who
/// locks who he is.
const AS_IT_IS: &[&str] = &[
    "wdelay",
    "no_wdelay",
    "subtree_check",
    "no_subtree_check",
    "hide",
    "no_acl",
    "no_pnfs",
    "auth_nlm",
    "secure_locks",
];

/// Options that this server cannot follow, with the reason and the mend.
const REFUSED: &[(&str, &str)] = &[
    ("crossmnt", "what is mounted below an export is not part of it; give it a line of its own"),
    ("nohide", "NFSv4 clients see every export anyway, and NFSv3 clients must mount each; leave it out"),
    ("no_auth_nlm", "who locks is always asked who he is; leave it out"),
    ("insecure_locks", "who locks is always asked who he is; leave it out"),
    ("pnfs", "this server has no layouts; leave it out"),
    ("security_label", "this server has no labels; leave it out"),
    ("nordirplus", "listings with attributes cannot be switched off; leave it out"),
    ("refer", "this server sends nobody elsewhere; export the directory there alone"),
    ("replicas", "this server sends nobody elsewhere; leave it out"),
    ("mp", "a directory is exported whether something is mounted on it or not; leave it out"),
    ("mountpoint", "a directory is exported whether something is mounted on it or not; leave it out"),
];

/// Options that are followed.
const FOLLOWED: &[&str] = &[
    "ro",
    "rw",
    "sync",
    "async",
    "root_squash",
    "no_root_squash",
    "all_squash",
    "no_all_squash",
    "anonuid",
    "anongid",
    "secure",
    "insecure",
    "sec",
    "fsid",
    "xprtsec",
];

/// The options of one client.
#[derive(Debug, Clone, Default)]
struct Options {
    terms: Terms,
    asynchronous: Option<bool>,
    is_root: bool,
}

/// A directory, with all its lines.
#[derive(Debug)]
struct Entry {
    line: usize,
    rules: Vec<(usize, Clients, Options)>,
}

/// The exports of such a table.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<ExportSpec>, WrongAt> {
    let mut entries: BTreeMap<PathBuf, Entry> = BTreeMap::new();
    for line in lines(text)? {
        let Some((path, rest)) = line.split_first() else { continue };
        let directory = PathBuf::from(OsString::from_vec(path.bytes.clone()));
        if !directory.is_absolute() {
            return Err((
                path.line,
                format!("`{}` does not begin with /; name the directory from the root", path.text()),
            ));
        }
        let entry = entries.entry(directory).or_insert(Entry { line: path.line, rules: Vec::new() });
        read_clients(path.line, rest, &mut entry.rules)?;
    }
    let root = root_of(&entries)?;
    entries.iter().map(|(directory, entry)| spec(directory, entry, root.as_deref())).collect()
}

fn read_clients(
    line: usize,
    words: &[Word],
    rules: &mut Vec<(usize, Clients, Options)>,
) -> Result<(), WrongAt> {
    let mut defaults = Options::default();
    let before = rules.len();
    let mut bare = None;
    for word in words {
        let text = word.text();
        let at = |wrong| (word.line, wrong);
        if let Some(options) = text.strip_prefix('-') {
            defaults.read(options).map_err(at)?;
            continue;
        }
        let (host, options) = match text.split_once('(') {
            Some((host, options)) => match options.strip_suffix(')') {
                Some(options) => (host, Some(options)),
                None => {
                    return Err(at(format!(
                        "`{text}` has no closing `)`; options have no spaces in between"
                    )));
                }
            },
            None => (text.as_str(), None),
        };
        if let (true, Some(bare)) = (host.is_empty(), &bare) {
            return Err(at(format!(
                "the space in `{bare} {text}` gives these options to everybody; write `{bare}{text}`, or \
                 `*{text}`"
            )));
        }
        let mut own = defaults.clone();
        own.read(options.unwrap_or_default()).map_err(at)?;
        let clients = clients(if host.is_empty() { "*" } else { host }).map_err(at)?;
        bare = options.is_none().then(|| text.clone());
        rules.push((word.line, clients, own));
    }
    if rules.len() == before {
        rules.push((line, Clients::All, defaults));
    }
    Ok(())
}

impl Options {
    fn read(&mut self, list: &str) -> Result<(), Wrong> {
        list.split(',').filter(|option| !option.is_empty()).try_for_each(|option| self.take(option))
    }

    fn take(&mut self, option: &str) -> Result<(), Wrong> {
        let (word, value) = match option.split_once('=') {
            Some((word, value)) => (word, Some(value)),
            None => (option, None),
        };
        if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| *refused == word) {
            return Err(format!("`{option}` cannot be followed: {reason}"));
        }
        match (word, value) {
            ("ro", None) => self.terms.read_only = Some(true),
            ("rw", None) => self.terms.read_only = Some(false),
            ("sync", None) => self.asynchronous = Some(false),
            ("async", None) => self.asynchronous = Some(true),
            ("root_squash", None) => self.terms.squash = Some(Squashed::Root),
            ("no_root_squash", None) => self.terms.squash = Some(Squashed::None),
            ("all_squash", None) => self.terms.squash = Some(Squashed::All),
            ("no_all_squash", None) => {
                if self.terms.squash == Some(Squashed::All) {
                    self.terms.squash = Some(Squashed::Root);
                }
            }
            ("secure", None) => self.terms.secure = Some(true),
            ("insecure", None) => self.terms.secure = Some(false),
            ("anonuid", Some(value)) => self.terms.anonuid = Some(number(word, value)?),
            ("anongid", Some(value)) => self.terms.anongid = Some(number(word, value)?),
            ("sec", Some(value)) => self.terms.security = Some(flavors(value.split(':'))?),
            ("fsid", Some("0" | "root")) => self.is_root = true,
            // Handles are bound to a number that is kept with the directory.
            ("fsid", Some(value)) if is_fsid(value) => {}
            ("xprtsec", Some(value)) => self.terms.transports = Some(transports(value.split(':'))?),
            (word, None) if AS_IT_IS.contains(&word) => {}
            (word, Some(_)) if FOLLOWED.contains(&word) => {
                return Err(format!("`{option}` has a value that `{word}` does not take; see exports(5)"));
            }
            (word, None) if FOLLOWED.contains(&word) => {
                return Err(format!("`{word}` needs a value; see exports(5)"));
            }
            _ => {
                let words: Vec<_> = FOLLOWED.iter().chain(AS_IT_IS).copied().collect();
                return Err(format!("`{word}` is no option{}", nearest(word, &words)));
            }
        }
        Ok(())
    }
}

fn number(word: &str, value: &str) -> Result<u32, Wrong> {
    let number = value.parse::<i64>();
    id(number.map_err(|_| format!("`{word}={value}` has no number; use one such as {word}=65534"))?)
}

/// A number, or a UUID.
fn is_fsid(value: &str) -> bool {
    let is_uuid = value.len() == 36 && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    value.parse::<u32>().is_ok() || is_uuid
}

/// The directory that is the root for NFSv4, when one is.
fn root_of(entries: &BTreeMap<PathBuf, Entry>) -> Result<Option<PathBuf>, WrongAt> {
    let mut root: Option<(&PathBuf, usize)> = None;
    for (directory, entry) in entries {
        if let Some((line, ..)) = entry.rules.iter().find(|(_, _, options)| options.is_root) {
            if let Some((other, at)) = root {
                let wrong = format!(
                    "`fsid=0` makes {} the root, and in line {at} {}; leave one out",
                    directory.display(),
                    other.display()
                );
                return Err((*line, wrong));
            }
            root = Some((directory, *line));
        }
    }
    Ok(root.map(|(directory, _)| directory.clone()))
}

fn spec(directory: &Path, entry: &Entry, root: Option<&Path>) -> Result<ExportSpec, WrongAt> {
    let at = |wrong| (entry.line, wrong);
    let wrong_path = |error| at(format!("clients cannot see an export at {}: {error}", directory.display()));
    let full = ExportPath::new(directory.as_os_str().as_bytes()).map_err(wrong_path)?;
    // NFSv4 clients see the tree from the root that `fsid=0` names, and nothing beside it.
    let below = root.map(|root| directory.strip_prefix(root));
    let (path, versions) = match below {
        None => (full.clone(), Versions::ALL),
        Some(Ok(below)) => {
            let path = [b"/", below.as_os_str().as_bytes()].concat();
            (ExportPath::new(&path).map_err(wrong_path)?, Versions::ALL)
        }
        Some(Err(_)) => (full.clone(), [Version::V3].into_iter().collect()),
    };
    let default = Terms { read_only: Some(true), secure: Some(true), ..classic_security() };
    let mut rules: Vec<_> = entry.rules.iter().collect();
    // Of a kind the first counts, whatever stands between.
    rules.sort_by_key(|(_, clients, _)| rank(clients));
    let draft = Draft {
        directory: directory.to_owned(),
        back_end: BackEndChoice::default(),
        path,
        asynchronous: is_asynchronous(entry)?,
        versions,
        delegations: true,
        manage_gids: false,
        rules: rules
            .into_iter()
            .map(|(line, clients, options)| (*line, options.terms.or(&default).rule(clients.clone())))
            .collect(),
    };
    Ok(ExportSpec { mount_path: Some(full), ..draft.finish()? })
}

fn classic_security() -> Terms {
    Terms { security: Some(vec![server::exports::Flavor::Sys]), ..Terms::default() }
}

fn is_asynchronous(entry: &Entry) -> Result<bool, WrongAt> {
    let said = |options: &Options| options.asynchronous.unwrap_or(false);
    let first = entry.rules.first().is_some_and(|(_, _, options)| said(options));
    match entry.rules.iter().find(|(_, _, options)| said(options) != first) {
        Some((line, ..)) => {
            let wrong = "`sync` and `async` differ among the clients of a directory; say the same for all";
            Err((*line, wrong.to_owned()))
        }
        None => Ok(first),
    }
}

/// Hosts come before networks, then patterns, then netgroups, then everybody (exports(5), "Machine Name
/// Formats").
fn rank(clients: &Clients) -> u8 {
    let is_host = |network: &Network| network.prefix_bits == Network::host_bits(network.address);
    match clients {
        Clients::Named(NamePattern::Host(_)) => 0,
        Clients::Networks(networks) if networks.iter().all(is_host) => 0,
        Clients::Networks(_) => 1,
        Clients::Named(NamePattern::Wildcard(_)) => 2,
        Clients::Named(NamePattern::Netgroup(_)) => 3,
        Clients::All => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::exports::{Flavor, Rule, Squash};

    fn one(text: &str) -> ExportSpec {
        let mut all = parse(text.as_bytes()).unwrap();
        assert_eq!(all.len(), 1, "{text}");
        all.remove(0)
    }

    fn rules(text: &str) -> Vec<Rule> {
        one(text).options.rules
    }

    fn wrong(text: &str) -> (usize, String) {
        parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn the_defaults_are_those_of_the_manual() {
        let rule = rules("/srv client\n").remove(0);
        assert!(rule.read_only && rule.privileged_port);
        assert_eq!((rule.squash, rule.flavors), (Squash::default(), vec![Flavor::Sys]));
        assert_eq!(rule.clients.to_string(), "client");
        assert!(!one("/srv client").asynchronous);
        assert_eq!(rules("/srv").remove(0).clients, Clients::All);
        assert_eq!(rules("/srv (rw)").remove(0).clients, Clients::All);
    }

    #[test]
    fn options_are_followed_and_defaults_stand_before_those_they_are_for() {
        let found = rules("/srv -rw,insecure,anonuid=7 a b(ro,all_squash,anongid=9) -no_root_squash c");
        let shown: Vec<_> = found
            .iter()
            .map(|rule| (rule.clients.to_string(), rule.read_only, rule.privileged_port, rule.squash))
            .collect();
        let nobody = Squash::NOBODY.1;
        assert_eq!(
            shown,
            [
                ("a".to_owned(), false, false, Squash::Root { anonymous: (7, nobody) }),
                ("b".to_owned(), true, false, Squash::All { anonymous: (7, 9) }),
                ("c".to_owned(), false, false, Squash::None { anonymous: (7, nobody) }),
            ]
        );
        assert!(one("/srv *(async,no_subtree_check,no_wdelay,hide,fsid=12,sec=sys:none)").asynchronous);
    }

    #[test]
    fn the_kind_of_a_client_goes_before_its_place() {
        let order: Vec<_> = rules("/srv *(ro) *.x.org 10.0.0.0/8 10.1.2.3 host 10.0.0.1/255.255.255.255\n")
            .iter()
            .map(|rule| rule.clients.to_string())
            .collect();
        assert_eq!(order, ["10.1.2.3", "host", "10.0.0.1", "10.0.0.0/8", "*.x.org", "*"]);
    }

    #[test]
    fn paths_may_be_quoted_and_escaped_and_lines_go_on() {
        let spec = one("# a comment\n\"/srv/with space\" \\\n  a(rw) # and another\n");
        assert_eq!(spec.directory, Path::new("/srv/with space"));
        assert_eq!(one("/srv/with\\040space a\n").directory, Path::new("/srv/with space"));
        assert_eq!(one("/srv/\\134x a").directory, Path::new("/srv/\\x"));
        assert_eq!(one("/a x(rw)\n/a y\n").options.rules.len(), 2, "lines of a directory are one export");
        assert_eq!(parse(b"\n  # nothing\n").unwrap(), []);
    }

    #[test]
    fn fsid_0_is_the_root_of_what_nfsv4_clients_see() {
        let all = parse(b"/srv/nfs *(ro,fsid=0)\n/srv/nfs/home *(rw)\n/other *(rw)\n").unwrap();
        let shown: Vec<_> = all
            .iter()
            .map(|spec| {
                let v4 = spec.options.versions.contains(Version::V4_1);
                (spec.directory.display().to_string(), spec.path.to_string(), v4)
            })
            .collect();
        let expected =
            [("/other", "/other", false), ("/srv/nfs", "/", true), ("/srv/nfs/home", "/home", true)];
        assert_eq!(shown, expected.map(|(directory, path, v4)| (directory.into(), path.into(), v4)));
        assert!(all.iter().all(
            |spec| spec.mount_path.as_ref().unwrap().to_string() == spec.directory.display().to_string()
        ));
        assert!(wrong("/a *(fsid=0)\n/b *(fsid=root)\n").1.contains("fsid=0"));
    }

    #[test]
    fn unsupported_option_is_reported_with_its_line() {
        for (text, line, reason) in [
            ("/a *(rw)\n/b *(rx)\n", 2, "`rx` is no option; did you mean `rw`?"),
            ("/a *(no_rot_squash)", 1, "did you mean `no_root_squash`?"),
            ("/a *(crossmnt)", 1, "a line of its own"),
            ("/a \\\n *(refer=/x@y)", 2, "`refer=/x@y` cannot be followed"),
            ("/a *(sec=krb4)", 1, "did you mean `krb5`?"),
            ("/a *(anonuid=-3)", 1, "is no id"),
            ("/a *(anonuid=x)", 1, "has no number"),
            ("/a *(anonuid)", 1, "needs a value"),
            ("/a *(ro=1)", 1, "does not take"),
            ("/a host (rw)", 1, "write `host(rw)`"),
            ("/a host(rw", 1, "no closing"),
            ("/a @(rw)", 1, "is no netgroup"),
            ("a host", 1, "does not begin with /"),
            ("/a x(sync) y(async)", 1, "differ"),
            ("/a 10.0.0.0/8 10.1.0.0/16", 1, "never applies"),
            ("/a x\n/a x(rw)", 2, "never applies"),
            ("/a\\4 x", 1, "three octal digits"),
            ("\"/a x", 1, "closing"),
            ("/a *(xprtsec=mtsl)", 1, "did you mean `mtls`?"),
        ] {
            let (at, wrong) = wrong(text);
            assert!(at == line && wrong.contains(reason), "{text:?}: line {at}: {wrong}");
        }
    }
}
