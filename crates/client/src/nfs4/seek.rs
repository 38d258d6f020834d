//! SEEK (RFC 7862 §15.11).

use proto::nfs4::{DataContent, Operation, SeekArgs, SeekResult, Status};

use super::Mount;
use super::compound::status_of;
use super::send::Kind;
use crate::error::Result;
use crate::file::OpenFile;

impl Mount {
    /// Where the next data or hole begins, at `offset` or after it; `None` when there is none before the end
    /// of the file. The end itself counts as a hole.
    pub(crate) async fn seek(&self, file: &OpenFile, offset: u64, what: DataContent) -> Result<Option<u64>> {
        self.with_state(file, |state_id| async move {
            let args = SeekArgs { state_id, offset, what };
            let mut results = self
                .core
                .compound(Kind::repeatable(Operation::Seek), |operations| {
                    operations.put_fh(&file.node.handle).put(Operation::Seek, &args).get_attr();
                })
                .await?;
            results.done(Operation::PutFh)?;
            let found: SeekResult = match results.get(Operation::Seek) {
                Ok(found) => found,
                Err(error) if status_of(&error) == Some(Status::NoDevice) => return Ok(None),
                Err(error) => return Err(error),
            };
            match (found.eof, what) {
                (false, _) => Ok(Some(found.offset)),
                (true, DataContent::Data) => Ok(None),
                // Servers differ in what they say of the place then.
                (true, DataContent::Hole) => {
                    let size = results.attributes()?.size;
                    Ok((offset < size).then_some(size))
                }
            }
        })
        .await
    }
}
