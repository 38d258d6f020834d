//! TEST: would this lock be granted?

use proto::nlm4::{Holder, NetObject, Status, TestArgs, TestResponse, TestResult};
use vfs::FileSystem;

use super::context::{Context, denied, needed};
use super::lock_table::{LockDenied, LockTable};

pub(super) async fn run<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: TestArgs,
) -> TestResponse {
    // What is free now may be taken back.
    if context.locks.in_grace() {
        let result = TestResult::Other(Status::DeniedGracePeriod);
        return TestResponse { cookie: arguments.cookie, result };
    }
    let result = match context.lock(&arguments.lock, needed(arguments.exclusive)).await {
        Err(status) => TestResult::Other(status),
        Ok((target, range)) => {
            match context.locks.test(target.file, &target.owner, range, arguments.exclusive).await {
                Ok(()) => TestResult::Other(Status::Granted),
                Err(LockDenied::Conflict(held)) => TestResult::Denied(Holder {
                    exclusive: held.exclusive,
                    process: held.owner.process,
                    owner: NetObject(held.owner.owner),
                    offset: held.range.start,
                    length: held.range.length(),
                }),
                Err(why) => TestResult::Other(denied(&why)),
            }
        }
    };
    TestResponse { cookie: arguments.cookie, result }
}
