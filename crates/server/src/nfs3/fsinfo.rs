//! FSINFO (RFC 1813 §3.3.19).

use proto::nfs3::{
    FSINFO_CAN_SET_TIME, FSINFO_HOMOGENEOUS, FSINFO_LINK, FSINFO_SYMLINK, FsInfoArgs, FsInfoOk, Time,
};
use vfs::FileSystem;

use super::attributes;
use super::context::{Context, Outcome, bare};
use super::transfer::{DATA_BYTES_MAX, LISTING_BYTES_PREFERRED};
use crate::conflicts::Conflicts;

/// What transfer sizes should be multiples of, in bytes.
const MULTIPLE: u32 = 4096;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: FsInfoArgs,
) -> Outcome<FsInfoArgs> {
    let object = context.object(&arguments.root).await.map_err(bare)?;
    let now = object.attributes().await.map_err(bare)?;
    let limits = object.fs().limits();
    let capabilities = object.fs().capabilities();
    let link = if capabilities.hard_links { FSINFO_LINK } else { 0 };
    let symlink = if capabilities.symlinks { FSINFO_SYMLINK } else { 0 };
    Ok(FsInfoOk {
        attributes: Some(attributes::to_wire(&now)),
        read_max: DATA_BYTES_MAX,
        read_preferred: DATA_BYTES_MAX,
        read_multiple: MULTIPLE,
        write_max: DATA_BYTES_MAX,
        write_preferred: DATA_BYTES_MAX,
        write_multiple: MULTIPLE,
        read_dir_preferred: LISTING_BYTES_PREFERRED,
        file_bytes_max: limits.file_bytes_max,
        time_granularity: Time {
            seconds: limits.time_granularity_ns / 1_000_000_000,
            nanoseconds: limits.time_granularity_ns % 1_000_000_000,
        },
        properties: link | symlink | FSINFO_HOMOGENEOUS | FSINFO_CAN_SET_TIME,
    })
}
