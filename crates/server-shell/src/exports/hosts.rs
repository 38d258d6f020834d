//! Names of hosts and groups of users, as this host's name service has them.
//!
//! It is asked on threads that may wait, a few at a time; what it said is kept for a while. An old answer
//! serves until there is a new one, for an hour at most. A failure of the name service is no answer.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{collections::HashSet, ffi::CString};

use dns_lookup::{LookupError, LookupErrorKind};
use lru::LruCache;
use nix::unistd::{Uid, User, getgrouplist};
use parking_lot::Mutex;
use server::exports::{HostDirectory, NamePattern, Question};
use server::nfs4::Unavailable;
use server::runtime::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};

use crate::own_work::spawn_blocking;

/// Answers that are kept. Beyond, the one that was not used for the longest time goes.
const ANSWERS_MAX: NonZeroUsize = NonZeroUsize::new(8192).expect("8192 is not zero");
/// Questions that are put at the same time. Each holds a thread.
const QUESTIONS_MAX: usize = 4;
/// Questions that are being asked or wait for that. Beyond, none is taken: who needs the answer comes back.
const ASKING_MAX: usize = 1024;
/// How long an answer is good.
const FOUND_FOR: Duration = Duration::from_secs(600);
/// How long it is believed that there is none.
const MISSING_FOR: Duration = Duration::from_secs(60);
/// How long the last answer serves while there is no newer one.
const LAST_FOR: Duration = Duration::from_secs(3600);
/// How long after a failure the same question is asked again.
const FAILED_FOR: Duration = Duration::from_secs(5);
/// How long a request waits for an answer.
const WAIT: Duration = Duration::from_secs(2);
/// The most addresses and names that count of an answer.
const LISTED_MAX: usize = 256;
/// The most hosts that count of a netgroup.
const NETGROUP_MAX: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// The names of an address.
    Names(IpAddr),
    /// The addresses of a host.
    Addresses(String),
    /// The hosts of a netgroup.
    Netgroup(String),
    /// The groups of a user.
    Groups(u32),
}

#[derive(Debug, Clone)]
enum Answer {
    Names(Vec<String>),
    Addresses(Vec<IpAddr>),
    Netgroup(Arc<[Member]>),
    Groups(Arc<[u32]>),
}

/// A host of a netgroup: any, or one by its name or address.
type Member = Option<String>;

/// The question. Blocks. Returns an empty list when the service says that there is none, and an error when
/// it fails.
pub(super) trait NameService: Send + Sync + 'static {
    /// The name of an address, if that name has the address.
    fn names(&self, address: IpAddr) -> ResolverResult<String>;

    /// The addresses of a host.
    fn addresses(&self, host: &str) -> ResolverResult<IpAddr>;

    /// The hosts of a netgroup and of those in it.
    fn netgroup(&self, group: &str) -> ResolverResult<Member>;

    /// The groups of a user.
    fn groups(&self, uid: u32) -> ResolverResult<u32>;
}

type ResolverResult<T> = Result<Vec<T>, Unavailable>;

/// `getnameinfo`, `getaddrinfo` and `getgrouplist`; for netgroups getent(1), since the functions for them
/// know no threads.
struct System;

impl NameService for System {
    fn names(&self, address: IpAddr) -> ResolverResult<String> {
        let Some(name) = found(dns_lookup::lookup_addr(&address))? else { return Ok(Vec::new()) };
        // Without a name there is the address in figures. Whoever owns an address can give it any name: it
        // must lead back.
        let leads_back = name.parse::<IpAddr>().is_err() && self.addresses(&name)?.contains(&address);
        Ok(leads_back.then_some(name).into_iter().collect())
    }

    fn addresses(&self, host: &str) -> ResolverResult<IpAddr> {
        let addresses = found(dns_lookup::lookup_host(host))?.into_iter().flatten();
        Ok(addresses.map(|address| address.to_canonical()).take(LISTED_MAX).collect())
    }

    fn netgroup(&self, group: &str) -> ResolverResult<Member> {
        let told = Command::new("getent").args(["netgroup", "--", group]).stdin(Stdio::null()).output();
        let told = told.map_err(|error| {
            tracing::warn!(%error, "getent cannot be run, so that netgroups are not known; install it");
            Unavailable
        })?;
        match told.status.code() {
            Some(GETENT_FOUND) => Ok(members(&String::from_utf8_lossy(&told.stdout))),
            Some(GETENT_NOT_FOUND) => Ok(Vec::new()),
            _ => Err(Unavailable),
        }
    }

