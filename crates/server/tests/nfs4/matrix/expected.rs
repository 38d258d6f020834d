//! What a caller must be told, worked out from the rules as an administrator reads them.

use super::Does;
use super::place::{Approach, Caller, RuleOf, Squashing};

/// What a caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Said {
    Done,
    /// There is no such thing for it.
    Absent,
    /// It may not.
    Denied,
    ReadOnly,
    /// Only the owner may.
    NotPermitted,
    WrongFlavor,
}

/// What somebody must be to the file of user 1000 and group 2000, which the group may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Nothing,
    ToRead,
    ToWrite,
    ToOwn,
}

/// Who a caller is once it is squashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Root,
    Owner,
    Member,
    Stranger,
}

fn who(caller: Caller, squashing: Squashing) -> Who {
    let itself = match caller {
        Caller::Root => Who::Root,
        Caller::Owner => Who::Owner,
        Caller::Member => Who::Member,
        Caller::Other => Who::Stranger,
    };
    match squashing {
        Squashing::Nobody => itself,
        Squashing::Root if itself == Who::Root => Who::Stranger,
        Squashing::Root => itself,
        Squashing::RootAsMember if itself == Who::Root => Who::Member,
        Squashing::RootAsMember => itself,
        Squashing::All => Who::Stranger,
        Squashing::AllAsOwner => Who::Owner,
    }
}

pub(crate) fn of(rule: RuleOf, caller: Caller, approach: Approach, does: Does) -> Said {
    match approach {
        Approach::WrongNetwork | Approach::WrongCertificate | Approach::WrongVersion => return Said::Absent,
        Approach::InsecurePort | Approach::WrongFlavor | Approach::Unprotected => return Said::Denied,
        Approach::Right => {}
    }
    if does.changes && rule.read_only {
        return Said::ReadOnly;
    }
    let who = who(caller, rule.squashing);
    match (does.need, who) {
        (Need::Nothing, _) | (_, Who::Root | Who::Owner) => Said::Done,
        (Need::ToRead, Who::Member) => Said::Done,
        (Need::ToRead | Need::ToWrite, _) => Said::Denied,
        (Need::ToOwn, _) => Said::NotPermitted,
    }
}
