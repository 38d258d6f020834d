//! Where one export goes on in another: NFSv4 clients cross there by name (RFC 8881 §7.3, §7.7).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use vfs::{FileSystem, Handle, Name, ObjectId, Request};

use super::mount_points::{MountPoint, NoPlace};
use super::{Caller, Denied, Export, ExportId, ExportPath};

/// A name in a directory that leads out of its export, or on the way to others.
#[derive(Debug)]
pub(crate) struct Junction<F> {
    /// The export whose root is there.
    here: Option<Arc<Export<F>>>,
    /// Those that can only be reached over the directory itself.
    below: Vec<Arc<Export<F>>>,
}

/// Where a name leads a caller.
#[derive(Debug)]
pub(crate) enum Leads<'a, F> {
    /// To the root of this export.
    Into(&'a Arc<Export<F>>),
    /// To what its directory has under that name.
    On,
}

impl<F> Default for Junction<F> {
    fn default() -> Self {
        Self { here: None, below: Vec::new() }
    }
}

impl<F: FileSystem> Junction<F> {
    /// Where the name leads this caller. For whom nothing is there, the name is not there either.
    ///
    /// # Errors
    /// `Client`, or `Port` when that is all that is wrong.
    pub(crate) fn leads(&self, caller: &Caller<'_>) -> Result<Leads<'_, F>, Denied> {
        let here = match &self.here {
            Some(export) => export.rule(caller).map(|_| Leads::Into(export)),
            None => Err(Denied::Client),
        };
        match here {
            Err(Denied::Client | Denied::Port)
                if self.below.iter().any(|export| export.rule(caller).is_ok()) =>
            {
                Ok(Leads::On)
            }
            here => here,
        }
    }
}

/// A directory over the root of an export.
#[derive(Debug)]
pub(crate) struct Above<F> {
    pub(crate) export: Arc<Export<F>>,
    /// Of the directory, in that export.
    pub(crate) handle: Handle,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Junctions<F> {
    below: HashMap<(ExportId, ObjectId), BTreeMap<Bytes, Junction<F>>>,
    /// Of each export, the directories that it can be seen in, the nearest first.
    above: HashMap<ExportId, Vec<Above<F>>>,
}

impl<F> Default for Junctions<F> {
    fn default() -> Self {
        Self { below: HashMap::new(), above: HashMap::new() }
    }
}

impl<F: FileSystem> Junctions<F> {
    /// The names in a directory that are junctions.
    pub(crate) fn of(&self, export: ExportId, dir: ObjectId) -> Option<&BTreeMap<Bytes, Junction<F>>> {
        if self.below.is_empty() { None } else { self.below.get(&(export, dir)) }
    }

    /// The directory over the root of an export, for a caller.
    pub(crate) fn above(&self, export: ExportId, caller: &Caller<'_>) -> Option<&Above<F>> {
        self.above.get(&export)?.iter().find(|above| above.export.rule(caller).is_ok())
    }

    /// Makes the root of `child` appear in `parent`, the export that its path leads through.
    pub(super) fn mount(&mut self, parent: &Arc<Export<F>>, child: &Arc<Export<F>>, at: &MountPoint) {
        let Some(name) = child.path().components().last() else { return };
        child.set_mounted_on(at.fileid);
        self.junction(parent.id(), at.directory, name).here = Some(Arc::clone(child));
        let above = Above { export: Arc::clone(parent), handle: at.handle };
        self.above.entry(child.id()).or_default().push(above);
    }

    /// Makes every directory of `way` on the path of `child` lead on to it.
    pub(super) async fn lead(&mut self, way: &Arc<Export<F>>, child: &Arc<Export<F>>) -> Result<(), NoPlace> {
        let fs = way.file_system();
        let mut node = fs.root();
        for name in child.path().components() {
            if child.path() != &ExportPath::root() {
                self.junction(way.id(), fs.object_id(&node), name).below.push(Arc::clone(child));
            }
            let found = fs.lookup(Request::of_server(), &node, name).await;
            (node, _) =
                found.map_err(|_| NoPlace { path: child.path().clone(), parent: way.path().clone() })?;
        }
        Ok(())
    }

    fn junction(&mut self, export: ExportId, dir: ObjectId, name: Name<'_>) -> &mut Junction<F> {
        let names = self.below.entry((export, dir)).or_default();
        names.entry(Bytes::copy_from_slice(name.as_bytes())).or_default()
    }
}
