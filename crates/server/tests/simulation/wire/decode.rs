//! What replies say.

use bytes::Bytes;
use proto::nfs4::*;
use xdr::Decoder;

use super::stateless;
use crate::action::{Action, CELL_BYTES, Done, Outcome, Request, STATELESS};

/// What a reply says; the server's replies are well-formed, or the run ends here.
pub fn decode(request: &Request, bytes: &Bytes) -> Outcome {
    if let Request::InSession { place, action, .. } = request
        && place.session == STATELESS
    {
        return stateless::decode(*place, action, bytes);
    }
    read(request, bytes).expect("a reply that can be decoded")
}

fn read(request: &Request, bytes: &Bytes) -> xdr::Result<Outcome> {
    let mut reply = CompoundReader::new(Decoder::new(bytes.clone()))?;
    let mut done = Done::default();
    macro_rules! result {
        ($operation:ident, $refusal:ident) => {
            match reply.next(Operation::$operation)? {
                Ok(body) => body.get()?,
                Err(status) => return Ok(Outcome::$refusal(status)),
            }
        };
        ($operation:ident) => {
            result!($operation, Failed)
        };
    }
    match request {
        Request::ExchangeId { .. } => {
            let result: ExchangeIdResult = result!(ExchangeId, Refused);
            (done.client, done.sequence) = (Some(result.client), Some(result.sequence));
        }
        Request::CreateSession { .. } => {
            let result: CreateSessionResult = result!(CreateSession, Refused);
            done.session = Some(result.session);
        }
        Request::Bind { .. } => {
            let _: BindConnToSessionResult = result!(BindConnToSession, Refused);
        }
        Request::InSession { action, .. } => {
            let result: SequenceResult = result!(Sequence, Refused);
            done.flags = result.status_flags;
            match action {
                Action::Nothing => {}
                Action::ReclaimComplete => result!(ReclaimComplete),
                Action::Open { .. } => {
                    let () = result!(PutRootFh);
                    let result: OpenResult = result!(Open);
                    done.state_id = Some(result.state_id);
                    done.delegation = delegation(&result.delegation);
                    let result: GetFhResult = result!(GetFh);
                    done.handle = Some(result.object);
                }
                Action::Test { .. } => {
                    let result: TestStateIdResult = result!(TestStateId);
                    done.tested = result.statuses.first().copied();
                }
                Action::Free { .. } => result!(FreeStateId),
                Action::Remove { .. } => {
                    let () = result!(PutRootFh);
                    let _: RemoveResult = result!(Remove);
                }
                Action::Rename { .. } => {
                    let () = result!(PutRootFh);
                    let () = result!(SaveFh);
                    let _: RenameResult = result!(Rename);
                }
                other => {
                    let () = result!(PutFh);
                    match other {
                        Action::ReclaimOpen { .. } => {
                            let result: OpenResult = result!(Open);
                            done.state_id = Some(result.state_id);
                            done.delegation = delegation(&result.delegation);
                        }
                        Action::Return { .. } => result!(DelegReturn),
                        Action::SetMode { .. } => {
                            let _: SetAttrResult = result!(SetAttr);
                        }
                        Action::Close { .. } => {
                            let _: StateId = result!(Close);
                        }
                        Action::Lock { .. } => {
                            let result: LockResult = result!(Lock);
                            done.state_id = Some(result.state_id);
                        }
                        Action::Unlock { .. } => {
                            let result: LockUResult = result!(LockU);
                            done.state_id = Some(result.state_id);
                        }
                        Action::Read { .. } => {
                            let result: ReadResult = result!(Read);
                            done.value = number(&result.data);
                        }
                        _ => {
                            let _: WriteResult = result!(Write);
                        }
                    }
                }
            }
        }
    }
    Ok(Outcome::Done(done))
}

/// The number of a cell, which is 0 where nothing was written.
pub fn number(data: &[u8]) -> u64 {
    let mut number = [0; CELL_BYTES as usize];
    number[..data.len()].copy_from_slice(data);
    u64::from_be_bytes(number)
}

fn delegation(given: &OpenDelegation) -> Option<(StateId, bool)> {
    match given {
        OpenDelegation::Read(read) => Some((read.state_id, false)),
        OpenDelegation::Write(write) => Some((write.state_id, true)),
        OpenDelegation::None | OpenDelegation::NoneExt(_) => None,
        other => panic!("nobody asked for {other:?}"),
    }
}
