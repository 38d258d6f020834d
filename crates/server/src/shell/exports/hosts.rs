//! Names of hosts and groups of users, as this host's name service has them.
//!
//! It is asked on threads that may wait, a few at a time; what it said is kept for a while. An old answer serves until there is
//! a new one.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{collections::HashSet, ffi::CString};

use lru::LruCache;
use nix::unistd::{Uid, User, getgrouplist};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};

use super::super::own_work::spawn_blocking;
use crate::exports::{HostDirectory, NamePattern, Question};
use crate::runtime::BoxFuture;

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

/// What is asked. Blocks.
pub(super) trait NameService: Send + Sync + 'static {
    /// The name of an address, if that name has the address.
    fn names(&self, address: IpAddr) -> Vec<String>;

    /// The addresses of a host.
    fn addresses(&self, host: &str) -> Vec<IpAddr>;

    /// The hosts of a netgroup and of those in it.
    fn netgroup(&self, group: &str) -> Vec<Member>;

    /// The groups of a user.
    fn groups(&self, uid: u32) -> Vec<u32>;
}

/// `getnameinfo`, `getaddrinfo` and `getgrouplist`; for netgroups getent(1), since the functions for them know no threads.
struct System;

impl NameService for System {
    fn names(&self, address: IpAddr) -> Vec<String> {
        let name = dns_lookup::lookup_addr(&address).ok();
        // Without a name there is the address in figures. Whoever owns an address can give it any name: it must lead back.
        let name = name.filter(|name| name.parse::<IpAddr>().is_err());
        name.filter(|name| self.addresses(name).contains(&address)).into_iter().collect()
    }

    fn addresses(&self, host: &str) -> Vec<IpAddr> {
        let found = dns_lookup::lookup_host(host).map(|found| found.map(|address| address.to_canonical()));
        found.map_or_else(|_| Vec::new(), |found| found.take(LISTED_MAX).collect())
    }

    fn netgroup(&self, group: &str) -> Vec<Member> {
        match Command::new("getent").args(["netgroup", "--", group]).stdin(Stdio::null()).output() {
            Ok(told) => members(&String::from_utf8_lossy(&told.stdout)),
            Err(error) => {
                tracing::warn!(%error, "getent cannot be run, so that netgroups have no hosts; install it");
                Vec::new()
            }
        }
    }

    fn groups(&self, uid: u32) -> Vec<u32> {
        let Ok(Some(user)) = User::from_uid(Uid::from_raw(uid)) else { return Vec::new() };
        let Ok(name) = CString::new(user.name) else { return Vec::new() };
        let groups = getgrouplist(&name, user.gid).unwrap_or_default();
        groups.into_iter().take(LISTED_MAX).map(|group| group.as_raw()).collect()
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
    fn ask(&self, service: &dyn NameService) -> Answer {
        match self {
            Self::Names(address) => Answer::Names(service.names(*address)),
            Self::Addresses(host) => Answer::Addresses(service.addresses(host)),
            Self::Netgroup(group) => Answer::Netgroup(service.netgroup(group).into()),
            Self::Groups(uid) => Answer::Groups(service.groups(*uid).into()),
        }
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

struct Known {
    answer: Answer,
    until: Instant,
}

struct Inner {
    known: LruCache<Key, Known>,
    asking: HashSet<Key>,
}

struct Shared {
    service: Box<dyn NameService>,
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
        Self::of(System)
    }

    fn of(service: impl NameService) -> Self {
        let inner = Inner { known: LruCache::new(ANSWERS_MAX), asking: HashSet::new() };
        let shared = Shared {
            service: Box::new(service),
            inner: Mutex::new(inner),
            places: Semaphore::new(QUESTIONS_MAX),
            answered: Notify::new(),
        };
        Self { shared: Arc::new(shared), handle: Handle::current() }
    }

    /// What is known, be it old; what is not, or is old, is asked for.
    fn known<T>(&self, key: &Key, answer: impl FnOnce(&Answer) -> Option<T>) -> Option<T> {
        let found = self.shared.inner.lock().known.get(key).map(|known| (answer(&known.answer), known.until));
        if found.as_ref().is_none_or(|(_, until)| *until <= Instant::now()) {
            self.ask(std::slice::from_ref(key));
        }
        found.and_then(|(answer, _)| answer)
    }

    /// Whether the host at an address is in a netgroup: by its name, its name without the domain, or its address.
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

    /// Asks for what is not known or too old; true when all is known, be it old.
    fn ask(&self, keys: &[Key]) -> bool {
        let now = Instant::now();
        let mut all = true;
        let mut inner = self.shared.inner.lock();
        for key in keys {
            match inner.known.get(key) {
                Some(known) if known.until > now => continue,
                Some(_) => {}
                None => all = false,
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
        let mut inner = self.inner.lock();
        inner.asking.remove(&key);
        if let Ok(answer) = answer {
            let until = Instant::now() + answer.good_for();
            inner.known.put(key, Known { answer, until });
        }
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
        fn names(&self, address: IpAddr) -> Vec<String> {
            self.wait();
            if address == client() { vec!["a.example.org".to_owned()] } else { vec![] }
        }

        fn addresses(&self, host: &str) -> Vec<IpAddr> {
            self.wait();
            if host == "named" { vec![client()] } else { vec![] }
        }

        fn netgroup(&self, group: &str) -> Vec<Member> {
            self.wait();
            match group {
                "labs" => members("labs (a,,) (10.0.0.8, -, example.org) (-,ann,)"),
                "all" => members("all (,,)"),
                _ => vec![],
            }
        }

        fn groups(&self, uid: u32) -> Vec<u32> {
            self.wait();
            vec![uid, uid + 1]
        }
    }

    fn client() -> IpAddr {
        IpAddr::from([10, 0, 0, 7])
    }

    fn directory() -> (SystemDirectory, Sender<()>, Arc<AtomicUsize>) {
        let (go, wait) = channel();
        let asked = Arc::new(AtomicUsize::new(0));
        (SystemDirectory::of(Slow { go: Mutex::new(wait), asked: Arc::clone(&asked) }), go, asked)
    }

    #[tokio::test]
    async fn what_is_not_known_is_asked_once_and_waited_for() {
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
        assert!(System.netgroup("primetime-has-no-such-group").is_empty());
        assert!(System.netgroup("--help").is_empty(), "a name is never an option");
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
