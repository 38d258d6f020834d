//! GETATTR (RFC 1813 §3.3.1). Needs no permission.

use proto::nfs3::{GetAttrArgs, GetAttrOk};
use vfs::FileSystem;

use super::attributes;
use super::context::{Context, Outcome, bare};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: GetAttrArgs,
) -> Outcome<GetAttrArgs> {
    let object = context.object(&arguments.object).await.map_err(bare)?;
    context.before_attributes(&object).await.map_err(bare)?;
    let now = object.attributes().await.map_err(bare)?;
    Ok(GetAttrOk { attributes: attributes::to_wire(&now) })
}
