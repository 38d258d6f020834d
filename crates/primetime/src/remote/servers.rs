//! The servers that addresses name: each is reached once, such that everything on it can be named.

use std::time::Duration;

use client::{Client, Error, Options, RefusedNames, Snapshot, Url, Version};
use tokio::sync::Mutex;

use super::sentence::sentence;
use crate::failure::Failure;

/// How long taking leave of a server may take: it forgets us by itself.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// An object at a server, or a name for one.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) client: Client,
    /// Its path below the root of the client, with a slash in front.
    pub(crate) path: Vec<u8>,
    /// Its address.
    pub(crate) url: Url,
}

impl Spot {
    /// What is below it.
    pub(crate) fn below(&self, path: &[u8]) -> Self {
        Self {
            client: self.client.clone(),
            path: super::remote_path::join(&self.path, path),
            url: super::remote_path::below(&self.url, path),
        }
    }
}

/// A server that was reached.
struct Server {
    /// The address of its root, with all options.
    root: Url,
    /// The path below which `client` reaches: an export of NFSv3, or everything.
    base: Vec<u8>,
    client: Client,
}

/// All servers that were reached.
#[derive(Default)]
pub(crate) struct Servers {
    reached: Mutex<Vec<Server>>,
}

impl Servers {
    /// Reaches what an address names, which need not be there.
    pub(crate) async fn spot(&self, url: &Url) -> Result<Spot, Failure> {
        let mut reached = self.reached.lock().await;
        let root = url.with_path("/");
        let known = reached.iter().find(|server| server.root == root && holds(&server.base, url.path()));
        if let Some(server) = known {
            return Ok(server.spot(url));
        }
        let (client, base) = reach(url).await.map_err(|error| unreachable(url, &error))?;
        let server = Server { root, base, client };
        let spot = server.spot(url);
        reached.push(server);
        Ok(spot)
    }

    /// What all of them were asked, and the versions that they were asked in.
    pub(crate) async fn cost(&self) -> (Snapshot, Vec<Version>) {
        let reached = self.reached.lock().await;
        let mut versions: Vec<_> = reached.iter().map(|server| server.client.version()).collect();
        versions.sort_unstable();
        versions.dedup();
        (reached.iter().map(|server| server.client.tap().snapshot()).sum(), versions)
    }

    /// The names that lists of each server had and no file can have, with the address of the server's root.
    pub(crate) async fn refused_names(&self) -> Vec<(Url, RefusedNames)> {
        let reached = self.reached.lock().await;
        let refused =
            reached.iter().filter_map(|server| Some((server.root.clone(), server.client.refused_names()?)));
        refused.collect()
    }

    /// Takes leave of all servers.
    pub(crate) async fn leave(&self) {
        let clients: Vec<_> = self.reached.lock().await.iter().map(|server| server.client.clone()).collect();
        for client in clients {
            // Every file was closed before; what is given back here the server takes back itself later.
            match tokio::time::timeout(LEAVE_LIMIT, client.shutdown()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "taking leave of a server"),
                Err(_) => tracing::debug!("a server does not answer at the end"),
            }
        }
    }
}

impl Server {
    fn spot(&self, url: &Url) -> Spot {
        let rest = url.path().get(self.base.len()..).unwrap_or_default();
        let path = super::remote_path::join(b"/", rest.strip_prefix(b"/").unwrap_or(rest));
        Spot { client: self.client.clone(), path, url: url.clone() }
    }
}

/// NFSv4 has one root, and everything is below it. NFSv3 has exports: the one that holds the path is mounted.
async fn reach(url: &Url) -> client::Result<(Client, Vec<u8>)> {
    let root = url.with_path("/");
    let mut wanted = options();
    url.apply(&mut wanted);
    let offers_v3 = wanted.versions.contains(&Version::V3);
    wanted.versions.retain(|version| *version != Version::V3);
    if !wanted.versions.is_empty() {
        match Client::connect(&root, wanted).await {
            Err(Error::NotOffered(_)) if offers_v3 => {}
            reached => return Ok((reached?, Vec::new())),
        }
    }
    let mut options = options();
    url.apply(&mut options);
    options.versions = vec![Version::V3];
    // A server may keep its exports to itself, and yet let one of them be mounted.
    let exports = Client::exports(&root, options.clone()).await.unwrap_or_else(|error| {
        tracing::debug!(%error, "the server does not tell its exports");
        Vec::new()
    });
    let mut refused = None;
    for base in bases(&exports, url.path()) {
        match Client::connect(&url.with_path(base.clone()), options.clone()).await {
            Err(error @ Error::Server { .. }) => refused = refused.or(Some(error)),
            reached => return Ok((reached?, if base == b"/" { Vec::new() } else { base })),
        }
    }
    Err(refused.unwrap_or(Error::Usage("the server exports nothing that holds the path")))
}

/// Without delegations: who looks at everything once has only to give them back.
fn options() -> Options {
    Options { delegations: false, ..Options::default() }
}

/// What may be mounted to reach `path`: the export that it is in, the innermost first; then everything above
/// it.
fn bases(exports: &[bytes::Bytes], path: &[u8]) -> Vec<Vec<u8>> {
    let mut known: Vec<Vec<u8>> = exports
        .iter()
        .map(|export| without_slashes(export))
        .filter(|export| holds(if export == b"/" { b"" } else { export }, path))
        .collect();
    known.sort_unstable_by_key(|export| std::cmp::Reverse(export.len()));
    let cuts = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(cut, _)| cut);
    let above = cuts.chain([path.len()]).map(|cut| without_slashes(&path[..cut]));
    for base in above {
        if !known.contains(&base) {
            known.push(base);
        }
    }
    known
}

fn without_slashes(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    if end == 0 { vec![b'/'] } else { path[..end].to_vec() }
}

/// True when `path` is `base` or below it.
fn holds(base: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
}

fn unreachable(url: &Url, error: &Error) -> Failure {
    let mend = match error {
        Error::NotOffered(_) => "; leave the version out of the address, or name one that it offers",
        Error::Transport(_) => "; see whether it runs, and whether the address names its port",
        _ => "",
    };
    match mend {
        "" => Failure::set_up(sentence("reach", url, error.kind(), error)),
        mend => Failure::set_up(format_args!("cannot reach {url}: {error}{mend}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bases_of(exports: &[&str], path: &str) -> Vec<String> {
        let exports: Vec<_> =
            exports.iter().map(|export| bytes::Bytes::copy_from_slice(export.as_bytes())).collect();
        bases(&exports, path.as_bytes()).into_iter().map(|base| String::from_utf8(base).unwrap()).collect()
    }

    #[test]
    fn the_innermost_export_that_holds_the_path_is_mounted() {
        assert_eq!(bases_of(&["/", "/data", "/data/deep/", "/date"], "/data/x")[..2], ["/data", "/"]);
        assert_eq!(bases_of(&["/data/deep/"], "/data/deep")[0], "/data/deep");
    }

    #[test]
    fn without_a_list_everything_above_is_tried() {
        assert_eq!(bases_of(&[], "/a/b"), ["/", "/a", "/a/b"]);
        assert_eq!(bases_of(&["/other"], "/"), ["/"]);
    }

    #[test]
    fn a_base_holds_whole_names_only() {
        assert!(holds(b"", b"/x") && holds(b"/a", b"/a") && holds(b"/a", b"/a/b"));
        assert!(!holds(b"/a", b"/ab") && !holds(b"/a/b", b"/a"));
    }
}
