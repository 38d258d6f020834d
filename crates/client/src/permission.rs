//! What the mode bits of an object say. Pure. They only spare a question: whoever they refuse is asked about,
//! because a server may know better (privileged users, access lists), and whoever they let pass is checked by
//! the server again.

use crate::attributes::{Access, Attributes};
use crate::open::OpenOptions;
use crate::options::Options;

/// What opening a file may need; asked for together.
pub(crate) const OPENING: Access = Access(0x01 | 0x04 | 0x08 | 0x20);

/// True when the mode bits let the caller open the file.
pub(crate) fn mode_permits(attributes: &Attributes, who: &Options, open: &OpenOptions) -> bool {
    let bits = if who.uid == 0 {
        // The superuser may execute a file with any execute bit.
        0o6 | u32::from(attributes.mode & 0o111 != 0)
    } else if attributes.uid == who.uid {
        attributes.mode >> 6
    } else if attributes.gid == who.gid || who.gids.contains(&attributes.gid) {
        attributes.mode >> 3
    } else {
        attributes.mode
    };
    let wanted = [(open.execute, 0o1), (open.read && !open.execute, 0o4), (open.write, 0o2)];
    wanted.into_iter().all(|(is_wanted, bit)| !is_wanted || bits & bit != 0)
}

/// The permissions that opening a file in this way needs.
pub(crate) fn needed(open: &OpenOptions) -> Access {
    let read = match (open.execute, open.read) {
        (true, _) => Access::EXECUTE.0,
        (false, true) => Access::READ.0,
        (false, false) => 0,
    };
    let write = if open.write { Access::MODIFY.0 | Access::EXTEND.0 } else { 0 };
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
            let open = OpenOptions::new().read(read).write(write);
            assert_eq!(mode_permits(&file(mode), &who, &open), permitted, "{mode:o} {}", who.uid);
        }
    }

    #[test]
    fn permission_to_execute_takes_the_place_of_permission_to_read() {
        let file = |mode| Attributes { mode, uid: 10, gid: 20, ..Attributes::empty(FileType::Regular) };
        let execute = OpenOptions::new().execute(true).checked().unwrap();
        let read = OpenOptions::new().read(true);
        for (mode, uid, executes, reads) in [
            (0o711, 11, true, false),
            (0o744, 11, false, true),
            (0o600, 0, false, true),
            (0o100, 0, true, true),
        ] {
            let who = Options { uid, gid: 11, gids: [].into(), ..Options::default() };
            assert_eq!(mode_permits(&file(mode), &who, &execute), executes, "{mode:o} {uid}");
            assert_eq!(mode_permits(&file(mode), &who, &read), reads, "{mode:o} {uid}");
        }
        assert_eq!((needed(&execute), needed(&read)), (Access::EXECUTE, Access::READ));
    }
}
