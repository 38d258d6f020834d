//! Which items go into one COMPOUND, and the operations that lead from one to the next. Pure.

use bytes::Bytes;

use crate::node::Handle;

/// A directory as a COMPOUND comes to it: one whose handle is known, and the names that lead on from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) base: Handle,
    pub(super) names: Vec<Bytes>,
}

impl Spot {
    fn child(&self, name: &Bytes) -> Self {
        let names = self.names.iter().chain([name]).cloned().collect();
        Self { base: self.base.clone(), names }
    }

    /// The names that lead from `above` to here, if it is above.
    fn from(&self, above: &Self) -> Option<&[Bytes]> {
        if self.base != above.base {
            return None;
        }
        self.names.strip_prefix(&above.names[..])
    }
}

/// What of something there is, or may be, in a COMPOUND.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amount {
    pub(super) operations: u32,
    pub(super) request_bytes: usize,
    pub(super) reply_bytes: usize,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            request_bytes: self.request_bytes + other.request_bytes,
            reply_bytes: self.reply_bytes + other.reply_bytes,
        }
    }

    fn fits(self, limits: Self) -> bool {
        self.operations <= limits.operations
            && self.request_bytes <= limits.request_bytes
            && self.reply_bytes <= limits.reply_bytes
    }
}

/// What the current filehandle is after an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ends {
    /// Where it was.
    There,
    /// In the directory of this name, which the item has made.
    In(Bytes),
    /// At some object in it.
    Elsewhere,
}

/// Where an item takes place, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlannedPath {
    /// In one directory.
    At(Spot, Ends),
    /// From the first directory, saved, to the second.
    Between(Spot, Spot),
    /// From an object in the first directory, saved, to the second.
    FromObject(Spot, Bytes, Spot),
}

/// An operation of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    PutFh(Handle),
    Lookup(Bytes),
    SaveFh,
    RestoreFh,
    /// All that the item itself consists of.
    Act,
}

impl Step {
    fn amount(&self) -> Amount {
        let request_bytes = 4 + match self {
            Self::PutFh(handle) => 4 + handle.0.len().next_multiple_of(4),
            Self::Lookup(name) => 4 + name.len().next_multiple_of(4),
            Self::SaveFh | Self::RestoreFh => 0,
            Self::Act => return Amount::default(),
        };
        Amount { operations: 1, request_bytes, reply_bytes: 8 }
    }
}

/// A COMPOUND that is being put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    used: Amount,
    current: Option<Spot>,
    saved: Option<Spot>,
    /// Each with the item, by its place, that it is for.
    steps: Vec<(usize, Step)>,
    items: usize,
}

impl Plan {
    /// Adds an item that takes `amount` besides its way. False when all of them together would go beyond
    /// `limits`, which are for what is left after SEQUENCE and everything around: nothing has changed then.
    pub(super) fn add(&mut self, way: &PlannedPath, amount: Amount, limits: Amount) -> bool {
        let mut next = Draft { current: self.current.clone(), saved: self.saved.clone(), steps: Vec::new() };
        next.go(way);
        let all = next.steps.iter().fold(self.used.plus(amount), |sum, step| sum.plus(step.amount()));
        if !all.fits(limits) {
            return false;
        }
        self.used = all;
        (self.current, self.saved) = (next.current, next.saved);
        self.steps.extend(next.steps.into_iter().map(|step| (self.items, step)));
        self.items += 1;
        true
    }

    /// Each step with the place of the item that it is for.
    pub(super) fn steps(&self) -> &[(usize, Step)] {
        &self.steps
    }
}

/// The steps of one item, until it is known whether they fit.
struct Draft {
    current: Option<Spot>,
    saved: Option<Spot>,
    steps: Vec<Step>,
}

