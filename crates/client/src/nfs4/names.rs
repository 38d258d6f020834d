//! LOOKUP, READLINK, CREATE, REMOVE, RENAME, LINK.

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeValues, SpecData};
use proto::nfs4::{
    CreateArgs, CreateResult, CreateType, LinkArgs, LinkResult, LookupArgs, Operation, ReadLinkResult,
    RemoveArgs, RemoveResult, RenameArgs, RenameResult,
};
use xdr::{Encode, Encoder};

use super::Mount;
use super::convert::effect;
use super::send::Kind;
use crate::error::Result;
use crate::node::Handle;
use crate::protocol::{Effect, FoundObject, NewObject};

/// CREATE's arguments with the attributes behind them (RFC 8881 §18.4.1).
pub(super) struct CreateWith<'a>(pub(super) &'a CreateArgs, pub(super) &'a AttributeValues);

impl Encode for CreateWith<'_> {
    fn encode(&self, to: &mut Encoder) {
        to.put(self.0);
        to.put(self.1);
    }
}

impl Mount {
    /// All names in one request.
    pub(crate) async fn look_up(&self, dir: &Handle, names: &[Bytes]) -> (Vec<FoundObject>, Result<()>) {
        let mut found = Vec::with_capacity(names.len());
        let sent = self
            .core
            .compound(Kind::repeatable(Operation::Lookup), |operations| {
                operations.put_fh(dir);
                for name in names {
                    operations.put(Operation::Lookup, &LookupArgs { name: name.clone() }).describe();
                }
            })
            .await;
        let mut results = match sent {
            Ok(results) => results,
            Err(error) => return (found, Err(error)),
        };
        if let Err(error) = results.done(Operation::PutFh) {
            return (found, Err(error));
        }
        for _ in names {
            match results.done(Operation::Lookup).and_then(|()| results.found()) {
                Ok(object) => found.push(object),
                Err(error) => return (found, Err(error)),
            }
        }
        (found, Ok(()))
    }

    pub(crate) async fn read_link(&self, object: &Handle) -> Result<Bytes> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::ReadLink), |operations| {
                operations.put_fh(object).put(Operation::ReadLink, &());
            })
            .await?;
        results.done(Operation::PutFh)?;
        Ok(results.get::<ReadLinkResult>(Operation::ReadLink)?.link)
    }

    pub(crate) async fn make(
        &self,
        dir: &Handle,
        name: &Bytes,
        object: &NewObject,
        mode: u32,
    ) -> Result<(Option<FoundObject>, Effect)> {
        let kind = match object {
            NewObject::Directory => CreateType::Directory,
            NewObject::Symlink(target) => CreateType::Symlink(target.clone()),
            NewObject::Fifo => CreateType::Fifo,
            NewObject::Socket => CreateType::Socket,
            NewObject::Block(major, minor) => CreateType::Block(SpecData { major: *major, minor: *minor }),
            NewObject::Character(major, minor) => {
                CreateType::Character(SpecData { major: *major, minor: *minor })
            }
        };
        let args = CreateArgs { kind, name: name.clone() };
        let set = AttributeValues { mode: Some(mode), ..AttributeValues::default() };
        let mut results = self
            .core
            .compound(Kind::once(Operation::Create), |operations| {
                operations.put_fh(dir).put(Operation::Create, &CreateWith(&args, &set)).describe();
            })
            .await?;
        results.done(Operation::PutFh)?;
        let created: CreateResult = results.get(Operation::Create)?;
        // It is made, whatever became of the question what it is like.
        Ok((results.found().ok(), effect(&created.change)))
    }

    pub(crate) async fn remove(&self, dir: &Handle, name: &Bytes, _directory: bool) -> Result<Effect> {
        let args = RemoveArgs { target: name.clone() };
        let mut results = self
            .core
            .compound(Kind::once(Operation::Remove), |operations| {
                operations.put_fh(dir).put(Operation::Remove, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        Ok(effect(&results.get::<RemoveResult>(Operation::Remove)?.change))
    }

    pub(crate) async fn rename(
        &self,
        from: (&Handle, &Bytes),
        to: (&Handle, &Bytes),
    ) -> Result<(Effect, Effect)> {
        let args = RenameArgs { old_name: from.1.clone(), new_name: to.1.clone() };
        let mut results = self
            .core
            .compound(Kind::once(Operation::Rename), |operations| {
                operations.put_fh(from.0).put(Operation::SaveFh, &());
                operations.put_fh(to.0).put(Operation::Rename, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::SaveFh)?;
        results.done(Operation::PutFh)?;
        let renamed: RenameResult = results.get(Operation::Rename)?;
        Ok((effect(&renamed.source), effect(&renamed.target)))
    }

    pub(crate) async fn link(&self, object: &Handle, dir: &Handle, name: &Bytes) -> Result<Effect> {
        let args = LinkArgs { new_name: name.clone() };
        let mut results = self
            .core
            .compound(Kind::once(Operation::Link), |operations| {
                operations.put_fh(object).put(Operation::SaveFh, &());
                operations.put_fh(dir).put(Operation::Link, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::SaveFh)?;
        results.done(Operation::PutFh)?;
        Ok(effect(&results.get::<LinkResult>(Operation::Link)?.change))
    }
}
