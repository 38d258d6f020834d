//! Many threads that share contexts.

#![allow(clippy::disallowed_methods, reason = "the threads of connections")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rpc::auth::gss::{GssLimits, NoNames};

use crate::fixture::{ARGUMENTS, Fixture, INTEGRITY, NONE};

const THREADS: u32 = 64;

#[test]
fn each_number_passes_once_whatever_the_number_of_threads() {
    const NUMBERS: u32 = 2_000;
    let fixture = Fixture::new();
    let client = fixture.establish(b"ann@R");
    // Two threads send each number, and all threads are within one window.
    let (next, passed, silent) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::SeqCst) as u32;
                    if turn >= 2 * NUMBERS {
                        return;
                    }
                    let call = client.seal(&client.data(turn / 2, INTEGRITY));
                    match fixture.judge(&call).unwrap_arguments() {
                        Ok(arguments) => {
                            assert_eq!(arguments, ARGUMENTS);
                            passed.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(refused) => {
                            assert_eq!(refused, "silent");
                            silent.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    let counts = (passed.into_inner(), silent.into_inner());
    assert_eq!(counts, (NUMBERS as usize, NUMBERS as usize));
}

#[test]
fn tables_keep_their_bounds_with_many_threads() {
    let limits = GssLimits { contexts_max: 32, ..GssLimits::default() };
    let fixture = Fixture::with(limits, Arc::new(NoNames));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let fixture = &fixture;
            scope.spawn(move || {
                for round in 0..20 {
                    let client = fixture.establish(format!("user{number}@R").as_bytes());
                    let used = fixture.judge(&client.seal(&client.data(1, NONE))).name();
                    assert!(["passed", "GssCredentialProblem"].contains(&used.as_str()), "{used}");
                    if round % 2 == 0 {
                        let ended = fixture.judge(&client.seal(&client.destroy(2))).name();
                        assert!(["answered", "GssCredentialProblem"].contains(&ended.as_str()), "{ended}");
                    }
                    assert!(fixture.counts().0 <= 32);
                }
            });
        }
    });
    assert_eq!(fixture.counts().1, 0);
}
