//! The attributes of one object, how long they are believed, and when its content has changed under us.

use std::time::{Duration, Instant, SystemTime};

use super::ServerClock;
use crate::attributes::{Attributes, Revision};
use crate::options::AttributeTimeouts;

/// What is known of an object.
///
/// The *epoch* counts the changes of its content that others made: what was cached in an earlier epoch is
/// void. Changes of our own, which the server proves to be the only ones, leave it as it is.
#[derive(Debug)]
pub(crate) struct CachedAttributes {
    attributes: Option<Attributes>,
    /// When the request was sent that the attributes came with.
    asked: Option<Instant>,
    /// When it was last answered that they are these, and not others, or that we have changed them: a request
    /// sent before that may have been carried out before or after.
    settled: Option<Instant>,
    /// When it was last answered that they are these, whether they were known before or not: who tells
    /// something else and was sent before that may have been carried out before or after.
    confirmed: Option<Instant>,
    /// Whether not even a delegation makes the attributes certain.
    doubt: Doubt,
    /// A change of our own has told the new change attribute of a directory, and nothing else of it.
    outdated: bool,
    believed_until: Option<Instant>,
    timeout: Duration,
    epoch: u64,
    /// It is by times that the server tells states apart.
    told_by_times: bool,
    /// Some of what is cached in this epoch was asked for when the next change could still get the same
    /// times.
    uncertain: bool,
}

/// Why the attributes may be others than are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    /// Two changes of our own were under way together while nobody else could make one: the content is known.
    Order,
    /// Something else was told, and it cannot be said which is the later.
    State,
}

impl CachedAttributes {
    /// Nothing yet.
    pub(crate) fn nothing() -> Self {
        Self {
            attributes: None,
            asked: None,
            settled: None,
            confirmed: None,
            doubt: Doubt::None,
            outdated: false,
            believed_until: None,
            timeout: Duration::ZERO,
            epoch: 0,
            told_by_times: false,
            uncertain: false,
        }
    }

    /// The last attributes, believed or not.
    pub(crate) fn last(&self) -> Option<&Attributes> {
        self.attributes.as_ref()
    }

    /// The attributes while nobody else can change them.
    pub(crate) fn certain(&self) -> Option<&Attributes> {
        self.attributes.as_ref().filter(|_| !self.is_doubtful())
    }

