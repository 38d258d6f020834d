//! Making, linking, removing and renaming. All of it under the tree lock.

use std::sync::Arc;

use bytes::Bytes;

use super::entries::Entries;
use super::inode::{Content, Inode, Node, new_attributes};
use super::pages::Pages;
use super::{LINKS_MAX, Memory, SYMLINK_BYTES_MAX, attributes};
use crate::permissions::{self, EXECUTE, SET_GID, WRITE};
use crate::{
    Attributes, CreateMode, Created, DeviceNumber, Error, FileKind, Identity, Name, NodeKind, RemoveKind,
    Result, SetAttributes,
};

/// A directory and a name in it.
type Location<'a> = (&'a Arc<Inode>, Name<'a>);

impl Memory {
    pub(super) fn create_now(
        &self,
        who: &Identity,
        dir: &Arc<Inode>,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<Created<Node>> {
        let _tree = self.tree.lock();
        if let Some(existing) = self.find(who, (dir, name))? {
            return self.create_over(who, existing, mode);
        }
        let (set, verifier) = match mode {
            CreateMode::Unchecked(set) | CreateMode::Guarded(set) => (*set, None),
            CreateMode::Exclusive { verifier, attributes } => (*attributes, Some(*verifier)),
        };
        let set = SetAttributes { mode: set.mode.or(Some(0o600)), ..set };
        let inode = self.make(who, (dir, name), FileKind::Regular, Content::File(Pages::default()), &set)?;
        inode.state.write().verifier = verifier;
        let attributes = inode.attributes();
        Ok(Created { node: Node(inode), attributes, created: true })
    }

    pub(super) fn make_dir_now(
        &self,
        who: &Identity,
        dir: &Arc<Inode>,
        name: Name<'_>,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        let set = SetAttributes { mode: set.mode.or(Some(0o700)), size: None, ..*set };
        let content = Content::Directory(Entries::new(dir.fileid));
        self.make_new(who, (dir, name), FileKind::Directory, content, &set)
    }

    pub(super) fn make_symlink_now(
        &self,
        who: &Identity,
        dir: &Arc<Inode>,
        name: Name<'_>,
        target: &[u8],
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        if target.is_empty() || target.contains(&0) {
            return Err(Error::Invalid);
        }
        if target.len() > SYMLINK_BYTES_MAX {
            return Err(Error::NameTooLong);
        }
        // The mode of a symbolic link has no meaning.
        let set = SetAttributes { mode: Some(0o777), size: None, ..*set };
        let content = Content::Symlink(Bytes::copy_from_slice(target));
        self.make_new(who, (dir, name), FileKind::Symlink, content, &set)
    }

    pub(super) fn make_node_now(
        &self,
        who: &Identity,
        dir: &Arc<Inode>,
        name: Name<'_>,
        kind: NodeKind,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        let (kind, device) = match kind {
            NodeKind::Fifo => (FileKind::Fifo, None),
            NodeKind::Socket => (FileKind::Socket, None),
            NodeKind::Block(major, minor) => (FileKind::Block, Some(DeviceNumber { major, minor })),
            NodeKind::Character(major, minor) => (FileKind::Character, Some(DeviceNumber { major, minor })),
        };
        if device.is_some() && who.uid != 0 {
            return Err(Error::NotPermitted);
        }
        let set = SetAttributes { mode: set.mode.or(Some(0o600)), size: None, ..*set };
        let (node, _) = self.make_new(who, (dir, name), kind, Content::Nothing, &set)?;
        node.0.state.write().attributes.device = device.unwrap_or_default();
        let attributes = node.0.attributes();
        Ok((node, attributes))
    }

    pub(super) fn link_now(
        &self,
        who: &Identity,
        inode: &Arc<Inode>,
        dir: &Arc<Inode>,
        name: Name<'_>,
    ) -> Result<()> {
        let _tree = self.tree.lock();
        if inode.kind == FileKind::Directory {
            return Err(Error::IsDirectory);
        }
        self.check_free(who, (dir, name))?;
        match inode.attributes().links {
            0 => return Err(Error::Stale),
            LINKS_MAX.. => return Err(Error::TooManyLinks),
            _ => {}
        }
        self.enter((dir, name), inode.fileid)?;
        let mut state = inode.state.write();
        state.attributes.links += 1;
        state.changed(self.now());
        Ok(())
    }

    pub(super) fn remove_now(
        &self,
        who: &Identity,
        dir: &Arc<Inode>,
        name: Name<'_>,
        kind: RemoveKind,
    ) -> Result<()> {
        let _tree = self.tree.lock();
        let victim = self.find(who, (dir, name))?.ok_or(Error::NotFound)?;
        check_removable(who, dir, &victim)?;
        match (kind, victim.kind == FileKind::Directory) {
            (RemoveKind::NonDirectory, true) => return Err(Error::IsDirectory),
            (RemoveKind::Directory, false) => return Err(Error::NotDirectory),
            (_, true) => check_empty(&victim)?,
            (_, false) => {}
        }
        self.leave((dir, name))?;
        self.unlink(dir, &victim);
        Ok(())
    }

    pub(super) fn rename_now(&self, who: &Identity, from: Location<'_>, to: Location<'_>) -> Result<()> {
        let _tree = self.tree.lock();
        let moved = self.find(who, from)?.ok_or(Error::NotFound)?;
        let target = self.find(who, to)?;
        if target.as_ref().is_some_and(|target| Arc::ptr_eq(target, &moved)) {
            return Ok(());
        }
        check_removable(who, from.0, &moved)?;
        let is_dir = moved.kind == FileKind::Directory;
        let changes_parent = !Arc::ptr_eq(from.0, to.0);
        if is_dir && changes_parent {
            self.check_not_below(to.0, &moved)?;
            // Its `..` changes.
            permissions::require(who, &moved.attributes(), WRITE)?;
            check_links(to.0)?;
        }
        match &target {
            None => require_changeable(who, to.0)?,
            Some(target) => {
                check_removable(who, to.0, target)?;
                match (is_dir, target.kind == FileKind::Directory) {
                    (true, false) => return Err(Error::NotDirectory),
                    (false, true) => return Err(Error::IsDirectory),
                    (true, true) => check_empty(target)?,
                    (false, false) => {}
                }
            }
        }
        self.enter(to, moved.fileid)?;
        self.leave(from)?;
        if let Some(target) = &target {
            self.unlink(to.0, target);
        }
        if is_dir && changes_parent {
            from.0.state.write().attributes.links -= 1;
            to.0.state.write().attributes.links += 1;
            moved.state.write().entries()?.1.parent = to.0.fileid;
        }
        moved.state.write().changed(self.now());
        Ok(())
    }

    /// What CREATE does when the name exists.
    fn create_over(&self, who: &Identity, existing: Arc<Inode>, mode: &CreateMode) -> Result<Created<Node>> {
        let mut created = false;
        match mode {
            CreateMode::Guarded(_) => return Err(Error::Exists),
            CreateMode::Exclusive { verifier, .. } => {
                if existing.state.read().verifier != Some(*verifier) {
                    return Err(Error::Exists);
                }
                created = true;
            }
            CreateMode::Unchecked(set) => {
                match existing.kind {
                    FileKind::Regular => {}
                    FileKind::Directory => return Err(Error::IsDirectory),
                    FileKind::Symlink => return Err(Error::IsSymlink),
                    _ => return Err(Error::WrongType),
                }
                if set.size == Some(0) {
                    let truncation = SetAttributes { size: Some(0), ..Default::default() };
                    self.set_attributes_now(who, &existing, &truncation)?;
                }
            }
        }
        let attributes = existing.attributes();
        Ok(Created { node: Node(existing), attributes, created })
    }

    /// [`Memory::make`] where the name must be free.
    fn make_new(
        &self,
        who: &Identity,
        place: Location<'_>,
        kind: FileKind,
        content: Content,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        let _tree = self.tree.lock();
        self.check_free(who, place)?;
        let inode = self.make(who, place, kind, content, set)?;
        let attributes = inode.attributes();
        Ok((Node(inode), attributes))
    }

    /// Makes an object and its name, which is known to be free.
    fn make(
        &self,
        who: &Identity,
        place: Location<'_>,
        kind: FileKind,
        content: Content,
        set: &SetAttributes,
    ) -> Result<Arc<Inode>> {
        let (dir, _) = place;
        require_changeable(who, dir)?;
        if kind == FileKind::Directory {
            check_links(dir)?;
        }
        let new = self.initial_attributes(who, &dir.attributes(), kind);
        let mut mode = set.mode.unwrap_or_default();
        let rest = SetAttributes { mode: None, ..*set };
        attributes::check(who, &new, &rest)?;
        let inode = Inode::new(new, content, &self.budget, &self.table)?;
        {
            let mut state = inode.state.write();
            attributes::apply(who, &mut state, &rest, self.now());
            mode = permissions::settable_mode(who, state.attributes.gid, mode);
            state.attributes.mode |= mode;
            if let Content::Symlink(target) = &state.content {
                state.attributes.size = target.len() as u64;
            }
        }
        if let Err(error) = self.enter(place, inode.fileid) {
            self.table.unlink(&inode);
            return Err(error);
        }
        if kind == FileKind::Directory {
            dir.state.write().attributes.links += 1;
        }
        Ok(inode)
    }

    /// Owner and group of a new object; a set-group-id directory hands down its group.
    fn initial_attributes(&self, who: &Identity, dir: &Attributes, kind: FileKind) -> Attributes {
        let inherits = dir.mode & SET_GID != 0;
        Attributes {
            uid: who.uid,
            gid: if inherits { dir.gid } else { who.gid },
            mode: if inherits && kind == FileKind::Directory { SET_GID } else { 0 },
            ..new_attributes(kind, self.table.new_fileid(), self.fsid, self.now())
        }
    }

    /// The object at `place`, for a caller who may search the directory.
    fn find(&self, who: &Identity, place: Location<'_>) -> Result<Option<Arc<Inode>>> {
        match self.lookup_now(who, place.0, place.1) {
            Ok(inode) => Ok(Some(inode)),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn check_free(&self, who: &Identity, place: Location<'_>) -> Result<()> {
        if self.find(who, place)?.is_some() {
            return Err(Error::Exists);
        }
        require_changeable(who, place.0)
    }

    /// Gives the name to `fileid`, whether it is new or taken over.
    fn enter(&self, place: Location<'_>, fileid: u64) -> Result<()> {
        let name = place.1.as_bytes();
        let mut state = place.0.state.write();
        if state.entries()?.1.get(name).is_none() {
            state.charge.grow(Entries::cost_bytes(name))?;
        }
        state.entries()?.1.insert(name, fileid);
        state.modified(self.now());
        Ok(())
    }

    /// Takes the name out.
    fn leave(&self, place: Location<'_>) -> Result<()> {
        let name = place.1.as_bytes();
        let mut state = place.0.state.write();
        state.entries()?.1.remove(name);
        state.charge.shrink(Entries::cost_bytes(name));
        state.modified(self.now());
        Ok(())
    }

    /// Counts the loss of a name of `victim` in `dir`.
    fn unlink(&self, dir: &Inode, victim: &Arc<Inode>) {
        let is_dir = victim.kind == FileKind::Directory;
        if is_dir {
            dir.state.write().attributes.links -= 1;
        }
        let mut state = victim.state.write();
        state.attributes.links = if is_dir { 0 } else { state.attributes.links - 1 };
        state.changed(self.now());
        if state.attributes.links == 0 {
            self.table.unlink(victim);
        }
    }

    /// Refuses to move a directory into itself.
    fn check_not_below(&self, dir: &Arc<Inode>, top: &Arc<Inode>) -> Result<()> {
        let mut at = dir.clone();
        loop {
            if Arc::ptr_eq(&at, top) {
                return Err(Error::Invalid);
            }
            if Arc::ptr_eq(&at, &self.root) {
                return Ok(());
            }
            let parent = at.state.write().entries()?.1.parent;
            at = self.table.get(parent).ok_or(Error::Stale)?;
        }
    }
}

/// Checks that `who` may change the entries of `dir`, which must still have a name.
fn require_changeable(who: &Identity, dir: &Inode) -> Result<()> {
    let mut state = dir.state.write();
    let (attributes, _) = state.entries()?;
    permissions::require(who, attributes, WRITE | EXECUTE)
}

fn check_removable(who: &Identity, dir: &Inode, victim: &Inode) -> Result<()> {
    require_changeable(who, dir)?;
    let allowed = permissions::sticky_allows(who, &dir.attributes(), &victim.attributes());
    if allowed { Ok(()) } else { Err(Error::NotPermitted) }
}

fn check_empty(dir: &Inode) -> Result<()> {
    if dir.state.write().entries()?.1.is_empty() { Ok(()) } else { Err(Error::NotEmpty) }
}

fn check_links(dir: &Inode) -> Result<()> {
    if dir.attributes().links >= LINKS_MAX { Err(Error::TooManyLinks) } else { Ok(()) }
}
