//! WRITE (RFC 1813 §3.3.7).

use bytes::Bytes;
use proto::nfs3::{StableHow, Status, WccData, WriteArgs, WriteFail, WriteOk, WriteVerifier};
use vfs::{FileSystem, Stability, Written};

use super::context::{Context, Outcome, bare};
use super::object::Object;
use super::{status, transfer};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: WriteArgs,
) -> Outcome<WriteArgs> {
    let file = context.object(&arguments.file).await.map_err(bare)?;
    // Nothing keeps others from writing between a look at the attributes and the data, and a client that is
    // told them believes that it was alone (RFC 1813 §2.5, wcc_data): so it is told none.
    let before = None;
    // Taken before the data is written: were it newer, the loss of what was written would go unseen.
    let verifier = WriteVerifier(file.fs().write_verifier());
    match write(context, &file, arguments).await {
        Ok(written) => Ok(WriteOk {
            file: WccData { before, after: file.settled().await.unwrap_or_default() },
            count: u32::try_from(written.count).expect("a back end writes at most what was given"),
            committed: match written.stability {
                Stability::Unstable => StableHow::Unstable,
                Stability::DataSync => StableHow::DataSync,
                Stability::FileSync => StableHow::FileSync,
            },
            verifier,
        }),
        Err(status) => Err((status, WriteFail { file: file.around(before).await })),
    }
}

async fn write<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    file: &Object<'_, F>,
    arguments: WriteArgs,
) -> Result<Written, Status> {
    file.writable()?;
    let data = checked(arguments.data, arguments.count)?;
    let _changing = context.before_write(file).await?;
    let stability = match arguments.stable {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::DataSync,
        StableHow::FileSync => Stability::FileSync,
    };
    let written = file.fs().write(file.request(), &file.node, arguments.offset, data, stability).await;
    written.map_err(status::of_data)
}

/// The data to write: its length must be the count, and what is above the maximum is left to another WRITE.
fn checked(mut data: Bytes, count: u32) -> Result<Bytes, Status> {
    if data.len() != count as usize {
        return Err(Status::Invalid);
    }
    data.truncate(transfer::DATA_BYTES_MAX as usize);
    Ok(data)
}
