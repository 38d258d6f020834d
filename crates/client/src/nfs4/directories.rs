//! READDIR.

use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{DirectoryEntry, Operation, ReadDirArgs, ReadDirResult, Verifier};

use super::Mount;
use super::convert::{ATTRIBUTES, attributes};
use super::send::Kind;
use crate::error::Result;
use crate::node::Handle;
use crate::protocol::{DirPosition, RawEntry, RawPage};

/// The size of a reply, in bytes.
const BYTES_MAX: u32 = 128 << 10;

impl Mount {
    pub(crate) async fn read_dir(&self, dir: &Handle, at: DirPosition) -> Result<RawPage> {
        let wanted = ATTRIBUTES | Bitmap::of(&[AttributeId::FileHandle, AttributeId::RdattrError]);
        let bytes_max = BYTES_MAX.min(self.core.options.read_bytes_max);
        let args = ReadDirArgs {
            cookie: at.cookie,
            verifier: Verifier(at.verifier),
            directory_count: bytes_max,
            count_max: bytes_max,
            wanted,
        };
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::ReadDir), |operations| {
                operations.put_fh(dir).get_attr().put(Operation::ReadDir, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        let directory = results.attributes()?;
        let page: ReadDirResult = results.get(Operation::ReadDir)?;
        let last = page.entries.last().map_or(at.cookie, |entry| entry.cookie);
        let entries = page.entries.into_iter().map(raw_entry).collect();
        let next = (!page.eof).then_some(DirPosition { cookie: last, verifier: page.verifier.0 });
        Ok(RawPage { entries, next, directory: Some(directory) })
    }
}

pub(super) fn raw_entry(from: DirectoryEntry) -> RawEntry {
    RawEntry {
        name: from.name,
        fileid: from.attributes.fileid.unwrap_or(0),
        attributes: attributes(&from.attributes),
        handle: from.attributes.file_handle.map(|handle| Handle(handle.0)),
    }
}