impl Draft {
    fn go(&mut self, way: &PlannedPath) {
        match way {
            PlannedPath::At(spot, ends) => {
                self.go_to(spot);
                // Without its handle there is no shorter way back.
                if *ends != Ends::There && !spot.names.is_empty() {
                    self.save();
                }
                self.steps.push(Step::Act);
                match ends {
                    // A removal may have taken away what a saved name led to.
                    Ends::There => self.saved = self.saved.take().filter(|saved| saved.names.is_empty()),
                    Ends::In(name) => self.current = Some(spot.child(name)),
                    Ends::Elsewhere => self.current = None,
                }
            }
            // The two directories are what they were, whatever was moved between them.
            PlannedPath::Between(from, to) => {
                self.go_to(from);
                self.save();
                self.go_to(to);
                self.steps.push(Step::Act);
            }
            PlannedPath::FromObject(from, name, to) => {
                self.go_to(from);
                self.steps.extend([Step::Lookup(name.clone()), Step::SaveFh]);
                (self.current, self.saved) = (None, None);
                self.go_to(to);
                self.steps.push(Step::Act);
            }
        }
    }

    fn save(&mut self) {
        if self.saved != self.current {
            self.steps.push(Step::SaveFh);
            self.saved.clone_from(&self.current);
        }
    }

