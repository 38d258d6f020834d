//! Hosts that restart, and hosts that are told that this server has.

use bytes::Bytes;
use proto::nlm4::*;
use rpc::Transport;
use state::Now;

use super::lab::{ANN, Answer, BOB, EVE, Lab};
use crate::host_monitor::Restart;
use crate::hosts::HostRoute;
use crate::stable::StoredHost;

fn recorded(lab: &Lab) -> Vec<String> {
    lab.disk.hosts.lock().iter().map(|host| String::from_utf8_lossy(&host.name).into_owned()).collect()
}

fn stored(address: &str, name: &str) -> StoredHost {
    let route = HostRoute {
        address: address.parse().unwrap(),
        local: Some("10.0.0.9".parse().unwrap()),
        transport: Transport::Tcp,
    };
    StoredHost { name: Bytes::from(format!("{address} {name}")), route }
}

#[test]
fn a_host_that_has_restarted_holds_nothing_and_waits_for_nothing() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.take(EVE, 3);
    lab.notify(BOB, 900, BOB);
    lab.notify(ANN, 900, ANN);
    lab.run();
    assert_eq!((lab.holder(), lab.called()), (Some(3), vec![(EVE.into(), 5)]));
}

#[test]
fn a_restart_is_only_believed_from_the_host_itself_and_its_superuser() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.notify(BOB, 900, ANN);
    lab.notify(ANN, 1024, ANN);
    assert_eq!(lab.holder(), Some(1));
    lab.notify(ANN, 1023, ANN);
    assert_eq!(lab.holder(), None);
}

#[test]
fn of_several_hosts_of_one_address_only_the_named_one_loses_its_locks() {
    let lab = Lab::new();
    let take = |name: &str, offset| {
        let caller_name = Bytes::copy_from_slice(name.as_bytes());
        let lock = Lock { caller_name, ..lab.lock(ANN, 1, (offset, 1)) };
        lab.call::<Response>(ANN, Procedure::Lock, &super::lock_args(lock, true)).status
    };
    assert_eq!((take("one", 0), take("two.example.org", 1)), (Status::Granted, Status::Granted));
    lab.notify(ANN, 900, "three");
    assert_eq!(lab.state.nlm_hosts(b"").len(), 2, "nobody knows which of the two it is");
    lab.notify(ANN, 900, "Two");
    assert_eq!(lab.state.nlm_hosts(b""), [format!("{ANN} one")]);
    lab.notify(ANN, 900, "three");
    assert_eq!(lab.state.nlm_hosts(b"").len(), 0, "there is only one that it can be");
}

#[test]
fn a_host_is_on_the_disk_before_it_has_a_lock_and_off_it_some_time_after() {
    let lab = Lab::new();
    *lab.disk.broken.lock() = true;
    assert_eq!(lab.take(ANN, 1), Status::DeniedNoLocks);
    assert_eq!(lab.holder(), None);
    *lab.disk.broken.lock() = false;
    assert_eq!(lab.take(ANN, 1), Status::Granted);
    assert_eq!(lab.take(ANN, 1), Status::Granted);
    assert_eq!(lab.take(BOB, 2), Status::Blocked);
    assert_eq!(recorded(&lab), [format!("{ANN} {ANN}"), format!("{BOB} {BOB}")], "each once");
    lab.pass(120);
    assert_eq!(recorded(&lab).len(), 2, "as long as it holds or waits");
    lab.give_back(ANN, 1);
    lab.pass(120);
    assert_eq!(recorded(&lab), [format!("{BOB} {BOB}")]);
    assert_eq!(lab.take_range(ANN, 1, (0, 0), true), Status::Blocked);
    assert_eq!(recorded(&lab).len(), 2, "recorded again");
}

#[test]
fn a_host_without_a_status_monitor_is_not_recorded() {
    let lab = Lab::new();
    let args = lab.arguments(ANN, 1, (0, 0), true);
    assert_eq!(lab.call::<Response>(ANN, Procedure::NmLock, &args).status, Status::Granted);
    assert_eq!(recorded(&lab).len(), 0);
    let share = super::share_args(lab.file, 1, ShareAccess::Read, ShareMode::DenyNone);
    assert_eq!(lab.call::<ShareResponse>(BOB, Procedure::Share, &share).status, Status::Granted);
    assert_eq!(recorded(&lab), [format!("{BOB} host")]);
}

#[test]
fn one_address_has_only_so_many_names() {
    let lab = Lab::new();
    let take = |number: i32| {
        let caller_name = Bytes::from(format!("name{number}"));
        let lock = Lock { caller_name, ..lab.lock(ANN, 1, (number as u64, 1)) };
        lab.call::<Response>(ANN, Procedure::Lock, &super::lock_args(lock, true)).status
    };
    for number in 0..64 {
        assert_eq!(take(number), Status::Granted);
    }
    assert_eq!(take(64), Status::DeniedNoLocks);
    assert_eq!(take(63), Status::Granted, "one that is known");
    assert_eq!(lab.take_range(BOB, 1, (100, 1), true), Status::Granted);
}

#[test]
fn idle_names_of_an_address_give_way_to_its_next_one() {
    let lab = Lab::new();
    let named = |number: u64| Lock {
        caller_name: Bytes::from(format!("name{number}")),
        ..lab.lock(ANN, 1, (number, 1))
    };
    let take = |number| {
        let args = super::lock_args(named(number), true);
        lab.call::<Response>(ANN, Procedure::Lock, &args).status
    };
    for number in 0..64 {
        assert_eq!(take(number), Status::Granted);
    }
    for number in 0..63 {
        let args = UnlockArgs { cookie: super::cookie(), lock: named(number) };
        lab.call::<Response>(ANN, Procedure::Unlock, &args);
    }
    assert_eq!(take(64), Status::Granted);
    assert_eq!(recorded(&lab), [format!("{ANN} name63"), format!("{ANN} name64")], "the lock of one is held");
}

