//! SHARE and UNSHARE: reserve whole files. Only reservations are compared with each other; NFSv3 has no open
//! to check them at.

use proto::nlm4::{Share, ShareAccess, ShareArgs, ShareMode, ShareResponse, Status};
use vfs::{Access, FileSystem};

use super::context::{Context, HOST_NAME_BYTES_MAX, Target, denied};
use super::lock_table::{LockCall, LockTable, Shares};

/// SHARE.
pub(super) async fn take<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: ShareArgs,
) -> ShareResponse {
    let status = reserve(context, &arguments).await.err().unwrap_or(Status::Granted);
    ShareResponse { cookie: arguments.cookie, status, sequence: 0 }
}

/// UNSHARE. What is not held is given back with success.
pub(super) async fn give_back<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: ShareArgs,
) -> ShareResponse {
    let status = match target(context, &arguments.share, Access::default()).await {
        Err(status) => status,
        Ok(target) => {
            context.locks.unshare(target.file, &target.owner);
            Status::Granted
        }
    };
    ShareResponse { cookie: arguments.cookie, status, sequence: 0 }
}

async fn reserve<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: &ShareArgs,
) -> Result<(), Status> {
    // As with LOCK.
    if arguments.reclaim != context.locks.in_grace() {
        return Err(Status::DeniedGracePeriod);
    }
    let shares = shares(&arguments.share);
    let mut wanted = Access::default();
    if shares.read {
        wanted.0 |= Access::READ.0;
    }
    if shares.write {
        wanted.0 |= Access::MODIFY.0;
    }
    let target = target(context, &arguments.share, wanted).await?;
    let call =
        LockCall { route: context.route(), is_monitored: true, reclaim: arguments.reclaim, waits_for: None };
    context.locks.share(target.file, &target.owner, shares, call).await.map_err(|why| denied(&why))
}

async fn target<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    share: &Share,
    wanted: Access,
) -> Result<Target, Status> {
    if share.caller_name.len() > HOST_NAME_BYTES_MAX {
        return Err(Status::Failed);
    }
    let file = context.target(&share.file, wanted).await?;
    Ok(Target { file, owner: context.owner(&share.caller_name, &share.owner, 0) })
}

fn shares(share: &Share) -> Shares {
    Shares {
        read: matches!(share.access, ShareAccess::Read | ShareAccess::Both),
        write: matches!(share.access, ShareAccess::Write | ShareAccess::Both),
        deny_read: matches!(share.mode, ShareMode::DenyRead | ShareMode::DenyBoth),
        deny_write: matches!(share.mode, ShareMode::DenyWrite | ShareMode::DenyBoth),
    }
}
