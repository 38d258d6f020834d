//! Whose rights a caller gets, from the ids it claims.

use std::sync::Arc;

use vfs::{Identity, SetAttributes};

/// Which callers act as nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Squash {
    /// None but those without ids.
    None {
        /// The ids of callers without any: user and group.
        anonymous: (u32, u32),
    },
    /// The superuser, and everybody's claim to the group 0.
    Root {
        /// The ids they get: user and group.
        anonymous: (u32, u32),
    },
    /// Everybody.
    All {
        /// The ids they get: user and group.
        anonymous: (u32, u32),
    },
}

impl Squash {
    /// Nobody's user and group id.
    pub const NOBODY: (u32, u32) = (Identity::NOBODY, Identity::NOBODY);

    /// Nobody acts as somebody else, but those without ids, who are nobody.
    pub const NONE: Self = Self::None { anonymous: Self::NOBODY };

    /// The identity of a caller without ids.
    pub fn anonymous(&self) -> Identity {
        let (Self::None { anonymous } | Self::Root { anonymous } | Self::All { anonymous }) = *self;
        // The default is shared: it does not allocate.
        Identity { uid: anonymous.0, gid: anonymous.1, groups: Arc::default() }
    }

    /// What a caller sets, with the ids that it would act under instead of those that it names: a squashed
    /// superuser who gives a file to root, as `cp -p` does, gives it to nobody.
    pub fn owners(&self, set: SetAttributes) -> SetAttributes {
        let replaced = |id: Option<u32>, nobody: u32| match self {
            Self::None { .. } => id,
            Self::Root { .. } => id.map(|id| if id == 0 { nobody } else { id }),
            Self::All { .. } => id.map(|_| nobody),
        };
        let (Self::None { anonymous } | Self::Root { anonymous } | Self::All { anonymous }) = *self;
        SetAttributes { uid: replaced(set.uid, anonymous.0), gid: replaced(set.gid, anonymous.1), ..set }
    }

    /// The identity of a caller who claims these ids. Allocates nothing when `groups` is empty.
    pub fn apply(&self, uid: u32, gid: u32, groups: &[u32]) -> Identity {
        match *self {
            Self::None { .. } => Identity { uid, gid, groups: shared(groups.iter().copied()) },
            Self::Root { .. } if uid == 0 => self.anonymous(),
            Self::Root { anonymous: (_, nobody) } => {
                let replaced = |gid: u32| if gid == 0 { nobody } else { gid };
                Identity { uid, gid: replaced(gid), groups: shared(groups.iter().copied().map(replaced)) }
            }
            Self::All { .. } => self.anonymous(),
        }
    }
}

impl Default for Squash {
    fn default() -> Self {
        Self::Root { anonymous: Self::NOBODY }
    }
}

fn shared(groups: impl ExactSizeIterator<Item = u32>) -> Arc<[u32]> {
    if groups.len() == 0 { Arc::default() } else { groups.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(identity: &Identity) -> (u32, u32, Vec<u32>) {
        (identity.uid, identity.gid, identity.groups.to_vec())
    }

    #[test]
    fn root_squash_takes_uid_0_and_every_group_0() {
        let squash = Squash::Root { anonymous: (99, 98) };
        assert_eq!(ids(&squash.apply(0, 0, &[0, 4])), (99, 98, vec![]));
        assert_eq!(ids(&squash.apply(1, 0, &[0, 4])), (1, 98, vec![98, 4]));
        assert_eq!(ids(&squash.apply(1, 2, &[])), (1, 2, vec![]));
    }

    #[test]
    fn ids_that_are_set_are_squashed_like_those_of_callers() {
        let set = |squash: Squash, uid, gid| {
            let set = squash.owners(SetAttributes { uid, gid, mode: Some(7), ..SetAttributes::default() });
            assert_eq!(set.mode, Some(7));
            (set.uid, set.gid)
        };
        let anonymous = (99, 98);
        assert_eq!(set(Squash::None { anonymous }, Some(0), Some(0)), (Some(0), Some(0)));
        assert_eq!(set(Squash::Root { anonymous }, Some(0), Some(5)), (Some(99), Some(5)));
        assert_eq!(set(Squash::Root { anonymous }, None, Some(0)), (None, Some(98)));
        assert_eq!(set(Squash::All { anonymous }, Some(7), None), (Some(99), None));
    }

    #[test]
    fn all_squash_takes_everybody_and_none_takes_nobody() {
        assert_eq!(ids(&Squash::All { anonymous: (99, 98) }.apply(1, 2, &[3])), (99, 98, vec![]));
        assert_eq!(ids(&Squash::None { anonymous: (99, 98) }.apply(0, 0, &[0])), (0, 0, vec![0]));
        assert_eq!(ids(&Squash::None { anonymous: (99, 98) }.anonymous()), (99, 98, vec![]));
    }
}
