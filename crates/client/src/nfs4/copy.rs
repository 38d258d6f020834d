//! COPY (RFC 7862 §15.2), within one server and done when it is answered.

use proto::nfs4::{CopyArgs, CopyResult, Operation, StableHow};

use super::Mount;
use super::send::Kind;
use crate::copy::{Copied, Span};
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::protocol::Effect;

impl Mount {
    /// Copies as much of `span` as the server does at a time.
    pub(crate) async fn copy(&self, source: &OpenFile, target: &OpenFile, span: Span) -> Result<Copied> {
        self.with_states(source, target, |source_state_id, target_state_id| async move {
            let args = CopyArgs {
                source_state_id,
                target_state_id,
                source_offset: span.from,
                target_offset: span.to,
                count: span.count,
                consecutive: true,
                synchronous: true,
                sources: Vec::new(),
            };
            let mut results = self
                .core
                .compound(Kind::repeatable(Operation::Copy), |operations| {
                    operations.put_fh(&source.node.handle).put(Operation::SaveFh, &());
                    operations.put_fh(&target.node.handle).put(Operation::Copy, &args).get_attr();
                })
                .await?;
            results.done(Operation::PutFh)?;
            results.done(Operation::SaveFh)?;
            results.done(Operation::PutFh)?;
            let CopyResult { written, .. } = results.get(Operation::Copy)?;
            if written.count > span.count || !written.callback_id.is_empty() {
                return Err(Error::misbehaved("COPY", "the bytes are not copied as was asked"));
            }
            Ok(Copied {
                count: written.count,
                unstable: (written.committed == StableHow::Unstable).then_some(written.verifier.0),
                effect: Effect::Around { before: None, after: results.attributes().ok() },
            })
        })
        .await
    }
}
