//! Where the files of a set are, and how they come to be.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::draw;
use crate::experiment::Composed;
use crate::experiment::composed::FileSet;
use crate::seeded::{Seeded, mix};
use crate::workload::{Error, Mount, Pattern, WorkDirectory, files};

/// Files that are made at the same time.
const PARALLEL: usize = 32;

/// The directory of what only one run uses.
pub(super) fn of_run(place: &WorkDirectory, run: u64) -> String {
    format!("{}/run-{run}", place.directory)
}

/// The names and sizes of the files of one set of one client.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    root: String,
    set: FileSet,
    /// What tells its contents and sizes from those of other sets.
    key: u64,
    seed: u64,
    /// Directories above each file, below the root.
    depth: u32,
}

impl Tree {
    /// The tree of the set called `name` that `client` works on in `run`.
    pub(super) fn new(workload: &Composed, name: &str, place: &WorkDirectory, client: u32, run: u64) -> Self {
        let set = workload.sets[name].clone();
        let above = if workload.is_made_anew(name) { of_run(place, run) } else { place.directory.clone() };
        let owner = if set.shared { "all".to_owned() } else { client.to_string() };
        let number = workload.sets.keys().position(|other| other == name).unwrap_or_default() as u64;
        let client = if set.shared { 0 } else { u64::from(client) + 1 };
        let leaves = set.entries.div_ceil(set.width);
        let depth = if leaves > 1 { digits(leaves - 1, set.width) } else { 0 };
        Self {
            root: format!("{above}/{owner}/{name}"),
            key: mix(client << 8 | number),
            seed: place.seed,
            set,
            depth,
        }
    }

    /// The directory that all its files are below.
    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// The path of the file of `entry`.
    pub(super) fn path(&self, entry: u64) -> String {
        format!("{}/f{entry}", self.directory(entry))
    }

    /// The directory that the file of `entry` is in.
    pub(super) fn directory(&self, entry: u64) -> String {
        self.directory_at(entry / self.set.width, self.depth)
    }

    /// The first `depth` directories of the way to the leaf with this number.
    fn directory_at(&self, leaf: u64, depth: u32) -> String {
        let mut path = self.root.clone();
        for level in 0..depth {
            let below = self.set.width.saturating_pow(self.depth - 1 - level);
            path.push_str(&format!("/d{}", leaf / below % self.set.width));
        }
        path
    }

    /// Its directories, level by level from the root.
    fn levels(&self) -> Vec<Vec<String>> {
        let leaves = self.set.entries.div_ceil(self.set.width);
        (0..=self.depth)
            .map(|depth| {
                let step = self.set.width.saturating_pow(self.depth - depth);
                (0..leaves).step_by(step as usize).map(|leaf| self.directory_at(leaf, depth)).collect()
            })
            .collect()
    }

    /// The size of the file of `entry` when it is written whole.
    pub(super) fn size(&self, entry: u64) -> u64 {
        draw::size(self.set.size, &mut Seeded::new(self.seed ^ self.key, entry))
    }

    /// What stands in the file that was made for `entry`: it follows from the place alone, whoever writes it.
    pub(super) fn content(&self, entry: u64) -> Pattern {
        Pattern::new(self.seed ^ self.key, entry, 1)
    }

    /// How many of its entries are there at the start: the first ones.
    pub(super) fn preallocated(&self) -> u64 {
        (self.set.entries as f64 * self.set.preallocated).round() as u64
    }
}

/// How many digits `number` has in base `base`.
fn digits(mut number: u64, base: u64) -> u32 {
    let mut digits = 1;
    while number >= base {
        number /= base;
        digits += 1;
    }
    digits
}

/// Makes the sets that each run has of its own, for one run; without one the others.
pub(super) async fn make(
    workload: &Composed,
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    run: Option<u64>,
) -> Result<(), Error> {
    let mut trees = Vec::new();
    for (name, set) in &workload.sets {
        if workload.is_made_anew(name) == run.is_some() {
            let clients = if set.shared { 1 } else { place.clients };
            let number = run.unwrap_or_default();
            trees.extend((0..clients).map(|client| Tree::new(workload, name, place, client, number)));
        }
    }
    if trees.is_empty() {
        return Ok(());
    }
    if let Some(run) = run {
        mount.make_directory(&of_run(place, run)).await?;
    }
    let mut owners: Vec<String> =
        trees.iter().filter_map(|tree| Some(tree.root.rsplit_once('/')?.0.to_owned())).collect();
    owners.sort_unstable();
    owners.dedup();
    files::make_directories(mount, owners).await?;
    for tree in &trees {
        for level in tree.levels() {
            files::make_directories(mount, level).await?;
        }
        make_files(tree, mount, workload.io_bytes).await?;
    }
    Ok(())
}

async fn make_files(tree: &Tree, mount: &Arc<Mount>, io_bytes: u64) -> Result<(), Error> {
    let mut tasks = JoinSet::new();
    for entry in 0..tree.preallocated() {
        if tasks.len() == PARALLEL {
            files::one(&mut tasks).await?;
        }
        let (mount, path) = (mount.clone(), tree.path(entry));
        let (content, size) = (tree.content(entry), tree.size(entry));
        tasks.spawn(async move {
            if size <= io_bytes {
                return mount.write_file(&path, content.bytes(0, size as usize)).await;
            }
            files::make_file(&mount, &path, content, size).await
        });
    }
    files::all(&mut tasks).await
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// The tree of a set with so many entries in directories of this width, of which eight in ten are there.
    pub(in crate::workload::composed) fn tree(entries: u64, width: u64) -> Tree {
        let set = FileSet {
            entries,
            size: Default::default(),
            width,
            preallocated: 0.8,
            pick: Default::default(),
            shared: false,
        };
        let sets = BTreeMap::from([("files".to_owned(), set)]);
        let workload = Composed { threads: 1, io_bytes: 1, sets, phases: Vec::new() };
        let place = WorkDirectory { directory: "/bench".to_owned(), clients: 1, seed: 1 };
        Tree::new(&workload, "files", &place, 0, 3)
    }

    #[test]
    fn every_file_has_a_directory_and_none_holds_more_than_the_width() {
        for (entries, width, depth) in
            [(10_000, 20, 3), (20, 20, 0), (21, 20, 1), (400, 20, 1), (401, 20, 2), (7, 2, 2)]
        {
            let tree = tree(entries, width);
            assert_eq!(tree.depth, depth, "{entries} in {width}");
            let levels = tree.levels();
            let mut inside: BTreeMap<String, u64> = BTreeMap::new();
            for (level, directories) in levels.iter().enumerate() {
                assert_eq!(directories.iter().collect::<BTreeSet<_>>().len(), directories.len());
                for directory in directories.iter().filter(|_| level > 0) {
                    *inside.entry(directory.rsplit_once('/').unwrap().0.to_owned()).or_default() += 1;
                }
            }
            let leaves: BTreeSet<&String> = levels.last().unwrap().iter().collect();
            for entry in 0..entries {
                assert!(leaves.contains(&tree.directory(entry)), "{}", tree.path(entry));
                *inside.entry(tree.directory(entry)).or_default() += 1;
            }
            assert!(inside.values().all(|count| *count <= width), "{inside:?}");
        }
    }

    #[test]
    fn the_first_entries_are_there() {
        assert_eq!(tree(10_000, 20).preallocated(), 8000);
    }
}
