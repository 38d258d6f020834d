//! PATHCONF (RFC 1813 §3.3.20).

use proto::nfs3::{PathConfArgs, PathConfOk};
use vfs::FileSystem;

use super::attributes;
use super::context::{Context, Outcome, bare};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: PathConfArgs,
) -> Outcome<PathConfArgs> {
    let object = context.object(&arguments.object).await.map_err(bare)?;
    let now = object.attributes().await.map_err(bare)?;
    let (limits, capabilities) = (object.fs().limits(), object.fs().capabilities());
    Ok(PathConfOk {
        attributes: Some(attributes::to_wire(&now)),
        links_max: limits.links_max,
        name_bytes_max: limits.name_bytes_max,
        no_truncation: true,
        chown_restricted: limits.chown_restricted,
        case_insensitive: !capabilities.case_sensitive,
        case_preserving: capabilities.case_preserving,
    })
}
