//! Finding the path of a directory over NFSv3, where the server has another one over NFSv4: NFS-Ganesha's
//! pseudo paths, Linux's `fsid=0`.

use client::{Client, Url};

use crate::workload::{Address, Habits, Mount};

/// Paths that are tried at most. Each takes a connection.
const TRIED_MAX: usize = 64;
const HABITS: Habits = Habits { delegations: false, readahead: false, data_cache: false };

/// Returns the path over NFSv3 of the directory that `address` names over `version` of NFSv4. `None` where
/// both have the same path, and where no export in the list of MOUNT leads to a directory with the same file
/// id.
pub(crate) async fn find(address: &Address, version: &str) -> Option<String> {
    if address.path_of_v3().is_some() || root_id(address, "3").await.is_some() {
        return None;
    }
    let wanted = root_id(address, version).await?;
    let url = address.url("3")?;
    let exports = Client::exports(&url, url.options()).await.ok()?;
    let exports = exports.into_iter().filter_map(|export| String::from_utf8(export.to_vec()).ok());
    for path in candidates(&url, &exports.collect::<Vec<_>>()) {
        let there = address.clone().with_path_of_v3(Some(&path));
        if root_id(&there, "3").await == Some(wanted) {
            return Some(path);
        }
    }
    None
}

/// Every export, by itself and with each end of the path: an export may be a directory above the one that is
/// named.
fn candidates(url: &Url, exports: &[String]) -> Vec<String> {
    let path = String::from_utf8_lossy(url.path()).into_owned();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let ends = (0..=parts.len()).rev().map(|from| parts[from..].join("/"));
    let of_end = |end: String| {
        exports.iter().map(move |export| {
            let export = export.trim_end_matches('/');
            if end.is_empty() { export.to_owned() } else { format!("{export}/{end}") }
        })
    };
    ends.flat_map(of_end).filter(|candidate| !candidate.is_empty()).take(TRIED_MAX).collect()
}

/// The file id of the root of `address`; `None` where it cannot be had over `version`.
async fn root_id(address: &Address, version: &str) -> Option<u64> {
    let mount = Mount::connect(address, version, HABITS).await.ok()?;
    let id = mount.root_id().await;
    mount.shut_down().await;
    id.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_tried_alone_and_with_each_end_of_the_path() {
        let url: Url = "nfs://host/data/a".parse().unwrap();
        let exports = ["/srv/data".to_owned(), "/".to_owned()];
        let expected = ["/srv/data", "/srv/data/a", "/a", "/srv/data/data/a", "/data/a"];
        assert_eq!(candidates(&url, &exports), expected);
        let many: Vec<String> = (0..100).map(|number| format!("/{number}")).collect();
        assert_eq!(candidates(&url, &many).len(), TRIED_MAX);
    }
}
