//! Finds where exports appear in others, without waiting for file systems that hang.

use std::collections::{BTreeMap, HashMap};

use server::exports::{
    BackEnd, ExportId, ExportPath, InvalidExports, MountPoint, MountPoints, NoPlace, Version,
};
use tokio::runtime::Handle;

use super::ExportSpec;
use super::export_store::{ExportsError, Opened, Unavailable};
use super::probe::{self, Probes};

/// The mount points that were found last: by the number and path of the outer export, and the path of the
/// inner one.
pub(super) type LastFound = HashMap<(ExportId, ExportPath, ExportPath), MountPoint>;

/// Finds the mount points of all exports in others.
///
/// Those in an export whose file system hangs are the ones that were found `before`, since its requests wait
/// and its handles must not become stale. An export that was not seen in it before is left out.
///
/// # Errors
/// When an export has no directory to be seen in.
pub(super) fn find(
    opened: &mut Vec<Opened>,
    before: &LastFound,
    probes: &Probes,
    unavailable: &mut Unavailable<'_>,
) -> Result<(MountPoints, LastFound), ExportsError> {
    let mut found = MountPoints::default();
    let mut last = LastFound::new();
    loop {
        let questions = questions(opened, &found);
        if questions.is_empty() {
            return Ok((found, last));
        }
        let asked: Vec<_> = questions
            .into_iter()
            .map(|(outer, inner)| {
                let (asked, paths) = (outer.clone(), inner.clone());
                let probe = probes.begin(&outer.spec.directory, move || look(&asked, &paths));
                (outer, inner, probe)
            })
            .collect();
        let deadline = probe::deadline();
        for (outer, inner, probe) in asked {
            let answers = probe.wait(deadline);
            for (index, spec) in inner.iter().enumerate() {
                let key = (outer.id, outer.spec.path.clone(), spec.path.clone());
                let at = match &answers {
                    Ok(all) => Some(all[index].clone().map_err(InvalidExports::from)?),
                    Err(_) => before.get(&key).copied(),
                };
                let place = opened.iter().position(|open| open.spec == *spec);
                match (at, place, &answers) {
                    (Some(at), Some(place), _) => {
                        found.insert(outer.id, opened[place].id, at);
                        last.insert(key, at);
                    }
                    (None, Some(place), Err(error)) => {
                        unavailable.leave_out(spec, probe::same(error))?;
                        opened.remove(place);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The exports that others appear in, each with those whose mount points in it are not found yet.
fn questions(opened: &[Opened], found: &MountPoints) -> Vec<(Opened, Vec<ExportSpec>)> {
    let mut questions: BTreeMap<ExportId, (Opened, Vec<ExportSpec>)> = BTreeMap::new();
    for inner in opened {
        let Some(outer) = outer_of(inner, opened) else { continue };
        if found.get(outer.id, inner.id).is_none() {
            let (_, all) = questions.entry(outer.id).or_insert_with(|| (outer.clone(), Vec::new()));
            all.push(inner.spec.clone());
        }
    }
    questions.into_values().collect()
}

/// The export that the path of this one leads through for NFSv4 clients.
fn outer_of<'o>(inner: &Opened, opened: &'o [Opened]) -> Option<&'o Opened> {
    let path = &inner.spec.path;
    let is_seen = inner.spec.options.versions.iter().any(|version| version != Version::V3);
    if !is_seen || *path == ExportPath::root() {
        return None;
    }
    let others = opened.iter().filter(|other| other.spec.path != *path);
    let above = others.filter_map(|other| Some((other.spec.path.depth_above(path)?, other)));
    above.max_by_key(|(depth, _)| *depth).map(|(_, other)| other)
}

/// Looks for the mount points of exports in one. Blocks on its disk.
fn look(outer: &Opened, inner: &[ExportSpec]) -> Vec<Result<MountPoint, NoPlace>> {
    let file_system = BackEnd::Left(outer.file_system.clone());
    Handle::current().block_on(async {
        let mut found = Vec::with_capacity(inner.len());
        for spec in inner {
            found.push(MountPoint::find(&file_system, &outer.spec.path, &spec.path).await);
        }
        found
    })
}