#[test]
fn a_denied_lock_leaves_no_record_of_its_host() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    for number in 0..100 {
        let caller_name = Bytes::from(format!("name{number}"));
        let lock = Lock { caller_name, ..lab.lock(BOB, 1, (0, 0)) };
        let response = lab.call::<Response>(BOB, Procedure::Lock, &super::lock_args(lock, true));
        assert_eq!(response.status, Status::Denied);
    }
    assert_eq!(recorded(&lab), [format!("{ANN} {ANN}")]);
}

#[test]
fn locks_of_many_names_and_addresses_leave_room_for_others() {
    let lab = Lab::new();
    let take = |from: &str, name: u32, offset: u64| {
        let caller_name = Bytes::from(format!("name{name}"));
        let lock = Lock { caller_name, ..lab.lock(from, 1, (offset, 1)) };
        lab.call::<Response>(from, Procedure::Lock, &super::lock_args(lock, true)).status
    };
    let mut offset = 0;
    for address in 0..260_u32 {
        let from = format!("10.1.{}.{}", address >> 8, address & 255);
        for name in 0..65 {
            offset += 1;
            take(&from, name, offset);
        }
    }
    let count = recorded(&lab).len();
    assert!((16_000..16_384).contains(&count), "{count}");
    assert_eq!(take(BOB, 0, 0), Status::Granted);
}

#[test]
fn after_a_restart_hosts_take_back_their_locks_and_nobody_takes_others() {
    let lab = Lab::new();
    lab.state.begin_grace_of_hosts(Now(0));
    lab.services.let_hosts_reclaim([Bytes::from(format!("{ANN} {ANN}"))]);
    let reclaim = |from: &str, process, reclaim| {
        let args = LockArgs { reclaim, ..lab.arguments(from, process, (0, 0), true) };
        lab.call::<Response>(from, Procedure::Lock, &args).status
    };
    assert_eq!(reclaim(BOB, 2, false), Status::DeniedGracePeriod);
    assert_eq!(reclaim(BOB, 2, true), Status::DeniedGracePeriod, "it held nothing");
    assert_eq!(reclaim(ANN, 1, true), Status::Granted);
    assert_eq!(recorded(&lab), [format!("{ANN} {ANN}")]);
    let test = TestArgs { cookie: super::cookie(), exclusive: true, lock: lab.lock(BOB, 2, (0, 0)) };
    let tested: TestResponse = lab.call(BOB, Procedure::Test, &test);
    assert_eq!(tested.result, TestResult::Other(Status::DeniedGracePeriod));
    lab.pass(91);
    assert_eq!(reclaim(ANN, 1, true), Status::DeniedGracePeriod, "too late");
    assert_eq!(reclaim(BOB, 2, false), Status::Blocked);
    lab.give_back(ANN, 1);
    assert_eq!(lab.holder(), Some(2));
}

#[test]
fn hosts_are_told_of_a_restart_until_they_answer() {
    let lab = Lab::new();
    lab.set_answer(Answer::Timeout);
    let untold = vec![stored(ANN, "ann"), stored(BOB, "bob")];
    let restart = Restart { state_number: 5, name: Some("server".into()), may_reclaim: Vec::new(), untold };
    let services = lab.services.clone();
    crate::runtime::Runtime::spawn(&*lab.world, Box::pin(async move { services.tell_hosts(restart).await }));
    lab.pass(10);
    let tries = lab.called();
    assert!(tries.len() >= 6 && lab.disk.told.lock().is_empty(), "{tries:?}");
    lab.set_answer(Answer::Status(Status::Granted));
    lab.pass(60);
    let calls = std::mem::take(&mut *lab.hosts.calls.lock());
    let told: Vec<_> = calls
        .iter()
        .map(|(route, procedure, change)| {
            assert_eq!((*procedure, route.transport), ((100_024, 1, 6), Transport::Udp));
            let change: proto::nsm1::StatChange = xdr::from_bytes(change.clone()).unwrap();
            assert_eq!(change.state, 5);
            (route.address.to_string(), String::from_utf8_lossy(&change.name).into_owned())
        })
        .collect();
    let expected = [(ANN, "server"), (BOB, "server"), (ANN, "10.0.0.9"), (BOB, "10.0.0.9")];
    let mut told_sorted: Vec<_> = told.iter().map(|(host, name)| (host.as_str(), name.as_str())).collect();
    told_sorted.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(told_sorted, expected, "by each name once");
    assert_eq!(lab.disk.told.lock().len(), 2);
    lab.pass(600);
    assert_eq!(lab.called(), []);
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let lab = Lab::new();
    lab.set_answer(Answer::Timeout);
    let restart = Restart { state_number: 5, untold: vec![stored(ANN, "ann")], ..Restart::default() };
    let services = lab.services.clone();
    crate::runtime::Runtime::spawn(&*lab.world, Box::pin(async move { services.tell_hosts(restart).await }));
    lab.pass(14 * 60);
    assert!(lab.disk.told.lock().is_empty());
    lab.pass(3 * 60);
    assert_eq!(lab.disk.told.lock()[..], [format!("{ANN} ann")]);
    assert!(lab.called().len() < 40, "with pauses that grow");
    lab.pass(600);
    assert_eq!(lab.called(), []);
}
