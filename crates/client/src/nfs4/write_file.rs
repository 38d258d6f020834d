//! A whole file in one request: OPEN that makes it or makes it empty, WRITE to stable storage, CLOSE
//! (RFC 8881 §18.16, §18.32, §18.2).

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::{
    CloseArgs, CreateHow, GetFhResult, OpenArgs, Operation, StableHow, StateId, Status, WriteResult, share,
};

use super::Mount;
use super::compound::{Results, status_of};
use super::convert::effect;
use super::io::WriteChunk;
use super::open::{open_args, read_open};
use super::send::Kind;
use super::state::{ServerOpen, newest};
use crate::attributes::Attributes;
use crate::error::Result;
use crate::node::{Handle, Node};
use crate::open::OpenOptions;
use crate::protocol::FoundObject;
use crate::shared::Shared;
use crate::writeback::Chunk;

/// False when it takes an open file after all: the name is a symbolic link, or the server wrote less than was
/// asked.
pub(crate) async fn write_file(
    shared: &Arc<Shared>,
    mount: &Mount,
    (dir, name): (&Arc<Node>, &Bytes),
    data: &Bytes,
    mode: u32,
) -> Result<bool> {
    let remembered = shared.remembered_name(dir, name).flatten();
    if let Some(node) = &remembered {
        mount.before_change(node).await?;
        // What is read meanwhile may be of before or after.
        shared.forget_data(node, 0..u64::MAX);
    }
    let owner = mount.core.owners.lock().take();
    let asked = Instant::now();
    let sent = send(mount, (dir, name), data, owner, mode).await;
    let mut results = shared.or_forget(dir, name, sent)?;
    let opened = match read_open(&mut results) {
        Ok(opened) => opened,
        Err(error) => {
            mount.core.owners.lock().give_back(owner);
            return match status_of(&error) {
                Some(Status::Symlink | Status::WrongType) => Ok(false),
                _ => shared.or_forget(dir, name, Err(error)),
            };
        }
    };
    shared.learn_effect(dir, effect(&opened.change), asked);
    let handle = Handle(results.get::<GetFhResult>(Operation::GetFh)?.object.0);
    let node = shared.nodes.get(&handle);
    shared.forget_data(&node, 0..u64::MAX);
    match written(&mut results, data) {
        Ok((complete, attributes)) => {
            mount.core.owners.lock().give_back(owner);
            shared.learn_overwritten(dir, name, &FoundObject { handle, attributes }, asked);
            // Data that an open file of ours was given before must not come after: then it is written again.
            Ok(complete && !shared.has_pending(&node))
        }
        Err(error) => {
            shared.forget_name(dir, name);
            node.state.lock().known.doubt(Instant::now());
            // The server did not come as far as CLOSE.
            let (state_id, epoch) = (newest(opened.state_id), results.epoch);
            let open = ServerOpen { owner, state_id, read: false, write: true, epoch };
            mount.close_later(Some(&handle), open).await;
            Err(error)
        }
    }
}

async fn send(
    mount: &Mount,
    (dir, name): (&Node, &Bytes),
    data: &Bytes,
    owner: u64,
    mode: u32,
) -> Result<Results> {
    let options = OpenOptions::new().write(true);
    let set = AttributeValues { mode: Some(mode), size: Some(0), ..AttributeValues::default() };
    let args = OpenArgs {
        create: Some(Box::new(CreateHow::Unchecked(set))),
        ..open_args(name, &options, owner, share::WANT_NO_DELEGATION)
    };
    let chunk = Chunk { offset: 0, length: data.len() as u32, pieces: vec![data.clone()] };
    let write = WriteChunk { state_id: StateId::CURRENT, stable: StableHow::FileSync, chunk: &chunk };
    mount
        .core
        .compound(Kind::once(Operation::Open), |operations| {
            operations.put_fh(&dir.handle).put(Operation::Open, &args).put(Operation::GetFh, &());
            if !data.is_empty() {
                operations.put(Operation::Write, &write);
            }
            let close = CloseArgs { sequence: 0, state_id: StateId::CURRENT };
            operations.get_attr().put(Operation::Close, &close);
        })
        .await
}

/// Whether everything is written, and the attributes then; the file is closed.
fn written(results: &mut Results, data: &Bytes) -> Result<(bool, Attributes)> {
    let complete = match data.is_empty() {
        true => true,
        false => {
            let written: WriteResult = results.get(Operation::Write)?;
            written.count as usize == data.len() && written.committed == StableHow::FileSync
        }
    };
    let attributes = results.attributes()?;
    results.get::<StateId>(Operation::Close)?;
    Ok((complete, attributes))
}
