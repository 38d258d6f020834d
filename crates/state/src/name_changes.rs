//! REMOVE, RENAME and LINK: everything that is in their way is found at once, so that an operation waits
//! once.

use proto::nfs4::ClientId;

use crate::{Blocked, Changing, FileId, Now, Obstacles, State};

/// The names that an operation is about to change.
#[derive(Debug, Clone)]
pub struct NameChange<Id = FileId> {
    /// The directories whose entries change.
    pub directories: Vec<Id>,
    /// The objects that get, lose or change a name.
    pub objects: Vec<Id>,
    /// The object that loses a name: a denial of writing keeps its names (RFC 8881 §18.25.4).
    pub removed: Option<Id>,
}

impl<Id: Copy> NameChange<Id> {
    /// The same with other keys.
    pub fn map<To>(&self, to: impl Fn(Id) -> To) -> NameChange<To> {
        NameChange {
            directories: self.directories.iter().map(|id| to(*id)).collect(),
            objects: self.objects.iter().map(|id| to(*id)).collect(),
            removed: self.removed.map(to),
        }
    }
}

impl State {
    /// Begins a change of names by `client`, or by somebody who is none. As long as the outcome lives,
    /// nothing is delegated that the change would take back.
    ///
    /// # Errors
    /// FILE_OPEN, which needs no recall (RFC 8881 §18.26.4), and GRACE; all that is in the way, to be tried
    /// again when it is gone.
    pub fn begin_name_change(
        &self,
        change: &NameChange,
        client: Option<ClientId>,
        now: Now,
    ) -> Result<Vec<Changing<'_>>, Blocked> {
        let mut obstacles = Obstacles::default();
        if let Some(removed) = change.removed {
            obstacles.collect(self.check_removal(removed, now))?;
        }
        let mut begun = Vec::with_capacity(change.directories.len() + change.objects.len());
        for directory in &change.directories {
            begun.extend(obstacles.collect(self.begin_entry_change(*directory, client, now))?);
        }
        for object in &change.objects {
            begun.extend(obstacles.collect(self.begin_change(*object, client, now))?);
        }
        if obstacles.is_empty() { Ok(begun) } else { Err(Blocked::By(obstacles)) }
    }
}
