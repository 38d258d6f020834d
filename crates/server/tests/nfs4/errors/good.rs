//! For every operation a COMPOUND in which it succeeds.

use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::*;

use super::arguments::{
    bytes, clone, copy, create, exchange, lock, lookup, put, read_dir, root, set, set_xattr, test_lock,
    unlock, write,
};
use super::ledger::{Step, step};
use super::scene::Scene;
use crate::peer::{Peer, open};

impl Scene {
    /// A COMPOUND whose last operation is `operation`, which succeeds.
    pub fn good(&self, operation: Operation) -> Vec<Step> {
        use Operation as O;
        let on = |object: &FileHandle, arguments: &dyn Fn() -> Step| vec![put(object), arguments()];
        let last = |arguments: &dyn Fn() -> Step| vec![arguments()];
        let same: AttributeValues = AttributeValues { size: Some(4), ..Default::default() };
        let values = AttributeValues { mode: Some(0o644), ..Default::default() };
        match operation {
            O::Access => on(&self.file, &|| step(operation, &AccessArgs { access: 1 })),
            O::BackchannelCtl => last(&|| {
                let callback_security = vec![CallbackSecurity::None];
                step(operation, &BackchannelCtlArgs { callback_program: 1, callback_security })
            }),
            O::BindConnToSession => last(&|| {
                let (session, direction) = (self.session, DirectionFromClient::Fore);
                step(operation, &BindConnToSessionArgs { session, direction, rdma: false })
            }),
            O::Close => on(&self.file, &|| step(operation, &CloseArgs { sequence: 0, state_id: self.open })),
            O::Commit => on(&self.file, &|| step(operation, &CommitArgs { offset: 0, count: 0 })),
            O::Create => vec![root(), create(CreateType::Directory, b"new", &values)],
            O::CreateSession => last(&|| step(operation, &self.create_session())),
            O::DelegReturn => {
                on(&self.delegated, &|| step(operation, &DelegReturnArgs { state_id: self.delegation }))
            }
            O::DestroyClientId => last(&|| step(operation, &DestroyClientIdArgs { client: self.client })),
            O::DestroySession => last(&|| step(operation, &DestroySessionArgs { session: self.session })),
            O::ExchangeId => last(&|| step(operation, &exchange("client 9", 1, 0))),
            O::FreeStateId => last(&|| step(operation, &FreeStateIdArgs { state_id: self.idle_lock })),
            O::GetDirDelegation => on(&self.directory, &|| {
                let at_once = Time { seconds: 0, nanoseconds: 0 };
                let arguments = GetDirDelegationArgs {
                    signal_available: false,
                    notification_types: Bitmap::EMPTY,
                    child_attribute_delay: at_once,
                    directory_attribute_delay: at_once,
                    child_attributes: Bitmap::EMPTY,
                    directory_attributes: Bitmap::EMPTY,
                };
                step(operation, &arguments)
            }),
            O::WantDelegation => on(&self.file, &|| {
                let (want, claim) = (share::WANT_READ_DELEGATION, DelegationClaim::Handle);
                step(operation, &WantDelegationArgs { want, claim })
            }),
            O::GetAttr => on(&self.file, &|| step(operation, &GetAttrArgs { wanted: same.present() })),
            O::Link => vec![
                put(&self.file),
                step(O::SaveFh, &()),
                root(),
                step(operation, &LinkArgs { new_name: bytes("hard") }),
            ],
            O::Lock => on(&self.file, &|| step(operation, &lock(self.open, "me", 0, 1))),
            O::LockT => on(&self.file, &|| step(operation, &test_lock("me", 0, 1))),
            O::LockU => on(&self.locked, &|| step(operation, &unlock(self.lock, 0, 10))),
            O::Lookup => vec![root(), lookup("f")],
            O::LookupParent | O::GetFh | O::SaveFh => on(&self.directory, &|| step(operation, &())),
            O::NVerify => {
                on(&self.file, &|| step(operation, &AttributeValues { size: Some(99), ..Default::default() }))
            }
            O::Verify => on(&self.file, &|| step(operation, &same)),
            O::Open => vec![
                root(),
                step(operation, &open("new", share::BOTH, Some(CreateHow::Guarded(values.clone())))),
            ],
            O::OpenDowngrade => on(&self.file, &|| {
                let (state_id, share_access) = (self.open, share::READ);
                step(operation, &OpenDowngradeArgs { state_id, sequence: 0, share_access, share_deny: 0 })
            }),
            O::PutFh => last(&|| put(&self.file)),
            O::PutPubFh | O::PutRootFh => last(&|| step(operation, &())),
            O::Read => {
                on(&self.file, &|| step(operation, &ReadArgs { state_id: self.open, offset: 0, count: 4 }))
            }
            O::ReadDir => vec![root(), step(operation, &read_dir(Bitmap::EMPTY))],
            O::ReadLink => on(&self.link, &|| step(operation, &())),
            O::ReclaimComplete => {
                vec![root(), step(operation, &ReclaimCompleteArgs { one_fs: true })]
            }
            O::Remove => vec![root(), step(operation, &RemoveArgs { target: bytes("r") })],
            O::Rename => vec![
                root(),
                step(O::SaveFh, &()),
                step(operation, &RenameArgs { old_name: bytes("r"), new_name: bytes("s") }),
            ],
            O::RestoreFh => vec![root(), step(O::SaveFh, &()), step(operation, &())],
            O::SecInfo => vec![root(), step(operation, &SecInfoArgs { name: bytes("f") })],
            O::SecInfoNoName => {
                on(&self.directory, &|| step(operation, &SecInfoNoNameArgs { style: SecInfoStyle::Parent }))
            }
            O::SetAttr => vec![put(&self.file), set(StateId::ANONYMOUS, &values)],
            O::TestStateId => {
                last(&|| step(operation, &TestStateIdArgs { state_ids: vec![self.open, self.lock] }))
            }
            O::Write => on(&self.file, &|| step(operation, &write(self.open, 0))),
            other => self.good_since_2(other),
        }
    }

