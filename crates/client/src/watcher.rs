//! Who keeps a cache of its own above this client, as a kernel does, is told when something in it becomes
//! void.

use std::future::Future;
use std::pin::Pin;

/// Is told when what was known of an object is void. Objects are named by [`crate::Object::key`].
///
/// The methods are called in the middle of requests, so they must not block, nor wait for requests of this
/// client.
pub trait Watcher: Send + Sync {
    /// Others have changed the object: its data, its attributes and, of a directory, its names are void.
    fn changed(&self, object: u64);

    /// The delegation of the object goes back to the server once the future has ended; from then on others
    /// may change the object without a word.
    fn returning(&self, object: u64) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}
