//! REMOVEXATTR (RFC 8276 §8.4.4).

use bytes::Bytes;
use proto::nfs4::{Operation, RemoveXattrArgs, RemoveXattrResult};

use super::Mount;
use super::convert::effect_with;
use super::send::Kind;
use crate::error::Result;
use crate::node::Handle;
use crate::protocol::Effect;

impl Mount {
    pub(crate) async fn remove_xattr(&self, object: &Handle, name: &Bytes) -> Result<Effect> {
        let args = RemoveXattrArgs { name: name.clone() };
        let mut results = self
            .core
            .compound(Kind::once(Operation::RemoveXattr), |operations| {
                operations.put_fh(object).put(Operation::RemoveXattr, &args).get_attr();
            })
            .await?;
        results.done(Operation::PutFh)?;
        let RemoveXattrResult { change } = results.get(Operation::RemoveXattr)?;
        Ok(effect_with(&change, results.attributes().ok()))
    }
}
