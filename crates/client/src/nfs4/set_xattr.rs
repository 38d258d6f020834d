//! SETXATTR (RFC 8276 §8.4.2).

use proto::nfs4::{Operation, SetXattrArgs, SetXattrResult};

use super::Mount;
use super::convert::effect_with;
use super::send::Kind;
use crate::error::Result;
use crate::node::Handle;
use crate::protocol::Effect;

impl Mount {
    pub(crate) async fn set_xattr(&self, object: &Handle, args: &SetXattrArgs) -> Result<Effect> {
        let mut results = self
            .core
            .compound(Kind::once(Operation::SetXattr), |operations| {
                operations.put_fh(object).put(Operation::SetXattr, args).get_attr();
            })
            .await?;
        results.done(Operation::PutFh)?;
        let SetXattrResult { change } = results.get(Operation::SetXattr)?;
        Ok(effect_with(&change, results.attributes().ok()))
    }
}
