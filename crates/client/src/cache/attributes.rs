//! The attributes of one object, how long they are believed, and when its content has changed under us.

use std::time::{Duration, Instant};

use crate::attributes::{Attributes, Revision};
use crate::options::AttributeTimeouts;

/// What is known of an object.
///
/// The *epoch* counts the changes of its content that others made: what was cached in an earlier epoch is void. Changes of our
/// own, which the server proves to be the only ones, leave it as it is.
#[derive(Debug)]
pub(crate) struct Known {
    attributes: Option<Attributes>,
    /// When the request was sent that the attributes came with.
    asked: Option<Instant>,
    /// When the last change of our own was answered: what was asked before that may be from before it.
    changed: Option<Instant>,
    /// A request that crossed a change of ours told something else: not even a delegation makes the attributes certain.
    doubtful: bool,
    /// A change of our own has told the new change attribute of a directory, and nothing else of it.
    outdated: bool,
    believed_until: Option<Instant>,
    timeout: Duration,
    epoch: u64,
}

impl Known {
    /// Nothing yet.
    pub(crate) fn nothing() -> Self {
        Self {
            attributes: None,
            asked: None,
            changed: None,
            doubtful: false,
            outdated: false,
            believed_until: None,
            timeout: Duration::ZERO,
            epoch: 0,
        }
    }

    /// The last attributes, believed or not.
    pub(crate) fn last(&self) -> Option<&Attributes> {
        self.attributes.as_ref()
    }

    /// The attributes while nobody else can change them.
    pub(crate) fn certain(&self) -> Option<&Attributes> {
        self.attributes.as_ref().filter(|_| !self.doubtful)
    }

    /// The attributes if they are still believed.
    pub(crate) fn believed(&self, now: Instant) -> Option<&Attributes> {
        self.believed_until.filter(|until| now < *until).and(self.attributes.as_ref())
    }

    /// True when times and number of links are those from before a change of our own. What the names in the directory stand
    /// for is known nevertheless.
    pub(crate) fn is_outdated(&self) -> bool {
        self.outdated
    }

    /// How long the attributes are still believed.
    pub(crate) fn believed_for(&self, now: Instant) -> Duration {
        self.believed_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Which state of the content this is.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Attributes came with the reply to a request sent at `asked`. A change since the last ones was made by others.
    /// Those of a request sent before the one that the present ones came with are passed over.
    pub(crate) fn learn(&mut self, new: Attributes, asked: Instant, timeouts: &AttributeTimeouts) {
        if self.asked.is_some_and(|known| asked < known) {
            return;
        }
        let same = self.attributes.is_some_and(|old| old.revision() == new.revision());
        if !same && self.changed.is_some_and(|changed| asked < changed) {
            return self.doubt();
        }
        if !same && self.attributes.is_some() {
            self.epoch += 1;
        }
        self.accept(new, asked, timeouts, same);
    }

    /// Attributes came with the reply to a request of ours that changed the object, sent at `asked` and answered `now`.
    /// `before` is the state that the server saw just before, where it says so.
    pub(crate) fn learn_own_change(
        &mut self,
        (before, after): (Option<Revision>, Option<Attributes>),
        (asked, now): (Instant, Instant),
        timeouts: &AttributeTimeouts,
    ) {
        let ours_alone = before.is_some() && self.attributes.map(|old| old.revision()) == before;
        if !ours_alone {
            self.epoch += 1;
        }
        match after {
            Some(after) if self.asked.is_none_or(|known| asked >= known) => {
                self.accept(after, asked, timeouts, false);
            }
            // What was asked later may have been answered earlier.
            Some(_) | None => self.doubt(),
        }
        self.changed = self.changed.max(Some(now));
    }

    /// A directory changed by a request of ours, which tells the change attribute before and after
    /// (`change_info4`, RFC 8881 §3.3.3), answered `now`.
    pub(crate) fn learn_change_info(&mut self, (atomic, before, after): (bool, u64, u64), now: Instant) {
        self.changed = self.changed.max(Some(now));
        let Some(attributes) = &mut self.attributes else { return };
        if !atomic || attributes.change != Some(before) {
            self.epoch += 1;
        }
        attributes.change = Some(after);
        self.outdated = true;
    }

    /// What was cached is void whatever the attributes say.
    pub(crate) fn forget_content(&mut self) {
        self.epoch += 1;
    }

    /// The attributes are not believed any more.
    pub(crate) fn expire(&mut self) {
        self.believed_until = None;
    }

    fn doubt(&mut self) {
        self.doubtful = true;
        self.expire();
    }

    fn accept(&mut self, new: Attributes, asked: Instant, timeouts: &AttributeTimeouts, same: bool) {
        let (min, max) = match new.is_directory() {
            true => (timeouts.directory_min, timeouts.directory_max),
            false => (timeouts.file_min, timeouts.file_max),
        };
        // What proved unchanged after its time is believed for twice as long the next time.
        let proved = same && self.believed_until.is_none_or(|until| asked >= until);
        self.timeout = match (same, proved) {
            (true, true) => (self.timeout * 2).clamp(min.min(max), max),
            (true, false) => self.timeout.clamp(min.min(max), max),
            (false, _) => min.min(max),
        };
        self.doubtful = false;
        self.outdated = false;
        self.attributes = Some(new);
        self.asked = Some(asked);
        self.believed_until = Some(asked + self.timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{FileType, Time};

    fn file(change: u64) -> Attributes {
        Attributes {
            kind: FileType::Regular,
            mode: 0o644,
            links: 1,
            uid: 0,
            gid: 0,
            size: 4096,
            used: 4096,
            device: (0, 0),
            fsid: 1,
            fileid: 1,
            accessed: Time::default(),
            modified: Time::default(),
            changed: Time::default(),
            change: Some(change),
        }
    }

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn the_time_of_belief_doubles_while_nothing_changes_and_starts_again_after_a_change() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = Known::nothing();
        known.learn(file(1), start, &timeouts);
        assert!(known.believed(start + 2 * S).is_some());
        assert!(known.believed(start + 3 * S).is_none());
        known.learn(file(1), start + 4 * S, &timeouts);
        assert!(known.believed(start + 9 * S).is_some(), "6 s from 4");
        for again in 1..10 {
            known.learn(file(1), start + 4 * S + again * 60 * S, &timeouts);
        }
        assert!(known.believed(start + 4 * S + 9 * 60 * S + 59 * S).is_some());
        assert!(known.believed(start + 4 * S + 10 * 60 * S).is_none(), "never above the longest");
        known.learn(file(2), start + 700 * S, &timeouts);
        assert!(known.believed(start + 703 * S).is_none());
    }

    #[test]
    fn replies_in_quick_succession_do_not_prolong_belief() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = Known::nothing();
        for _ in 0..10 {
            known.learn(file(1), start, &timeouts);
        }
        assert!(known.believed(start + 3 * S).is_none());
    }

    #[test]
    fn only_changes_by_others_begin_an_epoch() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = Known::nothing();
        known.learn(file(1), start, &timeouts);
        known.learn(file(1), start, &timeouts);
        assert_eq!(known.epoch(), 0);
        let at = (start, start);
        known.learn_own_change((Some(Revision::Change(1)), Some(file(2))), at, &timeouts);
        assert_eq!(known.epoch(), 0, "the server saw our state before, so nobody came between");
        known.learn_own_change((Some(Revision::Change(7)), Some(file(8))), at, &timeouts);
        assert_eq!(known.epoch(), 1);
        known.learn_own_change((None, Some(file(9))), at, &timeouts);
        assert_eq!(known.epoch(), 2);
        known.learn(file(10), start, &timeouts);
        assert_eq!(known.epoch(), 3);
    }

