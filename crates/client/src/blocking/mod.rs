//! The same client for plain threads: every call waits until it is done.
//!
//! A [`Client`] has a runtime of its own, with one thread in the background, which its files and directories
//! share. A file reads, writes and seeks through the traits of [`std::io`]. Nothing here may be called from
//! async code, where waiting would stop everything else: use [`crate::Client`] there.
//!
//! ```no_run
//! use std::io::{Read, Write};
//!
//! let client = client::blocking::Client::connect("nfs://server/export")?;
//! client.create("/greeting")?.write_all(b"hello")?;
//! let mut text = String::new();
//! client.open("/greeting")?.read_to_string(&mut text)?;
//! # std::io::Result::Ok(())
//! ```

mod client;
mod directory;
mod driver;
mod file;
mod read_dir;

pub use client::Client;
pub use directory::Directory;
pub use file::File;
pub use read_dir::ReadDir;

/// Methods that wait for those of the same name.
macro_rules! waiting {
    ($like:literal $(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        $(
            #[doc = concat!("As [`", $like, "::", stringify!($name), "`].")]
            ///
            /// # Errors
            /// See [`crate::Error`].
            pub fn $name(&self, $($argument: $type),*) -> crate::Result<$output> {
                self.driver.wait(self.inner.$name($($argument),*))
            }
        )*
    };
}
use waiting;

/// What a tree and a directory in it do alike with paths below them.
macro_rules! waiting_on_paths {
    ($like:literal) => {
        $crate::blocking::waiting! {
            $like
            fn create_file(path: impl AsRef<[u8]>, mode: u32) -> ();
            fn create_dir(path: impl AsRef<[u8]>, mode: u32) -> ();
            fn create_dir_all(path: impl AsRef<[u8]>, mode: u32) -> ();
            fn exists(path: impl AsRef<[u8]>) -> bool;
            fn symlink(target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> ();
            fn read_link(path: impl AsRef<[u8]>) -> Bytes;
            fn hard_link(existing: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> ();
            fn remove_file(path: impl AsRef<[u8]>) -> ();
            fn remove_dir(path: impl AsRef<[u8]>) -> ();
            fn rename(from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> ();
            fn metadata(path: impl AsRef<[u8]>) -> Attributes;
            fn symlink_metadata(path: impl AsRef<[u8]>) -> Attributes;
            fn set_metadata(path: impl AsRef<[u8]>, set: SetAttributes) -> ();
            fn access(path: impl AsRef<[u8]>, wanted: Access) -> Access;
            fn statfs(path: impl AsRef<[u8]>) -> FsStat;
            fn xattr(path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Option<Bytes>;
            fn set_xattr(path: impl AsRef<[u8]>, name: impl AsRef<[u8]>, value: Bytes, mode: XattrMode) -> ();
            fn list_xattrs(path: impl AsRef<[u8]>) -> Vec<Bytes>;
            fn remove_xattr(path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> ();
            fn forget(path: impl AsRef<[u8]>) -> ();
        }
    };
}
use waiting_on_paths;
