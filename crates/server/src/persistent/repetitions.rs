//! Files that were made by an OPEN whose reply is lost with its stateid. Its client sends it again on another session, and must
//! not be told that the file exists already.

use std::collections::BTreeMap;

use bytes::Bytes;
use parking_lot::Mutex;
use state::Now;

use super::Entry;

/// A creating OPEN that was done and not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repetition {
    /// The name of the client, as [`state::record_name`] has it.
    pub(crate) client: Bytes,
    pub(crate) entry: Entry,
    /// The handle of the file.
    pub(crate) file: Bytes,
}

/// See the module. Nothing is added while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Repetitions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    files: BTreeMap<(Bytes, Entry), Bytes>,
    until: Now,
}

impl Repetitions {
    /// Expects these, until a time.
    pub(crate) fn expect(&self, all: impl IntoIterator<Item = Repetition>, until: Now) {
        let files =
            all.into_iter().map(|repetition| ((repetition.client, repetition.entry), repetition.file));
        *self.inner.lock() = Inner { files: files.collect(), until };
    }

    /// True when none is expected any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.lock().files.is_empty()
    }

    /// True when this is one of them: once.
    pub(crate) fn take(&self, repetition: &Repetition, now: Now) -> bool {
        let mut inner = self.inner.lock();
        if now >= inner.until {
            inner.files.clear();
        }
        let key = (repetition.client.clone(), repetition.entry.clone());
        inner.files.remove(&key).as_ref() == Some(&repetition.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(client: &'static str, name: &'static str, file: &'static str) -> Repetition {
        let entry = Entry { directory: "d".into(), name: name.into() };
        Repetition { client: client.into(), entry, file: file.into() }
    }

    #[test]
    fn an_open_is_taken_for_a_repetition_once_and_in_its_time() {
        let all = || [repetition("c", "x", "1"), repetition("c", "y", "2")];
        let repetitions = Repetitions::default();
        repetitions.expect(all(), Now(10));
        for other in [repetition("d", "x", "1"), repetition("c", "z", "1")] {
            assert!(!repetitions.take(&other, Now(9)));
        }
        assert!(repetitions.take(&repetition("c", "x", "1"), Now(9)));
        assert!(!repetitions.take(&repetition("c", "x", "1"), Now(9)), "once");
        assert!(!repetitions.take(&repetition("c", "y", "9"), Now(9)), "the name is another file's by now");
        repetitions.expect(all(), Now(10));
        assert!(!repetitions.take(&repetition("c", "x", "1"), Now(10)));
    }
}
