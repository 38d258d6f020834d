//! The conflicts of NFSv3 and NLM operations with NFSv4 state: the same recalls, for callers that are no
//! NFSv4 clients.

use bytes::Bytes;
use proto::nfs4::Status;
use state::{Changing, FileId, Io, NameChange};
use vfs::{FileSystem, ObjectId};

use super::StateService;
use crate::conflicts::{Conflict, Conflicts};
use crate::delegations::TakenNames;

fn key(object: ObjectId) -> FileId {
    FileId(object.fileid, object.generation)
}

fn conflict(status: Status) -> Conflict {
    match status {
        Status::Locked | Status::FileOpen => Conflict::Denied,
        _ => Conflict::Later,
    }
}

impl StateService {
    async fn change(&self, object: ObjectId) -> Result<Changing<'_>, Conflict> {
        self.delegations().begin_change(key(object), None).await.map_err(conflict)
    }

    async fn check(&self, object: ObjectId, io: Io) -> Result<(), Conflict> {
        self.delegations()
            .hold(|| self.state().check_anonymous_io(key(object), io, self.now()))
            .await
            .map_err(conflict)
    }
}

impl Conflicts for StateService {
    type Guard<'a> = Changing<'a>;

    fn any(&self) -> bool {
        self.state().has_seen_clients()
    }

    fn is_known_better(&self, object: ObjectId) -> bool {
        self.state().write_delegation(key(object), None, || self.now()).is_some()
    }

    async fn before_attributes(&self, object: ObjectId) -> Result<(), Conflict> {
        if !self.is_known_better(object) {
            return Ok(());
        }
        // NFSv3 has no words for what a client has not written yet (RFC 8881 §10.4.3 allows to recall
        // instead).
        self.delegations().before_read(key(object), None).await.map_err(conflict)
    }

    async fn before_read(&self, object: ObjectId) -> Result<(), Conflict> {
        self.check(object, Io::Read).await?;
        self.delegations().before_read(key(object), None).await.map_err(conflict)
    }

    async fn before_write(&self, object: ObjectId) -> Result<Changing<'_>, Conflict> {
        self.check(object, Io::Write).await?;
        self.change(object).await
    }

    async fn before_entry_change(&self, directory: ObjectId) -> Result<Changing<'_>, Conflict> {
        self.delegations().begin_entry_change(key(directory), None).await.map_err(conflict)
    }

    async fn before_name_change(
        &self,
        names: &TakenNames,
        change: &NameChange<ObjectId>,
    ) -> Result<Vec<Changing<'_>>, Conflict> {
        self.delegations().begin_name_change(names, &change.map(key), None).await.map_err(conflict)
    }

    async fn take_names(&self, names: Vec<(ObjectId, Bytes)>) -> Result<TakenNames, Conflict> {
        let entries = names.into_iter().map(|(directory, name)| (key(directory), name));
        self.delegations().take_names(entries).await.map_err(conflict)
    }

    async fn after_remove<F: FileSystem>(&self, fs: &F, node: &F::Node) {
        self.delegations().name_removed(fs, node).await;
    }
}
