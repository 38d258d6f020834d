//! Arms as users write them: `NAME=TARGET?OPTION&…`.

use std::path::PathBuf;
use std::str::FromStr;

use client::Url;

use crate::share::parse_share;
use crate::workload::ClientKind;

/// The word for a server that the benchmark starts.
const OWN: &str = "builtin";
/// The word for a temporary directory of this machine.
const LOCAL: &str = "local";
const SCHEME: &str = "nfs://";
/// The longest name of an arm, in characters: it stands in the heads of tables.
const NAME_CHARS_MAX: usize = 24;

/// What an arm works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A server that runs: its address, with the options for the client.
    Url(String),
    /// A server that the benchmark starts on a temporary directory.
    Own {
        /// The executable; none for this one.
        command: Option<PathBuf>,
        /// Options of `serve`, such as `--async`.
        flags: Vec<String>,
        /// Options of the client's address, such as `slots=16`, joined by `&`.
        query: String,
    },
    /// A directory of this machine, without NFS; none for a temporary one.
    Directory(Option<PathBuf>),
}

/// One side of a comparison, as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmSpec {
    /// Tells it from the others.
    pub name: String,
    /// What it works on.
    pub target: Target,
    /// Its version; none for each version of the plan.
    pub version: Option<String>,
    /// Whether its clients may use delegations.
    pub delegations: bool,
    /// Which client carries the workloads; none for that of the benchmark.
    pub client: Option<ClientKind>,
    /// Options of mount(8) for a client of the kernel, besides those of the benchmark.
    pub mount_options: Vec<String>,
    /// The share by which its values are made worse on purpose, so that users see what the benchmark finds.
    pub planted: f64,
}

impl ArmSpec {
    /// An arm without options.
    #[must_use]
    pub fn new(name: &str, target: Target) -> Self {
        Self {
            name: name.to_owned(),
            target,
            version: None,
            delegations: true,
            client: None,
            mount_options: Vec::new(),
            planted: 0.0,
        }
    }
}

impl FromStr for ArmSpec {
    type Err = String;

    /// Reads `NAME=nfs://host/path?version=4.1&nconnect=4`, `NAME=builtin?exe=PATH&serve=--async&slots=16`,
    /// `NAME=local` or `NAME=/directory`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` has no name; write NAME=nfs://host/path"))?;
        check_name(name)?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut asked = ArmOptions::default();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            asked.take(option)?;
        }
        let target = asked.target(place)?;
        let ArmOptions { version, delegations, client, mount_options, planted, .. } = asked;
        if matches!(target, Target::Directory(_)) && (version.is_some() || client.is_some()) {
            return Err(format!("arm `{name}`: a directory of this machine has no version and no client"));
        }
        let delegations = delegations.unwrap_or(true);
        Ok(Self { name: name.to_owned(), target, version, delegations, client, mount_options, planted })
    }
}

/// The options of an arm.
#[derive(Debug, Default)]
struct ArmOptions {
    version: Option<String>,
    delegations: Option<bool>,
    client: Option<ClientKind>,
    mount_options: Vec<String>,
    planted: f64,
    exe: Option<PathBuf>,
    flags: Vec<String>,
    /// Those of the client's address.
    rest: Vec<String>,
}