    /// True when something else was told than is known, and it cannot be said which is the later.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubt != Doubt::None
    }

    /// The attributes if they are still believed.
    pub(crate) fn believed(&self, now: Instant) -> Option<&Attributes> {
        self.believed_until.filter(|until| now < *until).and(self.attributes.as_ref())
    }

    /// True when times and number of links are those from before a change of our own. What the names in the
    /// directory stand for is known nevertheless.
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

    /// Attributes came `now` with the reply to a request sent at `asked`. A change since the last ones was
    /// made by others.
    ///
    /// Requests that are under way together are carried out in any order. Of two that tell different things
    /// neither is believed.
    pub(crate) fn learn(
        &mut self,
        new: Attributes,
        (asked, now): (Instant, Instant),
        timeouts: &AttributeTimeouts,
    ) {
        let same = self.is_last(&new);
        let crossed =
            if same { self.is_doubtful() && self.is_crossed(asked) } else { self.is_confirmed_after(asked) };
        if crossed {
            return self.doubt(now);
        }
        if self.asked.is_some_and(|known| asked < known) {
            return;
        }
        if !same && self.attributes.is_some() && self.doubt != Doubt::Order {
            self.begin_epoch();
        }
        self.accept(new, (asked, now), timeouts, same);
    }

    /// Attributes came with the reply to a request of ours that changed the object, sent at `asked` and
    /// answered `now`. `before` is the state that the server saw just before, where it says so.
    pub(crate) fn learn_own_change(
        &mut self,
        (before, after): (Option<Revision>, Option<Attributes>),
        (asked, now): (Instant, Instant),
        timeouts: &AttributeTimeouts,
    ) {
        let ours_alone = before.is_some() && self.attributes.map(|old| old.revision()) == before;
        if !ours_alone {
            self.begin_epoch();
        }
        match after {
            // Who follows on what is known is later than that, whenever it was sent.
            Some(after) if !self.is_confirmed_after(asked) || (ours_alone && !self.is_doubtful()) => {
                self.accept(after, (asked, now), timeouts, false);
            }
            Some(_) | None => self.doubt(now),
        }
    }

    /// Like [`CachedAttributes::learn_own_change`], while no other client can change the object: the cached
    /// attributes stay valid.
    pub(crate) fn learn_lone_change(
        &mut self,
        after: Option<Attributes>,
        (asked, now): (Instant, Instant),
        timeouts: &AttributeTimeouts,
    ) {
        if self.doubt == Doubt::State {
            // Others may have changed it before that.
            self.begin_epoch();
        }
        match after {
            Some(after) if !self.is_confirmed_after(asked) => {
                self.accept(after, (asked, now), timeouts, false);
            }
            Some(_) | None => {
                let content_is_known = self.doubt != Doubt::State && self.attributes.is_some();
                self.doubt(now);
                if content_is_known {
                    self.doubt = Doubt::Order;
                }
            }
        }
    }

    /// A directory changed by a request of ours, which tells the change attribute before and after
    /// (`change_info4`, RFC 8881 §3.3.3), answered `now`.
    pub(crate) fn learn_change_info(&mut self, (atomic, before, after): (bool, u64, u64), now: Instant) {
        self.settled = self.settled.max(Some(now));
        let Some(attributes) = &mut self.attributes else { return };
        let follows = atomic && attributes.change == Some(before);
        attributes.change = Some(after);
        self.outdated = true;
        if !follows {
            self.begin_epoch();
        }
    }

    /// True while it is known that the object is in the state that these attributes are of.
    pub(crate) fn is_of(&self, attributes: &Attributes) -> bool {
        !self.is_doubtful() && self.is_last(attributes)
    }

    /// True when the last attributes, believed or not, are of the same state as these.
    pub(crate) fn is_last(&self, attributes: &Attributes) -> bool {
        self.attributes.is_some_and(|known| known.revision() == attributes.revision())
    }

    /// What was cached is void whatever the attributes say.
    pub(crate) fn forget_content(&mut self) {
        self.begin_epoch();
    }

    fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.uncertain = false;
    }

    /// Something was cached that was asked for at `asked`, when the client's own clock showed `wall`.
    pub(crate) fn note_cached(&mut self, clock: &ServerClock, asked: Instant, wall: SystemTime) {
        let shows = |attributes| !self.outdated && clock.has_passed(attributes, asked, wall);
        self.uncertain |= self.told_by_times && !self.attributes.as_ref().is_some_and(shows);
    }

    /// True when what is cached may be older than the attributes tell: somebody may have changed the object
    /// in the same tick.
    pub(crate) fn is_uncertain(&self, clock: &ServerClock) -> bool {
        // That its times are fine may have been seen since.
        self.uncertain && !self.attributes.as_ref().is_some_and(|attributes| clock.is_fine(attributes))
    }

    /// The attributes are not believed any more, nor what comes with the replies to requests sent before
    /// `now`.
    pub(crate) fn doubt(&mut self, now: Instant) {
        self.doubt = Doubt::State;
        self.believed_until = None;
        self.settled = self.settled.max(Some(now));
    }

    /// True when something was settled after a request was sent at `asked`.
    fn is_crossed(&self, asked: Instant) -> bool {
        self.settled.is_some_and(|settled| asked < settled)
    }

    /// As [`CachedAttributes::is_crossed`], or the attributes were told once more after it.
    fn is_confirmed_after(&self, asked: Instant) -> bool {
        self.is_crossed(asked) || self.confirmed.is_some_and(|confirmed| asked < confirmed)
    }

    fn accept(
        &mut self,
        new: Attributes,
        (asked, now): (Instant, Instant),
        timeouts: &AttributeTimeouts,
        same: bool,
    ) {
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
        if !same {
            self.settled = self.settled.max(Some(now));
        }
        self.confirmed = self.confirmed.max(Some(now));
        self.doubt = Doubt::None;
        self.outdated = false;
        self.told_by_times = new.is_told_by_times();
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
        Attributes { size: 4096, change: Some(change), ..Attributes::empty(FileType::Regular) }
    }

    const S: Duration = Duration::from_secs(1);

    /// A request that is answered as soon as it is sent.
    fn at(time: Instant) -> (Instant, Instant) {
        (time, time)
    }

    #[test]
    fn attribute_timeout_doubles_without_changes_and_restarts_after_one() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start), &timeouts);
        assert!(known.believed(start + 2 * S).is_some());
        assert!(known.believed(start + 3 * S).is_none());
        known.learn(file(1), at(start + 4 * S), &timeouts);
        assert!(known.believed(start + 9 * S).is_some(), "6 s from 4");
        for again in 1..10 {
            known.learn(file(1), at(start + 4 * S + again * 60 * S), &timeouts);
        }
        assert!(known.believed(start + 4 * S + 9 * 60 * S + 59 * S).is_some());
        assert!(known.believed(start + 4 * S + 10 * 60 * S).is_none(), "never above the longest");
        known.learn(file(2), at(start + 700 * S), &timeouts);
        assert!(known.believed(start + 703 * S).is_none());
    }

    #[test]
    fn replies_in_quick_succession_do_not_prolong_belief() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        for _ in 0..10 {
            known.learn(file(1), at(start), &timeouts);
        }
        assert!(known.believed(start + 3 * S).is_none());
    }

    #[test]
    fn only_changes_by_others_begin_an_epoch() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start), &timeouts);
        known.learn(file(1), at(start), &timeouts);
        assert_eq!(known.epoch(), 0);
        known.learn_own_change((Some(Revision::Change(1)), Some(file(2))), at(start), &timeouts);
        assert_eq!(known.epoch(), 0, "the server saw our state before, so nobody came between");
        known.learn_own_change((Some(Revision::Change(7)), Some(file(8))), at(start), &timeouts);
        assert_eq!(known.epoch(), 1);
        known.learn_own_change((None, Some(file(9))), at(start), &timeouts);
        assert_eq!(known.epoch(), 2);
        known.learn(file(10), at(start), &timeouts);
        assert_eq!(known.epoch(), 3);
    }

    #[test]
    fn a_change_while_nobody_else_can_make_one_keeps_the_epoch() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start), &timeouts);
        known.learn_lone_change(Some(file(7)), (start, start + 2 * S), &timeouts);
        assert_eq!((known.certain().unwrap().change, known.epoch()), (Some(7), 0));
        known.learn_lone_change(Some(file(5)), (start + S, start + 3 * S), &timeouts);
        assert!(known.certain().is_none(), "of two under way together the later is not known");
        known.learn(file(8), at(start + 4 * S), &timeouts);
        assert_eq!((known.certain().unwrap().change, known.epoch()), (Some(8), 0), "ours were the only ones");
    }

    #[test]
    fn possible_changes_of_others_are_void_after_an_own_change() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start), &timeouts);
        known.doubt(start + S);
        known.learn_lone_change(Some(file(7)), at(start + 2 * S), &timeouts);
        assert_eq!((known.certain().unwrap().change, known.epoch()), (Some(7), 1));
        known.learn_lone_change(Some(file(8)), (start + S, start + 3 * S), &timeouts);
        known.doubt(start + 4 * S);
        known.learn(file(9), at(start + 5 * S), &timeouts);
        assert_eq!(known.epoch(), 2, "the delegation is gone, or something else has come between");
    }

    #[test]
    fn a_change_info_that_follows_on_what_is_known_keeps_the_epoch() {
        let mut known = CachedAttributes::nothing();
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        known.learn(file(1), at(start), &timeouts);
        known.learn_change_info((true, 1, 2), start + S);
        assert!(known.is_outdated() && known.believed(start + S).is_some(), "names are known, times are not");
        known.learn(file(2), at(start + S), &timeouts);
        assert!(!known.is_outdated());
        known.learn_change_info((true, 2, 3), start + S);
        assert_eq!(known.epoch(), 0);
        known.learn_change_info((false, 3, 4), start + S);
        assert_eq!(known.epoch(), 1);
        known.learn_change_info((true, 9, 10), start + S);
        assert_eq!(known.epoch(), 2);
    }

    #[test]
    fn attributes_that_crossed_an_own_change_are_discarded() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start), &timeouts);
        known.learn_own_change((None, Some(file(2))), (start + S, start + 3 * S), &timeouts);
        known.learn(file(2), at(start + 2 * S), &timeouts);
        assert!(known.certain().is_some(), "it says the same");
        known.learn(file(1), at(start + 2 * S), &timeouts);
        assert!(known.believed(start + 2 * S).is_none() && known.certain().is_none());
        assert_eq!(known.last().unwrap().change, Some(2));
        known.learn(file(3), at(start + 3 * S), &timeouts);
        assert_eq!(known.certain().unwrap().change, Some(3));
    }

    #[test]
    fn own_change_overtaken_by_an_answer_invalidates_the_cache() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start + S), &timeouts);
        known.learn_own_change((None, Some(file(2))), (start, start + 2 * S), &timeouts);
        assert!(known.believed(start + S).is_none() && known.certain().is_none());
        known.learn(file(1), (start + S, start + 3 * S), &timeouts);
        assert!(known.certain().is_none(), "it may be from before the change");
        known.learn(file(1), at(start + 3 * S), &timeouts);
        assert!(known.certain().is_some());
    }

    #[test]
    fn own_change_after_known_state_is_later_whenever_it_was_sent() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start + S), &timeouts);
        known.learn_own_change((Some(Revision::Change(1)), Some(file(2))), (start, start + 2 * S), &timeouts);
        assert_eq!((known.certain().unwrap().change, known.epoch()), (Some(2), 0));
    }

    #[test]
    fn two_concurrent_answers_that_differ_are_both_doubted() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        for (first_asked, second_asked) in [(start, start + S), (start + S, start)] {
            let mut known = CachedAttributes::nothing();
            known.learn(file(1), (first_asked, start + 2 * S), &timeouts);
            known.learn(file(2), (second_asked, start + 3 * S), &timeouts);
            assert!(
                known.believed(start + 3 * S).is_none() && !known.is_of(&file(1)) && !known.is_of(&file(2))
            );
            assert_eq!(known.epoch(), 0, "the data are right if the first was the later");
            known.learn(file(2), at(start + 4 * S), &timeouts);
            assert!(known.is_of(&file(2)) && known.epoch() == 1);
        }
    }

    #[test]
    fn differing_answer_counts_though_others_agree_and_were_sent_later() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), at(start), &timeouts);
        // An OPEN that waited at the server while this was asked and answered.
        known.learn(file(1), (start + 2 * S, start + 3 * S), &timeouts);
        known.learn(file(2), (start + S, start + 4 * S), &timeouts);
        assert!(known.certain().is_none(), "not even under the delegation that came with it");
    }

    #[test]
    fn requests_under_way_together_that_tell_the_same_are_believed() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let mut known = CachedAttributes::nothing();
        known.learn(file(1), (start + S, start + 2 * S), &timeouts);
        known.learn(file(1), (start, start + 3 * S), &timeouts);
        assert!(known.is_of(&file(1)) && known.epoch() == 0);
        known.learn(file(2), (start + 2 * S, start + 4 * S), &timeouts);
        assert!(known.is_of(&file(2)), "the first was answered before this was sent");
    }

    #[test]
    fn data_cached_in_the_tick_of_the_last_change_are_uncertain() {
        let (start, timeouts) = (Instant::now(), AttributeTimeouts::default());
        let wall = SystemTime::UNIX_EPOCH + 1000 * S;
        let changed = Time { seconds: 1000, nanoseconds: 5 };
        let timed = Attributes { changed, change: None, ..file(0) };
        let mut clock = ServerClock::new(start);
        clock.saw(&timed, start);
        let mut known = CachedAttributes::nothing();
        known.learn(timed, at(start), &timeouts);
        known.note_cached(&clock, start + S, wall + S);
        assert!(!known.is_uncertain(&clock), "the clock has moved on");
        known.note_cached(&clock, start, wall);
        known.note_cached(&clock, start + S, wall + S);
        assert!(known.is_uncertain(&clock), "a part of it");
        let mut fine = ServerClock::new(start);
        fine.saw(&timed, start);
        fine.saw(&Attributes { changed: Time { nanoseconds: 6, ..changed }, ..timed }, start);
        assert!(!known.is_uncertain(&fine), "this was no tick");
        known.forget_content();
        assert!(!known.is_uncertain(&clock));
        let counted = Attributes { change: Some(7), ..timed };
        known.learn(counted, at(start), &timeouts);
        known.note_cached(&clock, start, wall);
        assert!(!known.is_uncertain(&clock), "every change counts");
    }
}
