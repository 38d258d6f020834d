//! Puts together what several tasks want at the same moment, so that it can be sent as one COMPOUND. Who is alone is never
//! held up: only while somebody's request is under way are further ones put together, and only until the tasks that are
//! ready to run have had their turn.

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// What is wanted, and who wants it.
pub(super) struct Gathered<T, A> {
    pub(super) wanted: T,
    answer: oneshot::Sender<Option<A>>,
}

impl<T, A> Gathered<T, A> {
    /// This came of it. Who has given up waiting is not told.
    pub(super) fn answer(self, answer: A) {
        let _ = self.answer.send(Some(answer));
    }

    /// It was not tried: whoever wants it does it alone.
    pub(super) fn leave(self) {
        let _ = self.answer.send(None);
    }
}

/// What is wanted and not sent yet.
pub(super) struct Gatherer<T, A>(Mutex<Inside<T, A>>);

struct Inside<T, A> {
    under_way: usize,
    waiting: Vec<Gathered<T, A>>,
}

impl<T, A> Default for Gatherer<T, A> {
    fn default() -> Self {
        Self(Mutex::new(Inside { under_way: 0, waiting: Vec::new() }))
    }
}

/// How a task goes about what it wants.
pub(super) enum Turn<'a, T, A> {
    /// By itself, at once, and holding this until it has it.
    Alone(UnderWay<'a, T, A>),
    /// With others.
    Together(UnderWay<'a, T, A>),
}

/// A task that wants something.
pub(super) struct UnderWay<'a, T, A>(&'a Gatherer<T, A>);

impl<T, A> Gatherer<T, A> {
    /// Begins to want something.
    pub(super) fn enter(&self) -> Turn<'_, T, A> {
        let mut inside = self.0.lock();
        inside.under_way += 1;
        match inside.under_way {
            1 => Turn::Alone(UnderWay(self)),
            _ => Turn::Together(UnderWay(self)),
        }
    }

    /// Takes up to `most` of what is wanted, in the order in which it came; true when that was all.
    pub(super) fn take(&self, most: usize) -> (Vec<Gathered<T, A>>, bool) {
        let waiting = &mut self.0.lock().waiting;
        let rest = waiting.split_off(most.min(waiting.len()));
        let is_last = rest.is_empty();
        (std::mem::replace(waiting, rest), is_last)
    }
}

impl<T, A> UnderWay<'_, T, A> {
    /// Adds to what is wanted; true for the first, who has to see to it that it is taken.
    pub(super) fn join(&self, wanted: T) -> (oneshot::Receiver<Option<A>>, bool) {
        let (answer, receiver) = oneshot::channel();
        let waiting = &mut self.0.0.lock().waiting;
        waiting.push(Gathered { wanted, answer });
        (receiver, waiting.len() == 1)
    }
}

impl<T, A> Drop for UnderWay<'_, T, A> {
    fn drop(&mut self) {
        self.0.0.lock().under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_goes_alone_and_others_meanwhile_go_together() {
        let gatherer = Gatherer::<u32, ()>::default();
        let Turn::Alone(first) = gatherer.enter() else { panic!("nobody else was there") };
        let Turn::Together(second) = gatherer.enter() else { panic!("the first is under way") };
        drop(first);
        let Turn::Together(third) = gatherer.enter() else { panic!("the second is under way") };
        drop((second, third));
        assert!(matches!(gatherer.enter(), Turn::Alone(_)));
    }

    #[test]
    fn what_waits_is_taken_in_order_in_parts_and_its_first_sees_to_that() {
        let gatherer = Gatherer::<u32, u32>::default();
        let _alone = gatherer.enter();
        let Turn::Together(turn) = gatherer.enter() else { panic!("somebody is under way") };
        let mut answers: Vec<_> = (0..5).map(|number| turn.join(number)).collect();
        assert_eq!(
            answers.iter().map(|(_, first)| *first).collect::<Vec<_>>(),
            [true, false, false, false, false]
        );
        let (batch, is_last) = gatherer.take(3);
        assert_eq!((batch.iter().map(|g| g.wanted).collect::<Vec<_>>(), is_last), (vec![0, 1, 2], false));
        let (rest, is_last) = gatherer.take(3);
        assert_eq!((rest.iter().map(|g| g.wanted).collect::<Vec<_>>(), is_last), (vec![3, 4], true));
        assert!(turn.join(5).1, "nothing was waiting any more");
        batch.into_iter().for_each(|gathered| {
            let wanted = gathered.wanted;
            gathered.answer(wanted * 10);
        });
        rest.into_iter().for_each(Gathered::leave);
        let answers: Vec<_> = answers.iter_mut().map(|(answer, _)| answer.try_recv().unwrap()).collect();
        assert_eq!(answers, [Some(0), Some(10), Some(20), None, None]);
    }
}