    fn groups(&self, uid: u32) -> ResolverResult<u32> {
        let user = User::from_uid(Uid::from_raw(uid)).map_err(|_| Unavailable)?;
        let Some(user) = user else { return Ok(Vec::new()) };
        let Ok(name) = CString::new(user.name) else { return Ok(Vec::new()) };
        let groups = getgrouplist(&name, user.gid).map_err(|_| Unavailable)?;
        Ok(groups.into_iter().take(LISTED_MAX).map(|group| group.as_raw()).collect())
    }
}

/// Exit codes of getent(1).
const GETENT_FOUND: i32 = 0;
const GETENT_NOT_FOUND: i32 = 2;

/// The answer of a resolver; `None` when it says that there is nothing.
fn found<T>(outcome: Result<T, LookupError>) -> Result<Option<T>, Unavailable> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), LookupErrorKind::NoName | LookupErrorKind::NoData) => Ok(None),
        Err(_) => Err(Unavailable),
    }
}

/// The hosts in what getent(1) writes of a netgroup: its name, and `(host,user,domain)` for each member.
fn members(text: &str) -> Vec<Member> {
    let triples = text.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    let hosts = triples.filter_map(|(triple, _)| triple.split_once(',')).map(|(host, _)| host.trim());
    // A hyphen is nobody: the triple is about users alone.
    let hosts = hosts.filter(|host| *host != "-").take(NETGROUP_MAX);
    hosts.map(|host| (!host.is_empty()).then(|| host.to_owned())).collect()
}

impl Key {
    fn ask(&self, service: &dyn NameService) -> Result<Answer, Unavailable> {
        Ok(match self {
            Self::Names(address) => Answer::Names(service.names(*address)?),
            Self::Addresses(host) => Answer::Addresses(service.addresses(host)?),
            Self::Netgroup(group) => Answer::Netgroup(service.netgroup(group)?.into()),
            Self::Groups(uid) => Answer::Groups(service.groups(*uid)?.into()),
        })
    }
}

impl Answer {
    fn good_for(&self) -> Duration {
        let is_empty = match self {
            Self::Names(names) => names.is_empty(),
            Self::Addresses(addresses) => addresses.is_empty(),
            Self::Netgroup(members) => members.is_empty(),
            Self::Groups(groups) => groups.is_empty(),
        };
        if is_empty { MISSING_FOR } else { FOUND_FOR }
    }
}

struct CachedAnswer {
    /// The last one, and when it came; `None` when every attempt has failed.
    answer: Option<(Answer, Instant)>,
    /// When to ask again.
    until: Instant,
}

impl CachedAnswer {
    /// The answer, be it old.
    fn answer(&self, now: Instant) -> Option<&Answer> {
        let (answer, since) = self.answer.as_ref()?;
        (now < *since + LAST_FOR).then_some(answer)
    }

    /// The knowledge after another attempt.
    fn after(before: Option<Self>, outcome: Result<Answer, Unavailable>, now: Instant) -> Self {
        match outcome {
            Ok(answer) => Self { until: now + answer.good_for(), answer: Some((answer, now)) },
            Err(Unavailable) => {
                let answer = before.and_then(|before| before.answer);
                Self { until: now + FAILED_FOR, answer }
            }
        }
    }
}

struct Inner {
    known: LruCache<Key, CachedAnswer>,
    asking: HashSet<Key>,
}

struct Shared {
    service: Box<dyn NameService>,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    inner: Mutex<Inner>,
    places: Semaphore,
    answered: Notify,
}

/// What this host's name service has said.
#[derive(Clone)]
pub(super) struct SystemDirectory {
    shared: Arc<Shared>,
    handle: Handle,
}

impl fmt::Debug for SystemDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemDirectory").field("known", &self.shared.inner.lock().known.len()).finish()
    }
}

impl SystemDirectory {
    /// # Panics
    /// Outside a tokio runtime.
    pub(super) fn new() -> Self {
        Self::of(System, Instant::now)
    }

    fn of(service: impl NameService, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let inner = Inner { known: LruCache::new(ANSWERS_MAX), asking: HashSet::new() };
        let shared = Shared {
            service: Box::new(service),
            clock: Box::new(clock),
            inner: Mutex::new(inner),
            places: Semaphore::new(QUESTIONS_MAX),
            answered: Notify::new(),
        };
        Self { shared: Arc::new(shared), handle: Handle::current() }
    }

