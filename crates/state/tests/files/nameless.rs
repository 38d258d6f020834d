//! Files that lose their last name while somebody has them open (RFC 8881 §18.25.4).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proto::nfs4::StateId;
use state::{DelegationKind, FileId, Keeping, Limits, Now, Opened, RetainedFile, State};

use crate::fixture::{FILE, T0, client, open};

/// Notes when it is dropped, and looks into the state that it was kept by, which must not be locked then.
struct Noted(Arc<State>, Arc<AtomicUsize>);

impl Drop for Noted {
    fn drop(&mut self) {
        assert!(!self.0.name_removed(FILE), "nobody has it open");
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn setting() -> (Arc<State>, Arc<AtomicUsize>) {
    (Arc::new(State::new(Limits::default(), 42)), Arc::default())
}

#[test]
fn a_file_is_kept_until_its_last_open_and_its_last_delegation_end() {
    let (state, dropped) = setting();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let Opened { state_id: first, delegation, .. } = open(&state, &a, FILE, Some(DelegationKind::Read));
    let second = open(&state, &b, FILE, None).state_id;
    assert!(state.name_removed(FILE));
    let noted = || RetainedFile::new(Noted(Arc::clone(&state), Arc::clone(&dropped)));
    assert_eq!(state.keep(FILE, noted(), 1), Keeping::Kept);
    let count = || (state.kept_files(), dropped.load(Ordering::Relaxed));
    state.close(&a, &first).unwrap();
    assert_eq!(count(), (1, 0));
    state.close(&b, &second).unwrap();
    assert_eq!(count(), (1, 0), "a delegation stands for opens that the server does not know of");
    state.return_delegation(&a, &delegation.unwrap().state_id).unwrap();
    assert_eq!(count(), (0, 1));
}

#[test]
fn it_goes_with_the_client_too() {
    let (state, dropped) = setting();
    let a = client(&state, "a");
    open(&state, &a, FILE, None);
    assert!(state.name_removed(FILE));
    let keeper = RetainedFile::new(Noted(Arc::clone(&state), Arc::clone(&dropped)));
    assert_eq!(state.keep(FILE, keeper, 1), Keeping::Kept);
    let late = Now(T0.0 + 1 + u64::from(state.limits().lease_seconds) * 1000);
    assert!(state.begin_expel(&a, late));
    assert_eq!((state.kept_files(), dropped.load(Ordering::Relaxed)), (1, 0));
    state.finish_expel(&a);
    assert_eq!((state.kept_files(), dropped.load(Ordering::Relaxed)), (0, 1));
}

#[test]
fn removed_files_are_kept_while_open_up_to_the_bound() {
    let (state, _) = setting();
    let a = client(&state, "a");
    assert!(!state.name_removed(FILE));
    assert_eq!(state.keep(FILE, RetainedFile::new(()), 1), Keeping::Unwanted);
    let other = FileId(8, 1);
    let opens: [StateId; 2] = [FILE, other].map(|file| open(&state, &a, file, None).state_id);
    assert_eq!(state.keep(FILE, RetainedFile::new(()), 1), Keeping::Kept);
    assert_eq!(state.keep(FILE, RetainedFile::new(()), 1), Keeping::Kept, "once");
    assert_eq!(state.keep(other, RetainedFile::new(()), 1), Keeping::TooMany);
    assert_eq!(state.kept_files(), 1);
    state.close(&a, &opens[0]).unwrap();
    assert_eq!(state.keep(other, RetainedFile::new(()), 1), Keeping::Kept);
}

#[test]
fn an_open_can_tell_that_a_file_was_removed_or_let_go_of_meanwhile() {
    let (state, _) = setting();
    let a = client(&state, "a");
    let before = state.removals();
    let opened = open(&state, &a, FILE, None).state_id;
    assert_eq!(state.removals(), before);
    state.name_removed(FILE);
    let removed = state.removals();
    assert_ne!(removed, before);
    assert_eq!(state.keep(FILE, RetainedFile::new(()), 1), Keeping::Kept);
    assert_eq!(state.removals(), removed);
    state.close(&a, &opened).unwrap();
    assert_ne!(state.removals(), removed);
}
