//! What NFSv3 and NLM ask: the same recalls, for somebody who is no NFSv4 client.

use state::{Changing, FileId, Io};
use vfs::ObjectId;

use super::Recaller;
use crate::conflicts::{Conflict, Conflicts};

fn key(object: ObjectId) -> FileId {
    FileId(object.fileid, object.generation)
}

impl Recaller {
    async fn change(&self, object: ObjectId) -> Result<Changing<'_>, Conflict> {
        self.begin_change(key(object), None).await.map_err(|_| Conflict::Later)
    }
}

impl Conflicts for Recaller {
    type Guard<'a> = Changing<'a>;

    fn any(&self) -> bool {
        self.state().has_seen_clients()
    }

    async fn before_read(&self, object: ObjectId) -> Result<(), Conflict> {
        let file = key(object);
        self.state().check_anonymous_io(file, Io::Read).map_err(|_| Conflict::Denied)?;
        Recaller::before_read(self, file, None).await.map_err(|_| Conflict::Later)
    }

    async fn before_write(&self, object: ObjectId) -> Result<Changing<'_>, Conflict> {
        self.state().check_anonymous_io(key(object), Io::Write).map_err(|_| Conflict::Denied)?;
        self.change(object).await
    }

    async fn before_remove(&self, object: ObjectId) -> Result<Changing<'_>, Conflict> {
        self.change(object).await
    }
}
