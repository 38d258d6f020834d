//! Files that were made by an OPEN whose reply is lost with its stateid. Its client sends it again on another
//! session, and must not be told that the file exists already.

use std::collections::BTreeMap;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{SessionId, SlotId};
use state::Now;

use super::{Entry, Named};

/// A creating OPEN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repetition {
    /// The name of its client, as [`state::record_name`] has it.
    pub(crate) client: Bytes,
    /// The file that it has made, or has found made.
    pub(crate) made: Named,
}

/// Where there is a record of an OPEN.
pub(crate) type SlotKey = (SessionId, SlotId);

/// See the module. Nothing is added while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Repetitions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By client and name: the file's handle.
    files: BTreeMap<(Bytes, Entry), (Bytes, SlotKey)>,
    until: Now,
}

impl Repetitions {
    /// Expects these, until a time.
    pub(crate) fn expect(&self, all: impl IntoIterator<Item = (Repetition, SlotKey)>, until: Now) {
        let by_name = |(Repetition { client, made }, place)| ((client, made.at), (made.object, place));
        *self.inner.lock() = Inner { files: all.into_iter().map(by_name).collect(), until };
    }

    /// True when none is expected any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.lock().files.is_empty()
    }

    /// Where the record is of the OPEN that this one repeats: once.
    pub(crate) fn take(&self, repetition: Repetition, now: Now) -> Option<SlotKey> {
        let mut inner = self.inner.lock();
        if now >= inner.until {
            inner.files.clear();
        }
        let Repetition { client, made } = repetition;
        let (file, place) = inner.files.remove(&(client, made.at))?;
        (file == made.object).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: SlotKey = (SessionId([1; 16]), SlotId(2));

    fn repetition(client: &'static str, name: &'static str, file: &'static str) -> Repetition {
        let at = Entry { directory: "d".into(), name: name.into() };
        Repetition { client: client.into(), made: Named { at, object: file.into() } }
    }

    #[test]
    fn an_open_is_taken_for_a_repetition_once_and_in_its_time() {
        let all = || [repetition("c", "x", "1"), repetition("c", "y", "2")].map(|open| (open, PLACE));
        let repetitions = Repetitions::default();
        repetitions.expect(all(), Now(10));
        for other in [repetition("d", "x", "1"), repetition("c", "z", "1")] {
            assert_eq!(repetitions.take(other, Now(9)), None);
        }
        assert_eq!(repetitions.take(repetition("c", "x", "1"), Now(9)), Some(PLACE));
        assert_eq!(repetitions.take(repetition("c", "x", "1"), Now(9)), None, "once");
        let other_file = repetitions.take(repetition("c", "y", "9"), Now(9));
        assert_eq!(other_file, None, "the name is another file's by now");
        repetitions.expect(all(), Now(10));
        assert_eq!(repetitions.take(repetition("c", "x", "1"), Now(10)), None);
    }
}
