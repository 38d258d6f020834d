//! Handles that cannot be forged, for back ends that do not authenticate theirs.

use std::path::Path;
use std::sync::Arc;

use crate::seal::Seal;
use crate::{Attributes, Error, FileSystem, Handle, Layer, ObjectId, Request, Result, handle_key};

/// A file system whose handles are sealed: a keyed tag ends each, and one that was made up is `BadHandle`.
/// Objects of a back end that has no `fsid` of its own (0) get one of their name space.
///
/// The key is that of the state directory, so that handles outlive a restart when those of the back end do.
/// Handles of different name spaces do not open each other's objects, and objects of two back ends have
/// different [`ObjectId`]s.
pub struct Sealed<F> {
    inner: Arc<F>,
    seal: Seal,
    /// Added to the generations of objects.
    generation: u64,
    /// In the place of 0.
    fsid: u64,
}

impl<F: FileSystem> Sealed<F> {
    /// The longest handle of the back end, in bytes.
    pub const HANDLE_BYTES_MAX: usize = 48;

    /// Seals the handles of `inner` with the key in `state_directory`, which is made there; without one the
    /// key ends with the process.
    ///
    /// # Errors
    /// `Io` when the key can neither be read nor made. `Invalid` when the handle of the root is longer than
    /// [`Sealed::HANDLE_BYTES_MAX`].
    pub fn new(inner: Arc<F>, state_directory: Option<&Path>, name_space: u32) -> Result<Self> {
        if inner.handle(&inner.root()).as_bytes().len() > Self::HANDLE_BYTES_MAX {
            return Err(Error::Invalid);
        }
        let seal = Seal::new(handle_key(state_directory).map_err(Error::Io)?, name_space.into());
        let generation = seal.derive(b"generation");
        let fsid = seal.derive(b"file system");
        Ok(Self { inner, seal, generation, fsid })
    }
}

impl<F: FileSystem> Layer for Sealed<F> {
    type Inner = F;

    fn inner(&self) -> &F {
        &self.inner
    }

    fn rewrite_attributes(&self, attributes: Attributes) -> Attributes {
        let fsid = if attributes.fsid == 0 { self.fsid } else { attributes.fsid };
        Attributes { fsid, ..attributes }
    }

    /// Seals an empty handle, which does not resolve, in the place of one that is too long.
    fn handle(&self, node: &F::Node) -> Handle {
        let handle = self.inner.handle(node);
        let bytes = handle.as_bytes();
        self.seal.seal(if bytes.len() > Self::HANDLE_BYTES_MAX { &[] } else { bytes })
    }

    fn object_id(&self, node: &F::Node) -> ObjectId {
        let ObjectId { fileid, generation } = self.inner.object_id(node);
        ObjectId { fileid, generation: generation.wrapping_add(self.generation) }
    }

    async fn resolve(&self, request: Request<'_>, handle: &[u8]) -> Result<F::Node> {
        self.inner.resolve(request, self.seal.open(handle)?).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, MemoryOptions};
    use crate::{CreateMode, Name};

    fn sealed(state_directory: Option<&Path>, name_space: u32) -> Sealed<Memory> {
        let options = MemoryOptions { key: Some([7; 16]), ..MemoryOptions::default() };
        Sealed::new(Arc::new(Memory::new(options).unwrap()), state_directory, name_space).unwrap()
    }

    fn resolves(file_system: &Sealed<Memory>, handle: &[u8]) -> Result<()> {
        pollster::block_on(FileSystem::resolve(file_system, Request::of_server(), handle)).map(|_| ())
    }

    #[test]
    fn handle_of_the_back_end_itself_does_not_resolve() {
        let file_system = sealed(None, 1);
        let root = FileSystem::root(&file_system);
        let handle = FileSystem::handle(&file_system, &root);
        resolves(&file_system, handle.as_bytes()).unwrap();
        let bare = file_system.inner().handle(&root);
        assert!(matches!(resolves(&file_system, bare.as_bytes()), Err(Error::BadHandle)));
    }

    #[test]
    fn handles_outlive_a_restart_with_the_key_and_stay_in_their_name_space() {
        let state = tempfile::tempdir().unwrap();
        let before = sealed(Some(state.path()), 1);
        let (root, other) = (FileSystem::root(&before), sealed(Some(state.path()), 2));
        let handle = FileSystem::handle(&before, &root);
        resolves(&sealed(Some(state.path()), 1), handle.as_bytes()).unwrap();
        assert!(matches!(resolves(&other, handle.as_bytes()), Err(Error::BadHandle)));
        assert!(matches!(resolves(&sealed(None, 1), handle.as_bytes()), Err(Error::BadHandle)));
        let ids = [&before, &other].map(|fs| FileSystem::object_id(fs, &FileSystem::root(fs)));
        assert_ne!(ids[0], ids[1]);
    }

    /// A back end that has no number of its own.
    struct Unnumbered(Memory);

    impl Layer for Unnumbered {
        type Inner = Memory;

        fn inner(&self) -> &Memory {
            &self.0
        }

        fn rewrite_attributes(&self, attributes: Attributes) -> Attributes {
            Attributes { fsid: 0, ..attributes }
        }
    }

    /// The `fsid` in the results of methods of each shape.
    async fn numbers(fs: &Sealed<impl FileSystem>) -> Result<Vec<u64>> {
        let (request, root) = (Request::of_server(), FileSystem::root(fs));
        let name = Name::new(b"name")?;
        let new = CreateMode::Guarded(Default::default());
        let mut found = vec![FileSystem::create(fs, request, &root, name, &new).await?.attributes];
        let (node, attributes) = FileSystem::lookup(fs, request, &root, name).await?;
        found.extend([attributes, FileSystem::attributes(fs, request, &node).await?]);
        found.extend(FileSystem::settled_attributes(fs, request, &node).await?);
        found.push(FileSystem::set_attributes(fs, request, &node, &Default::default()).await?);
        let again = CreateMode::Unchecked(Default::default());
        found.push(FileSystem::begin_create(fs, request, &root, name, &again).await?.0.attributes);
        let page = FileSystem::read_dir(fs, request, &root, 0, 9, true).await?;
        found.extend(page.entries.iter().filter_map(|entry| Some(entry.object.as_ref()?.1)));
        assert!(found.len() > 6, "{found:?}");
        Ok(found.iter().map(|attributes| attributes.fsid).collect())
    }

    #[test]
    fn back_end_without_a_number_gets_one_of_its_name_space() {
        let state = tempfile::tempdir().unwrap();
        let of = |name_space| {
            let inner = Unnumbered(Memory::new(MemoryOptions::default()).unwrap());
            let fs = Sealed::new(Arc::new(inner), Some(state.path()), name_space).unwrap();
            let mut numbers = pollster::block_on(numbers(&fs)).unwrap();
            numbers.dedup();
            assert!(numbers.len() == 1 && numbers[0] != 0, "{numbers:?}");
            numbers[0]
        };
        assert_eq!(of(1), of(1), "after a restart");
        assert_ne!(of(1), of(2));
        let own = sealed(Some(state.path()), 1);
        let expected = pollster::block_on(own.inner().attributes(Request::of_server(), &own.inner().root()));
        let expected = expected.unwrap().fsid;
        assert!(pollster::block_on(numbers(&own)).unwrap().iter().all(|fsid| *fsid == expected));
    }
}
