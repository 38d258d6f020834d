//! CLONE (RFC 7862 §15.13): two files share a range until one of them is written.

use proto::nfs4::{CloneArgs, Operation};

use super::Mount;
use super::send::Kind;
use crate::copy::Span;
use crate::error::Result;
use crate::file::OpenFile;
use crate::protocol::Effect;

impl Mount {
    /// All of `span`, or nothing; a count of 0 is everything up to the end of the source.
    pub(crate) async fn clone_range(
        &self,
        source: &OpenFile,
        target: &OpenFile,
        span: Span,
    ) -> Result<Effect> {
        self.with_states(source, target, |source_state_id, target_state_id| async move {
            let args = CloneArgs {
                source_state_id,
                target_state_id,
                source_offset: span.from,
                target_offset: span.to,
                count: span.count,
            };
            let mut results = self
                .core
                .compound(Kind::repeatable(Operation::Clone), |operations| {
                    operations.put_fh(&source.node.handle).put(Operation::SaveFh, &());
                    operations.put_fh(&target.node.handle).put(Operation::Clone, &args).get_attr();
                })
                .await?;
            results.done(Operation::PutFh)?;
            results.done(Operation::SaveFh)?;
            results.done(Operation::PutFh)?;
            results.done(Operation::Clone)?;
            Ok(Effect::Around { before: None, after: results.attributes().ok() })
        })
        .await
    }
}
