//! The same client for plain threads: every call waits until it is done.
//!
//! A [`Client`] has a runtime of its own, with one thread in the background, which its files and directories share. A file
//! reads, writes and seeks through the traits of [`std::io`]. Nothing here may be called from async code, where waiting would
//! stop everything else: use [`crate::Client`] there.
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
