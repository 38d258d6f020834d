//! The gate of a client's connections, in every order that the memory model allows (`loom`).

#![allow(missing_docs, unreachable_pub)]

use std::sync::atomic::AtomicBool as Flag;
use std::task::{Wake, Waker};

use loom::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use loom::sync::{Arc, MutexGuard};
use loom::thread;

#[path = "../src/memory/gate.rs"]
mod gate;

use gate::Gate;

/// Loom's lock with the interface of the one in use.
#[derive(Debug, Default)]
struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no thread panics")
    }
}

/// Whether a connection was woken.
struct Woken(Flag);

impl Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A client whose connections are not read while it is charged anything.
struct Client {
    gate: Gate,
    charged: AtomicI64,
}

impl Client {
    fn change(&self, change: i64) {
        self.charged.fetch_add(change, Ordering::Relaxed);
        self.gate.review(|| self.charged.load(Ordering::Relaxed) > 0);
    }
}

/// Switches of threads at most, beyond those that waits force.
const PREEMPTIONS_MAX: usize = 3;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS_MAX);
    builder.check(model);
}

fn charged_client() -> Arc<Client> {
    let client = Arc::new(Client { gate: Gate::new(), charged: AtomicI64::new(0) });
    client.change(1);
    assert!(client.gate.is_closed());
    client
}

#[test]
fn gate_is_open_after_charges_of_two_threads_are_gone() {
    check(|| {
        let client = charged_client();
        let other = Arc::clone(&client);
        let other = thread::spawn(move || {
            other.change(1);
            other.change(-1);
        });
        client.change(-1);
        other.join().expect("the other ends");
        assert!(!client.gate.is_closed(), "the last decision is of old charges");
    });
}

#[test]
fn connection_that_waits_is_woken_or_sees_the_gate_open() {
    check(|| {
        let client = charged_client();
        let other = Arc::clone(&client);
        let other = thread::spawn(move || other.change(-1));
        let woken = std::sync::Arc::new(Woken(Flag::new(false)));
        client.gate.wait(&Waker::from(std::sync::Arc::clone(&woken)));
        let sees_it_open = !client.gate.is_closed();
        other.join().expect("the other ends");
        assert!(sees_it_open || woken.0.load(Ordering::SeqCst), "the connection waits for ever");
    });
}
