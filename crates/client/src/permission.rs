//! What the mode bits of an object say. Pure. They only spare a question: whoever they refuse is asked about, because a
//! server may know better (privileged users, access lists), and whoever they let pass is checked by the server again.

use crate::attributes::{Access, Attributes};
use crate::options::Options;

/// What opening a file may need; asked for together.
pub(crate) const OPENING: Access = Access(0x01 | 0x04 | 0x08 | 0x20);

/// True when the mode bits let the caller open the file.
pub(crate) fn mode_permits(attributes: &Attributes, who: &Options, read: bool, write: bool) -> bool {
    let bits = if who.uid == 0 {
        0o6
    } else if attributes.uid == who.uid {
        attributes.mode >> 6
    } else if attributes.gid == who.gid || who.gids.contains(&attributes.gid) {
        attributes.mode >> 3
    } else {
        attributes.mode
    };
    (!read || bits & 0o4 != 0) && (!write || bits & 0o2 != 0)
}

/// What opening a file in these ways needs.
pub(crate) fn needed(read: bool, write: bool) -> Access {
    let read = if read { Access::READ.0 } else { 0 };
    let write = if write { Access::MODIFY.0 | Access::EXTEND.0 } else { 0 };
    Access(read | write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::FileType;

    #[test]
    fn the_first_class_that_the_caller_is_in_decides() {
        let file = |mode| Attributes { mode, uid: 10, gid: 20, ..Attributes::empty(FileType::Regular) };
        let who = |uid, gid, gids: &[u32]| Options { uid, gid, gids: gids.into(), ..Options::default() };
        for (mode, who, read, write, permitted) in [
            (0o600, who(10, 1, &[]), true, true, true),
            (0o066, who(10, 20, &[]), true, false, false),
            (0o640, who(11, 20, &[]), true, false, true),
            (0o640, who(11, 20, &[]), true, true, false),
            (0o640, who(11, 1, &[20]), true, false, true),
            (0o604, who(11, 1, &[]), true, false, true),
            (0o604, who(11, 20, &[]), true, false, false),
            (0o000, who(0, 0, &[]), true, true, true),
        ] {
            assert_eq!(mode_permits(&file(mode), &who, read, write), permitted, "{mode:o} {}", who.uid);
        }
    }
}
