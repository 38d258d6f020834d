//! `ls -R`: a directory and everything below it.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Descend, TreeEntry, TreeOptions};

use super::row::Entry;
use super::{Listing, SORTED_MAX, remote_path};
use crate::remote::{Spot, Work};

/// What is in each directory, by its path below the root of the tree.
type Directories = BTreeMap<Vec<u8>, Vec<client::DirEntry>>;

impl Listing<'_> {
    /// Many directories are asked for at a time. Sorted, they are shown when all are there; else each as it
    /// comes.
    pub(super) async fn show_tree(&mut self, spot: &Spot) -> Work {
        self.session.progress.begin(&spot.url);
        let options = TreeOptions {
            entries_max: SORTED_MAX as u64,
            progress: self.session.progress.of_tree(),
            ..TreeOptions::default()
        };
        let mut directories = Directories::from([(Vec::new(), Vec::new())]);
        let hides = !self.arguments.all;
        let listed = spot
            .client
            .list_tree(&spot.path, &options, |found: TreeEntry| {
                if hides && found.entry.name.starts_with(b".") {
                    return Descend::Not;
                }
                let cut = found.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                if found.entry.attributes.is_some_and(|known| known.is_directory()) {
                    directories.entry(found.path.to_vec()).or_default();
                }
                directories.entry(found.path[..cut].to_vec()).or_default().push(found.entry);
                Descend::Into
            })
            .await;
        match listed {
            Ok(report) => {
                for failure in &report.failures {
                    let url = remote_path::below(&spot.url, &failure.path);
                    self.session.failed("list", url, &failure.error);
                    directories.remove(&failure.path[..]);
                }
            }
            Err(error) => {
                self.session.failed("list", &spot.url, &error);
                return Ok(());
            }
        }
        self.show_below(spot, &mut directories).await
    }

    async fn show_below(&mut self, spot: &Spot, directories: &mut Directories) -> Work {
        let mut todo = vec![Vec::new()];
        while let Some(path) = todo.pop() {
            let Some(entries) = directories.remove(&path) else { continue };
            let here = spot.below(&path);
            let mut below: Vec<_> = entries
                .iter()
                .filter(|entry| entry.attributes.is_some_and(|known| known.is_directory()))
                .map(|entry| {
                    if path.is_empty() { entry.name.to_vec() } else { remote_path::join(&path, &entry.name) }
                })
                .collect();
            self.head(&here, true)?;
            let directory = Arc::new(here.url.clone());
            let rows = entries.into_iter().map(|entry| Entry::of(&directory, entry)).collect();
            self.show_all(&here, rows).await?;
            below.sort_unstable_by(|a, b| b.cmp(a));
            todo.append(&mut below);
        }
        Ok(())
    }
}