    fn go_to(&mut self, spot: &Spot) {
        let from = |above: &Option<Spot>| above.as_ref().and_then(|above| spot.from(above)).map(<[_]>::len);
        let put = spot.names.len() + 1;
        let names = match (from(&self.current), from(&self.saved)) {
            (Some(0), _) => 0,
            (current, Some(names)) if names < put && current.is_none_or(|current| names + 1 < current) => {
                self.steps.push(Step::RestoreFh);
                names
            }
            (Some(names), _) if names < put => names,
            _ => {
                self.steps.push(Step::PutFh(spot.base.clone()));
                spot.names.len()
            }
        };
        let first = spot.names.len() - names;
        self.steps.extend(spot.names[first..].iter().cloned().map(Step::Lookup));
        self.current = Some(spot.clone());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spot(base: &str, names: &[&str]) -> Spot {
        let names = names.iter().map(|name| Bytes::copy_from_slice(name.as_bytes())).collect();
        Spot { base: Handle(Bytes::copy_from_slice(base.as_bytes())), names }
    }

    const ONE: Amount = Amount { operations: 1, request_bytes: 10, reply_bytes: 10 };
    const MUCH: Amount = Amount { operations: 1000, request_bytes: 1 << 20, reply_bytes: 1 << 20 };

    fn steps(ways: &[PlannedPath]) -> Vec<Step> {
        let mut plan = Plan::default();
        for way in ways {
            assert!(plan.add(way, ONE, MUCH));
        }
        plan.steps().iter().map(|(_, step)| step.clone()).collect()
    }

    fn lookup(name: &'static str) -> Step {
        Step::Lookup(name.into())
    }

    fn put(base: &'static str) -> Step {
        Step::PutFh(Handle(base.into()))
    }

    #[test]
    fn removals_in_one_directory_take_one_way() {
        let way = PlannedPath::At(spot("d", &[]), Ends::There);
        assert_eq!(steps(&[way.clone(), way.clone(), way]), [put("d"), Step::Act, Step::Act, Step::Act]);
    }

    #[test]
    fn files_in_a_directory_without_a_handle_come_back_to_it_by_the_saved_one() {
        let way = PlannedPath::At(spot("r", &["a"]), Ends::Elsewhere);
        let all = steps(&[way.clone(), way.clone()]);
        assert_eq!(all, [put("r"), lookup("a"), Step::SaveFh, Step::Act, Step::RestoreFh, Step::Act]);
    }

    #[test]
    fn a_directory_that_was_made_is_the_way_into_it() {
        let make =
            |names: &[&str], name: &'static str| PlannedPath::At(spot("r", names), Ends::In(name.into()));
        let file = PlannedPath::At(spot("r", &["a", "b"]), Ends::Elsewhere);
        let all = steps(&[make(&[], "a"), make(&["a"], "b"), file.clone(), file]);
        let last = [Step::SaveFh, Step::Act, Step::RestoreFh, Step::Act];
        assert_eq!(all[..4], [put("r"), Step::Act, Step::SaveFh, Step::Act]);
        assert_eq!(all[4..], last);
    }

    #[test]
    fn a_saved_directory_is_not_trusted_after_a_removal() {
        let make = PlannedPath::At(spot("r", &[]), Ends::In("a".into()));
        let file = PlannedPath::At(spot("r", &["a"]), Ends::Elsewhere);
        let remove = PlannedPath::At(spot("r", &[]), Ends::There);
        let all = steps(&[make.clone(), file.clone(), remove, make, file.clone(), file]);
        assert_eq!(all.iter().filter(|step| **step == Step::SaveFh).count(), 2, "{all:?}");
    }

    #[test]
    fn operation_that_does_not_fit_leaves_the_plan_unchanged() {
        let mut plan = Plan::default();
        let limits = Amount { operations: 3, ..MUCH };
        let way = PlannedPath::At(spot("d", &[]), Ends::Elsewhere);
        assert!(plan.add(&way, ONE, limits));
        let before = plan.steps().to_vec();
        assert!(!plan.add(&way, ONE, limits));
        assert_eq!(plan.steps(), before);
        assert!(plan.add(
            &PlannedPath::At(spot("d", &[]), Ends::There),
            Amount { operations: 0, ..ONE },
            limits
        ));
    }

    fn any_spot() -> impl Strategy<Value = Spot> {
        ("[xy]", proptest::collection::vec("[ab]", 0..3))
            .prop_map(|(base, names)| spot(&base, &names.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    fn any_way() -> impl Strategy<Value = PlannedPath> {
        prop_oneof![
            any_spot().prop_map(|spot| PlannedPath::At(spot, Ends::There)),
            any_spot().prop_map(|spot| PlannedPath::At(spot, Ends::Elsewhere)),
            (any_spot(), "[ab]").prop_map(|(spot, name)| PlannedPath::At(spot, Ends::In(name.into()))),
            (any_spot(), any_spot()).prop_map(|(from, to)| PlannedPath::Between(from, to)),
            (any_spot(), any_spot()).prop_map(|(from, to)| PlannedPath::FromObject(from, "f".into(), to)),
        ]
    }

    proptest! {
        /// A server that walks along the steps is where the item wants it, and the limits hold.
        #[test]
        fn the_filehandles_are_right_and_the_limits_hold(
            ways in proptest::collection::vec(any_way(), 1..30),
            operations in 4..60u32,
            request_bytes in 40..800usize,
        ) {
            let limits = Amount { operations, request_bytes, reply_bytes: 400 };
            let mut plan = Plan::default();
            let taken: Vec<&PlannedPath> = ways.iter().filter(|way| plan.add(way, ONE, limits)).collect();
            prop_assert!(plan.used.fits(limits));
            let (mut current, mut saved): (Option<Spot>, Option<Spot>) = (None, None);
            let (mut count, mut acts) = (0, 0);
            for (item, step) in plan.steps() {
                count += 1;
                match step {
                    Step::PutFh(base) => current = Some(Spot { base: base.clone(), names: vec![] }),
                    Step::Lookup(name) => current = current.map(|spot| spot.child(name)),
                    Step::SaveFh => saved = Some(current.clone().unwrap()),
                    Step::RestoreFh => current = Some(saved.clone().unwrap()),
                    Step::Act => {
                        prop_assert_eq!(*item, acts);
                        match taken[acts] {
                            PlannedPath::At(spot, ends) => {
                                prop_assert_eq!(current.as_ref(), Some(spot));
                                match ends {
                                    Ends::There => {}
                                    Ends::In(name) => current = Some(spot.child(name)),
                                    Ends::Elsewhere => current = None,
                                }
                            }
                            PlannedPath::Between(from, to) => {
                                prop_assert_eq!((saved.as_ref(), current.as_ref()), (Some(from), Some(to)));
                            }
                            PlannedPath::FromObject(from, name, to) => {
                                let object = from.child(name);
                                prop_assert_eq!(saved.as_ref(), Some(&object));
                                prop_assert_eq!(current.as_ref(), Some(to));
                            }
                        }
                        acts += 1;
                    }
                }
            }
            prop_assert_eq!(acts, taken.len());
            prop_assert!(count <= operations as usize);
        }
    }
}
