//! OPEN of an object that is known by its handle (CLAIM_FH, RFC 8881 §18.16.3).

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::{OpenArgs, OpenClaim, OpenResult, Operation, SetAttrArgs, StateId, Status};

use super::Mount;
use super::access::SetAttrWith;
use super::compound::status_of;
use super::open::{open_alone, open_args, read_open, wish};
use super::send::Kind;
use super::state::{FileState, ServerOpen, newest};
use crate::attributes::Attributes;
use crate::error::{Error, Result};
use crate::node::Node;
use crate::open::{OpenOptions, Opened};
use crate::protocol::Effect;
use crate::shared::Shared;

/// Opens `node`, which exists; nothing in `options` that creates is looked at.
pub(crate) async fn open_object(
    shared: &Arc<Shared>,
    mount: &Mount,
    node: &Arc<Node>,
    options: &OpenOptions,
) -> Result<Opened> {
    if node.state.lock().is_delegated() {
        let gate = Arc::clone(&node.gate).lock_owned().await;
        if let Some(v4) = open_alone(node, options) {
            return Ok(Opened { node: Arc::clone(node), v4, gate: Some(gate) });
        }
    }
    if options.modifies() {
        mount.return_in_the_way_of_writing(node).await?;
    }
    mount.close_before(&node.handle).await;
    let owner = mount.core.owners.lock().take();
    let asked = Instant::now();
    let (opened, described, epoch) = match send(mount, node, options, owner).await {
        Ok(answer) => answer,
        Err(error) => {
            mount.core.owners.lock().give_back(owner);
            return Err(match status_of(&error) {
                Some(Status::Symlink | Status::WrongType) => Error::Usage("only regular files can be opened"),
                _ => error,
            });
        }
    };
    let state_id = newest(opened.state_id);
    let open = ServerOpen { owner, state_id, read: options.read, write: options.write, epoch };
    match described {
        Ok(attributes) if options.truncate => {
            shared.learn_effect(node, Effect::Around { before: None, after: Some(attributes) }, asked);
        }
        Ok(attributes) => {
            shared.learn_at_open(node, attributes, asked);
        }
        Err(error) => {
            // It is open at the server, and of no use here.
            mount.close_later(Some(&node.handle), open).await;
            return Err(error);
        }
    }
    mount.learn_flags(opened.flags);
    mount.accept_delegation(node, &opened.delegation, epoch);
    Ok(Opened {
        node: Arc::clone(node),
        v4: FileState { open: Some(open), ..FileState::default() },
        gate: None,
    })
}

async fn send(
    mount: &Mount,
    node: &Node,
    options: &OpenOptions,
    owner: u64,
) -> Result<(OpenResult, Result<Attributes>, u64)> {
    let args = OpenArgs {
        create: None,
        claim: OpenClaim::Handle,
        ..open_args(&Bytes::new(), options, owner, wish(mount, options, Some(node)))
    };
    let empty = AttributeValues { size: Some(0), ..AttributeValues::default() };
    let mut results = mount
        .core
        .compound(Kind::repeatable(Operation::Open), |operations| {
            operations.put_fh(&node.handle).put(Operation::Open, &args);
            if options.truncate {
                let args = SetAttrWith(SetAttrArgs { state_id: StateId::CURRENT }, &empty);
                operations.put(Operation::SetAttr, &args);
            }
            operations.get_attr();
        })
        .await?;
    let opened = read_open(&mut results)?;
    let described = match options.truncate {
        true => results.get::<Bitmap>(Operation::SetAttr).and_then(|_| results.attributes()),
        false => results.attributes(),
    };
    Ok((opened, described, results.epoch))
}