    /// The same for the operations of minor version 2 and its extensions.
    fn good_since_2(&self, operation: Operation) -> Vec<Step> {
        use Operation as O;
        let on = |last: Step| vec![put(&self.file), last];
        let between = |last: Step| vec![put(&self.locked), step(O::SaveFh, &()), put(&self.file), last];
        let state_id = self.open;
        match operation {
            O::Allocate | O::Deallocate => {
                on(step(operation, &AllocateArgs { state_id, offset: 0, length: 2 }))
            }
            O::Clone => between(step(operation, &clone((self.locked_open, state_id), (0, 0, 0)))),
            O::Copy => between(step(operation, &copy((self.locked_open, state_id), (0, 0, 4)))),
            O::IoAdvise => {
                let hints = Bitmap::from_word(io_hint::SEQUENTIAL);
                on(step(operation, &IoAdviseArgs { state_id, offset: 0, count: 4, hints }))
            }
            O::ReadPlus => on(step(operation, &ReadPlusArgs { state_id, offset: 0, count: 4 })),
            O::Seek => on(step(operation, &SeekArgs { state_id, offset: 0, what: DataContent::Hole })),
            O::GetXattr => {
                vec![put(&self.file), set_xattr("a", 5), step(operation, &GetXattrArgs { name: bytes("a") })]
            }
            O::SetXattr => on(set_xattr("b", 5)),
            O::ListXattrs => {
                let list = ListXattrsArgs { cookie: 0, count_max: 1000 };
                vec![put(&self.file), set_xattr("a", 5), step(operation, &list)]
            }
            O::RemoveXattr => {
                let remove = step(operation, &RemoveXattrArgs { name: bytes("a") });
                vec![put(&self.file), set_xattr("a", 5), remove]
            }
            other => panic!("{other}"),
        }
    }

    /// Of the client that is not confirmed yet.
    pub fn create_session(&self) -> CreateSessionArgs {
        CreateSessionArgs {
            client: self.client,
            sequence: SequenceId(1),
            flags: 0,
            fore_channel: Peer::channel(),
            back_channel: Peer::channel(),
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSecurity::None],
        }
    }
}
