//! ALLOCATE and DEALLOCATE (RFC 7862 §15.1, §15.4).

use std::ops::Range;

use proto::nfs4::{AllocateArgs, Operation};

use super::Mount;
use super::send::Kind;
use crate::error::Result;
use crate::file::OpenFile;
use crate::protocol::Effect;
use crate::sparse::Space;

impl Mount {
    pub(crate) async fn change_space(
        &self,
        file: &OpenFile,
        range: &Range<u64>,
        space: Space,
    ) -> Result<Effect> {
        let operation = match space {
            Space::Reserved => Operation::Allocate,
            Space::GivenBack => Operation::Deallocate,
        };
        self.with_state(file, |state_id| async move {
            let args = AllocateArgs { state_id, offset: range.start, length: range.end - range.start };
            let mut results = self
                .core
                .compound(Kind::repeatable(operation), |operations| {
                    operations.put_fh(&file.node.handle).put(operation, &args).get_attr();
                })
                .await?;
            results.done(Operation::PutFh)?;
            results.done(operation)?;
            Ok(Effect::Around { before: None, after: results.attributes().ok() })
        })
        .await
    }
}