impl ArmOptions {
    fn take(&mut self, option: &str) -> Result<(), String> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let words = || value.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        match key {
            "version" | "vers" => self.version = Some(value.to_owned()),
            "delegations" => {
                self.delegations = Some(match value {
                    "" | "on" | "yes" | "1" => true,
                    "off" | "no" | "0" => false,
                    _ => return Err(format!("`delegations={value}`: use on or off")),
                });
            }
            "client" => self.client = Some(value.parse()?),
            "mount_options" => self.mount_options = words(),
            "slower" => self.planted = parse_share(value)?,
            "exe" => self.exe = Some(value.into()),
            "serve" => self.flags = words(),
            _ => self.rest.push(option.to_owned()),
        }
        Ok(())
    }

    /// Returns what `place` means with these options.
    fn target(&self, place: &str) -> Result<Target, String> {
        let is_own = place == OWN;
        if !is_own && (self.exe.is_some() || !self.flags.is_empty()) {
            return Err(format!(
                "`exe` and `serve` are for servers that the benchmark starts, not for `{place}`"
            ));
        }
        let query = self.rest.join("&");
        let address = |place: &str| {
            let text = if query.is_empty() { place.to_owned() } else { format!("{place}?{query}") };
            text.parse::<Url>().map_err(|error| error.to_string())?;
            Ok::<_, String>(text)
        };
        if place.starts_with(SCHEME) {
            return Ok(Target::Url(address(place)?));
        }
        if is_own {
            // Only the options are checked: the server's address is known when it has started.
            address("nfs://localhost/")?;
            return Ok(Target::Own { command: self.exe.clone(), flags: self.flags.clone(), query });
        }
        if let Some(option) = self.rest.first() {
            return Err(format!("there is no option `{option}` for `{place}`"));
        }
        match place {
            LOCAL => Ok(Target::Directory(None)),
            place if place.starts_with('/') => Ok(Target::Directory(Some(place.into()))),
            place => {
                Err(format!("`{place}` is no target; use nfs://host/path, {OWN}, {LOCAL} or a directory"))
            }
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_good = |letter: char| letter.is_alphanumeric() || "-_.+".contains(letter);
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || !name.chars().all(is_good) {
        return Err(format!(
            "`{name}` is no name for an arm; use up to {NAME_CHARS_MAX} letters, digits, `-`, `_`, `.` or `+`"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(text: &str) -> ArmSpec {
        text.parse().unwrap()
    }

    #[test]
    fn options_of_the_arm_are_told_from_those_of_the_address() {
        let four = arm("four=nfs://host/data?version=4.1&nconnect=4&delegations=off&uid=7");
        assert_eq!(four.target, Target::Url("nfs://host/data?nconnect=4&uid=7".to_owned()));
        assert_eq!((four.version.as_deref(), four.delegations), (Some("4.1"), false));
        let kernel = arm("k=nfs://host/?client=kernel&mount_options=rsize=65536,nolock");
        assert_eq!(kernel.client, Some(ClientKind::Kernel));
        assert_eq!(kernel.mount_options, ["rsize=65536", "nolock"]);
    }

    #[test]
    fn servers_of_the_benchmark_have_an_executable_and_flags() {
        let old = arm("old=builtin?exe=/opt/a=b/primetime&serve=--async,--no-delegations");
        let flags = ["--async", "--no-delegations"].map(str::to_owned).to_vec();
        let command = Some("/opt/a=b/primetime".into());
        assert_eq!(old.target, Target::Own { command, flags, query: String::new() });
        let few = arm("few=builtin?slots=16&serve=--congestion,reno&congestion=reno");
        let flags = ["--congestion", "reno"].map(str::to_owned).to_vec();
        let query = "slots=16&congestion=reno".to_owned();
        assert_eq!(few.target, Target::Own { command: None, flags, query });
        assert!(old.delegations && old.version.is_none());
        assert_eq!((old.planted, arm("b=builtin?slower=5%").planted), (0.0, 0.05));
        assert_eq!(arm("disk=local").target, Target::Directory(None));
        assert_eq!(arm("disk=/srv").target, Target::Directory(Some("/srv".into())));
    }

    #[test]
    fn arms_that_make_no_sense_are_refused_with_a_reason() {
        let refused = |text: &str, reason: &str| {
            let error = text.parse::<ArmSpec>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        };
        refused("nfs://host/data", "no name");
        refused("a b=local", "no name for an arm");
        refused("a=host:/data", "no target");
        refused("a=nfs://host/?nconnekt=2", "did you mean `nconnect`?");
        refused("a=builtin?slots=0", "option `slots`: `0` is not a number from 1 to 65536");
        refused("a=local?nconnect=2", "no option `nconnect=2`");
        refused("a=nfs://host/?exe=/x", "for servers that the benchmark starts");
        refused("a=nfs://host/?delegations=perhaps", "use on or off");
        refused("a=local?version=3", "no version and no client");
        refused("a=nfs://host/?client=ftp", "use builtin");
        refused("a=builtin?slower=much", "no percentage");
    }
}
