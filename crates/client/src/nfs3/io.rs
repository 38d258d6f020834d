//! READ, WRITE, COMMIT.

use proto::nfs3;

use super::Mount;
use super::convert::{attributes, effect};
use super::transport::failure;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::node::Handle;
use crate::protocol::{ReadReply, WriteReply};
use crate::writeback::{Chunk, Verifier};

impl Mount {
    pub(crate) async fn read(&self, file: &OpenFile, offset: u64, count: u32) -> Result<ReadReply> {
        self.check_locks(file).await?;
        let args = nfs3::ReadArgs { file: self.handle(&file.node.handle)?, offset, count };
        let ok = self.transport.ok(&args).await?;
        if ok.count as usize != ok.data.len() {
            return Err(Error::misbehaved("READ", "the count differs from the length of the data"));
        }
        let attributes = ok.attributes.as_ref().map(attributes);
        Ok(ReadReply { data: ok.data, eof: ok.eof, attributes, described_first: false })
    }

    pub(crate) async fn write(&self, file: &OpenFile, chunk: &Chunk, stable: bool) -> Result<WriteReply> {
        self.check_locks(file).await?;
        let handle = self.handle(&file.node.handle)?;
        let how = if stable { nfs3::StableHow::FileSync } else { nfs3::StableHow::Unstable };
        let reply = self
            .transport
            .reply_to::<nfs3::WriteArgs>(|to| {
                to.put(&handle);
                to.u64(chunk.offset);
                to.u32(chunk.length);
                to.put(&how);
                to.opaque_with(|buffer| {
                    chunk.pieces.iter().for_each(|piece| buffer.extend_from_slice(piece));
                });
            })
            .await?;
        let ok = reply.into_result().map_err(|(status, _)| failure(nfs3::Procedure::Write, status))?;
        Ok(WriteReply {
            count: ok.count,
            committed: ok.committed == nfs3::StableHow::FileSync,
            verifier: ok.verifier.0,
            effect: effect(&ok.file),
        })
    }

    pub(crate) async fn commit(&self, file: &Handle, offset: u64, count: u32) -> Result<Verifier> {
        let args = nfs3::CommitArgs { file: self.handle(file)?, offset, count };
        Ok(self.transport.ok(&args).await?.verifier.0)
    }
}
