//! Handles that cannot be forged, for back ends that do not authenticate theirs.

use std::path::Path;
use std::sync::Arc;

use crate::seal::Seal;
use crate::{Error, FileSystem, Handle, Layer, ObjectId, Request, Result, handle_key};

/// A file system whose handles are sealed: a keyed tag ends each, and one that was made up is `BadHandle`.
///
/// The key is that of the state directory, so that handles outlive a restart when those of the back end do.
/// Handles of different name spaces do not open each other's objects, and objects of two back ends have
/// different [`ObjectId`]s.
pub struct Sealed<F> {
    inner: Arc<F>,
    seal: Seal,
    /// Added to the generations of objects.
    generation: u64,
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
        Ok(Self { inner, seal, generation })
    }
}

impl<F: FileSystem> Layer for Sealed<F> {
    type Inner = F;

    fn inner(&self) -> &F {
        &self.inner
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
}