    /// What is known, be it old; what is not, or is old, is asked for.
    fn known<T>(&self, key: &Key, answer: impl FnOnce(&Answer) -> Option<T>) -> Option<T> {
        let now = (self.shared.clock)();
        let found = {
            let mut inner = self.shared.inner.lock();
            inner.known.get(key).map(|known| (known.answer(now).and_then(answer), known.until))
        };
        if found.as_ref().is_none_or(|(_, until)| *until <= now) {
            self.ask(std::slice::from_ref(key));
        }
        found.and_then(|(answer, _)| answer)
    }

    /// Whether the host at an address is in a netgroup: by its name, its name without the domain, or its
    /// address.
    fn is_member(&self, address: IpAddr, group: &str) -> Option<bool> {
        let members = self.known(&Key::Netgroup(group.to_owned()), |answer| match answer {
            Answer::Netgroup(members) => Some(Arc::clone(members)),
            _ => None,
        });
        let names = self.known(&Key::Names(address), |answer| match answer {
            Answer::Names(names) => Some(names.clone()),
            _ => None,
        });
        // Both have been asked for.
        let (members, names) = (members?, names?);
        let is_called = |host: &str| {
            let is = |name: &String| {
                let short = name.split('.').next().unwrap_or_default();
                host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(short)
            };
            names.iter().any(is) || host.parse() == Ok(address)
        };
        Some(members.iter().any(|member| member.as_deref().is_none_or(is_called)))
    }

    /// Asks for what is not known or too old; false when there is something to wait for: an answer that is
    /// not known and has not just failed to come.
    fn ask(&self, keys: &[Key]) -> bool {
        let now = (self.shared.clock)();
        let mut all = true;
        let mut inner = self.shared.inner.lock();
        for key in keys {
            match inner.known.get(key) {
                Some(known) if known.until > now => continue,
                Some(known) if known.answer(now).is_some() => {}
                _ => all = false,
            }
            if inner.asking.len() < ASKING_MAX && inner.asking.insert(key.clone()) {
                let (shared, key) = (Arc::clone(&self.shared), key.clone());
                self.handle.spawn(shared.answer(key));
            }
        }
        all
    }
}

impl Shared {
    async fn answer(self: Arc<Self>, key: Key) {
        let place = self.places.acquire().await;
        let (shared, asked) = (Arc::clone(&self), key.clone());
        let answer = spawn_blocking(&Handle::current(), move || asked.ask(&*shared.service)).await;
        drop(place);
        let answer = answer.unwrap_or(Err(Unavailable));
        if answer.is_err() {
            tracing::warn!(?key, "the name service did not answer; what it said last counts for an hour");
        }
        let mut inner = self.inner.lock();
        inner.asking.remove(&key);
        let known = CachedAnswer::after(inner.known.pop(&key), answer, (self.clock)());
        inner.known.put(key, known);
        drop(inner);
        self.answered.notify_waiters();
    }
}

impl HostDirectory for SystemDirectory {
    fn is_named(&self, address: IpAddr, pattern: &NamePattern) -> Option<bool> {
        let key = match pattern {
            NamePattern::Host(host) => Key::Addresses(host.clone()),
            NamePattern::Wildcard(_) => Key::Names(address),
            NamePattern::Netgroup(group) => return self.is_member(address, group),
        };
        self.known(&key, |answer| match answer {
            Answer::Names(names) => Some(names.iter().any(|name| pattern.matches(name))),
            Answer::Addresses(addresses) => Some(addresses.contains(&address)),
            Answer::Netgroup(_) | Answer::Groups(_) => None,
        })
    }

    fn groups(&self, uid: u32) -> Option<Arc<[u32]>> {
        self.known(&Key::Groups(uid), |answer| match answer {
            Answer::Groups(groups) => Some(Arc::clone(groups)),
            Answer::Names(_) | Answer::Addresses(_) | Answer::Netgroup(_) => None,
        })
    }