    #[test]
    fn a_change_info_that_follows_on_what_is_known_keeps_the_epoch() {
        let mut known = Known::nothing();
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        known.learn(file(1), start, &timeouts);
        known.learn_change_info((true, 1, 2), start + S);
        assert!(known.is_outdated() && known.believed(start + S).is_some(), "names are known, times are not");
        known.learn(file(2), start + S, &timeouts);
        assert!(!known.is_outdated());
        known.learn_change_info((true, 2, 3), start + S);
        assert_eq!(known.epoch(), 0);
        known.learn_change_info((false, 3, 4), start + S);
        assert_eq!(known.epoch(), 1);
        known.learn_change_info((true, 9, 10), start + S);
        assert_eq!(known.epoch(), 2);
    }

    #[test]
    fn what_has_crossed_a_change_of_our_own_is_not_believed() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = Known::nothing();
        known.learn(file(1), start, &timeouts);
        known.learn_own_change((None, Some(file(2))), (start + S, start + 3 * S), &timeouts);
        known.learn(file(2), start + 2 * S, &timeouts);
        assert!(known.certain().is_some(), "it says the same");
        known.learn(file(1), start + 2 * S, &timeouts);
        assert!(known.believed(start + 2 * S).is_none() && known.certain().is_none());
        assert_eq!(known.last().unwrap().change, Some(2));
        known.learn(file(3), start + 3 * S, &timeouts);
        assert_eq!(known.certain().unwrap().change, Some(3));
    }

    #[test]
    fn a_change_of_our_own_that_an_answer_has_overtaken_leaves_nothing_to_believe() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = Known::nothing();
        known.learn(file(1), start + S, &timeouts);
        known.learn_own_change((None, Some(file(2))), (start, start + 2 * S), &timeouts);
        assert!(known.believed(start + S).is_none() && known.certain().is_none());
    }

    #[test]
    fn the_reply_to_an_older_request_is_passed_over() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = Known::nothing();
        known.learn(file(2), start + S, &timeouts);
        known.learn(file(1), start, &timeouts);
        assert_eq!((known.last().unwrap().change, known.epoch()), (Some(2), 0));
    }
}
