//! LISTXATTRS (RFC 8276 §8.4.3).

use bytes::Bytes;
use proto::nfs4::{ListXattrsArgs, ListXattrsResult, Operation};

use super::Mount;
use super::send::Kind;
use crate::error::{Error, Result};
use crate::node::Handle;

/// The size of a reply, in bytes: what Linux gives at most.
const BYTES_MAX: u32 = 64 << 10;
/// The most names of one object.
const NAMES_MAX: usize = 1 << 16;

impl Mount {
    pub(crate) async fn list_xattrs(&self, object: &Handle) -> Result<Vec<Bytes>> {
        let count_max = BYTES_MAX.min(self.core.options.read_bytes_max);
        let mut names = Vec::new();
        let mut cookie = 0;
        loop {
            let args = ListXattrsArgs { cookie, count_max };
            let mut results = self
                .core
                .compound(Kind::repeatable(Operation::ListXattrs), |operations| {
                    operations.put_fh(object).put(Operation::ListXattrs, &args);
                })
                .await?;
            results.done(Operation::PutFh)?;
            let part: ListXattrsResult = results.get(Operation::ListXattrs)?;
            let before = names.len();
            names.extend(part.names.into_iter().map(|name| name.0));
            if part.eof {
                return Ok(names);
            }
            // Each reply has a name, or the bound on names would not end the list.
            if before == names.len() || names.len() > NAMES_MAX {
                return Err(Error::misbehaved("LISTXATTRS", "the list has no end"));
            }
            cookie = part.cookie;
        }
    }
}