    fn learn(&self, question: &Question<'_>) -> BoxFuture<()> {
        let mut keys: Vec<_> = question.hosts.iter().cloned().map(Key::Addresses).collect();
        keys.extend(question.netgroups.iter().cloned().map(Key::Netgroup));
        keys.extend(question.address.map(Key::Names));
        keys.extend(question.uid.map(Key::Groups));
        if self.ask(&keys) {
            return Box::pin(std::future::ready(()));
        }
        let directory = self.clone();
        Box::pin(async move {
            let learnt = async {
                loop {
                    let answered = directory.shared.answered.notified();
                    // What is answered from here on is not missed.
                    tokio::pin!(answered);
                    answered.as_mut().enable();
                    if directory.ask(&keys) {
                        return;
                    }
                    answered.await;
                }
            };
            // Who asks does without the answer then.
            let _ = tokio::time::timeout(WAIT, learnt).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Answers as soon as it is told to.
    struct Slow {
        go: Mutex<Receiver<()>>,
        asked: Arc<AtomicUsize>,
    }

    impl Slow {
        fn wait(&self) {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.go.lock().recv().unwrap();
        }
    }

    impl NameService for Slow {
        fn names(&self, address: IpAddr) -> ResolverResult<String> {
            self.wait();
            Ok(if address == client() { vec!["a.example.org".to_owned()] } else { vec![] })
        }

        fn addresses(&self, host: &str) -> ResolverResult<IpAddr> {
            self.wait();
            Ok(if host == "named" { vec![client()] } else { vec![] })
        }

        fn netgroup(&self, group: &str) -> ResolverResult<Member> {
            self.wait();
            Ok(match group {
                "labs" => members("labs (a,,) (10.0.0.8, -, example.org) (-,ann,)"),
                "all" => members("all (,,)"),
                _ => vec![],
            })
        }

        fn groups(&self, uid: u32) -> ResolverResult<u32> {
            self.wait();
            Ok(vec![uid, uid + 1])
        }
    }

    /// Answers at once, with what it is set to.
    #[derive(Clone, Default)]
    struct Settable {
        /// The groups of every user, and the names of every address; fails without.
        groups: Arc<Mutex<Option<Vec<u32>>>>,
        asked: Arc<AtomicUsize>,
        /// How far the clock has been put forward.
        passed: Arc<Mutex<Duration>>,
    }

    impl Settable {
        fn numbers(&self) -> ResolverResult<u32> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.groups.lock().clone().ok_or(Unavailable)
        }

        fn directory(&self) -> SystemDirectory {
            let (start, passed) = (Instant::now(), Arc::clone(&self.passed));
            SystemDirectory::of(self.clone(), move || start + *passed.lock())
        }

        /// The groups of user 5 after a question and some more time.
        async fn groups_after(&self, directory: &SystemDirectory, passed: Duration) -> Option<Vec<u32>> {
            *self.passed.lock() += passed;
            let question = Question { address: None, hosts: &[], netgroups: &[], uid: Some(5) };
            directory.learn(&question).await;
            // An old answer serves while it is asked for.
            while !directory.shared.inner.lock().asking.is_empty() {
                tokio::task::yield_now().await;
            }
            directory.groups(5).map(|groups| groups.to_vec())
        }
    }

    impl NameService for Settable {
        fn names(&self, _: IpAddr) -> ResolverResult<String> {
            Ok(self.numbers()?.iter().map(|number| format!("host{number}")).collect())
        }

        fn addresses(&self, _: &str) -> ResolverResult<IpAddr> {
            self.numbers().map(|_| vec![client()])
        }

        fn netgroup(&self, _: &str) -> ResolverResult<Member> {
            self.numbers().map(|_| vec![None])
        }

        fn groups(&self, _: u32) -> ResolverResult<u32> {
            self.numbers()
        }
    }

    #[tokio::test]
    async fn the_last_groups_count_for_an_hour_while_the_name_service_fails() {
        let service = Settable::default();
        let directory = service.directory();
        *service.groups.lock() = Some(vec![7, 8]);
        assert_eq!(service.groups_after(&directory, Duration::ZERO).await, Some(vec![7, 8]));
        *service.groups.lock() = None;
        assert_eq!(service.groups_after(&directory, FOUND_FOR).await, Some(vec![7, 8]));
        let last = LAST_FOR - FOUND_FOR - Duration::from_secs(1);
        assert_eq!(service.groups_after(&directory, last).await, Some(vec![7, 8]));
        assert_eq!(service.groups_after(&directory, FAILED_FOR).await, None, "not known any more");
        *service.groups.lock() = Some(vec![9]);
        assert_eq!(service.groups_after(&directory, FAILED_FOR).await, Some(vec![9]));
        assert_eq!(service.asked.load(Ordering::SeqCst), 5);
    }

    #[tokio::test]
    async fn a_failure_is_not_an_empty_list_and_is_soon_asked_again() {
        let service = Settable::default();
        let directory = service.directory();
        assert_eq!(service.groups_after(&directory, Duration::ZERO).await, None);
        assert_eq!(service.groups_after(&directory, FAILED_FOR / 2).await, None);
        assert_eq!(service.asked.load(Ordering::SeqCst), 1, "not for each request");
        let hosts = ["host".to_owned()];
        let question =
            Question { address: Some(client()), hosts: &hosts, netgroups: &["labs".to_owned()], uid: None };
        directory.learn(&question).await;
        for pattern in [
            NamePattern::Host("host".into()),
            NamePattern::Wildcard("*".into()),
            NamePattern::Netgroup("labs".into()),
        ] {
            assert_eq!(directory.is_named(client(), &pattern), None, "{pattern:?}");
        }
        *service.groups.lock() = Some(vec![]);
        assert_eq!(service.groups_after(&directory, FAILED_FOR).await, Some(vec![]), "no user");
    }

    fn client() -> IpAddr {
        IpAddr::from([10, 0, 0, 7])
    }

    fn directory() -> (SystemDirectory, Sender<()>, Arc<AtomicUsize>) {
        let (go, wait) = channel();
        let asked = Arc::new(AtomicUsize::new(0));
        let slow = Slow { go: Mutex::new(wait), asked: Arc::clone(&asked) };
        (SystemDirectory::of(slow, Instant::now), go, asked)
    }

    #[tokio::test]
    async fn unknown_host_is_resolved_once_and_awaited() {
        let (directory, go, asked) = directory();
        let hosts = ["named".to_owned()];
        let question = Question { address: Some(client()), hosts: &hosts, netgroups: &[], uid: Some(5) };
        let wildcard = NamePattern::Wildcard("*.example.org".into());
        assert_eq!(directory.is_named(client(), &wildcard), None);
        assert_eq!(directory.groups(5), None, "and both are asked for");
        let (one, other) = (directory.learn(&question), directory.learn(&question));
        for _ in 0..3 {
            go.send(()).unwrap();
        }
        tokio::join!(one, other);
        assert_eq!(asked.load(Ordering::SeqCst), 3);
        assert_eq!(directory.is_named(client(), &wildcard), Some(true));
        assert_eq!(directory.is_named(client(), &NamePattern::Wildcard("*.org.x".into())), Some(false));
        assert_eq!(directory.is_named(client(), &NamePattern::Host("named".into())), Some(true));
        assert_eq!(directory.groups(5).as_deref(), Some(&[5, 6][..]));
        directory.learn(&question).await;
        assert_eq!(asked.load(Ordering::SeqCst), 3, "it is known");
    }

    #[tokio::test]
    async fn a_netgroup_has_its_hosts_by_name_short_name_and_address() {
        let (directory, go, _) = directory();
        let netgroups = ["labs", "all", "empty"].map(str::to_owned);
        let (named, unnamed, stranger) = (client(), IpAddr::from([10, 0, 0, 8]), IpAddr::from([10, 0, 0, 9]));
        let is_in = |address, group: &str| directory.is_named(address, &NamePattern::Netgroup(group.into()));
        assert_eq!(is_in(named, "labs"), None, "and both are asked for");
        (0..6).for_each(|_| go.send(()).unwrap());
        for address in [named, unnamed, stranger] {
            let question = Question { address: Some(address), hosts: &[], netgroups: &netgroups, uid: None };
            directory.learn(&question).await;
        }
        assert_eq!([named, unnamed, stranger].map(|host| is_in(host, "labs")), [true, true, false].map(Some));
        assert_eq!([named, unnamed, stranger].map(|host| is_in(host, "all")), [Some(true); 3]);
        assert_eq!([named, unnamed, stranger].map(|host| is_in(host, "empty")), [Some(false); 3]);
    }

    #[test]
    fn this_host_has_no_netgroup_that_nobody_made() {
        assert_eq!(System.netgroup("primetime-has-no-such-group"), Ok(vec![]));
        assert_eq!(System.netgroup("--help"), Ok(vec![]), "a name is never an option");
    }

    #[tokio::test]
    async fn questions_and_answers_are_bounded() {
        let (directory, go, _) = directory();
        let uids = ASKING_MAX as u32 + 100;
        for uid in 0..uids {
            let asked =
                directory.learn(&Question { address: None, hosts: &[], netgroups: &[], uid: Some(uid) });
            drop(asked);
        }
        assert_eq!(directory.shared.inner.lock().asking.len(), ASKING_MAX);
        drop(go);
        assert!(directory.shared.inner.lock().known.cap() == ANSWERS_MAX);
    }

    #[tokio::test]
    async fn this_host_knows_root_and_itself() {
        let directory = SystemDirectory::new();
        let hosts = ["localhost".to_owned()];
        directory.learn(&Question { address: None, hosts: &hosts, netgroups: &[], uid: Some(0) }).await;
        assert!(directory.groups(0).unwrap().contains(&0));
        let localhost = NamePattern::Host("localhost".into());
        assert_eq!(directory.is_named(IpAddr::from([127, 0, 0, 1]), &localhost), Some(true));
        assert_eq!(directory.is_named(client(), &localhost), Some(false));
    }
}
