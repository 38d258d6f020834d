//! The conformance suite follows the capabilities: it needs what they promise and refuses what they lack.
#![forbid(unsafe_code)]

use futures_util::FutureExt;
use vfs::conformance::{Options, Report, run};
use vfs::memory::{Memory, MemoryOptions, Node};
use vfs::{
    Capabilities, CreateMode, Created, Error, FileSystem, Layer, Line, Name, Request, Result, Settling,
    Support,
};

/// A file system in memory that has no more than files and directories, and says `promised`.
struct Plain {
    memory: Memory,
    promised: Capabilities,
}

/// What [`Plain`] can do.
fn plain() -> Capabilities {
    Capabilities {
        changes: true,
        holes: Support::Present,
        allocate: Support::Unknown,
        clone: Support::Present,
        ..Capabilities::default()
    }
}

impl Layer for Plain {
    type Inner = Memory;

    fn inner(&self) -> &Memory {
        &self.memory
    }

    async fn around<T: Send>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let is_lacking = ["link", "make_symlink", "make_node"].contains(&name) || name.contains("xattr");
        if is_lacking { Err(Error::NotSupported) } else { call.await }
    }

    async fn create(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<Created<Node>> {
        match mode {
            CreateMode::Exclusive { .. } => Err(Error::NotSupported),
            _ => self.memory.create(request, dir, name, mode).await,
        }
    }

    async fn begin_create(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<(Created<Node>, Settling)> {
        Ok((Layer::create(self, request, dir, name, mode).await?, Settling::DONE))
    }

    fn capabilities(&self) -> Capabilities {
        self.promised
    }
}

/// Changes what is promised.
type Edit = fn(&mut Capabilities);

fn outcome(promised: Capabilities) -> Report {
    let make = || Plain { memory: Memory::new(MemoryOptions::default()).expect("memory"), promised };
    let options = Options { identities: true, devices: true, line: Line::default() };
    run(make, options).now_or_never().expect("memory never waits")
}

#[test]
fn back_end_without_the_optional_operations_conforms() {
    let report = outcome(plain());
    for (check, failure) in &report.failed {
        eprintln!("{check}: {failure}");
    }
    assert!(report.failed.is_empty(), "{} checks failed", report.failed.len());
    assert!(report.passed.len() > 60);
}

#[test]
fn each_promise_that_is_not_kept_fails() {
    let broken: [(&str, Edit); _] = [
        ("hard links", |can| can.hard_links = true),
        ("symlinks", |can| can.symlinks = true),
        ("special files", |can| can.special_files = true),
        ("xattrs", |can| can.xattrs = true),
        ("exclusive create", |can| can.exclusive_create = true),
        ("copy", |can| can.copy = Support::Present),
        ("watch", |can| can.watch = true),
    ];
    for (what, promise) in broken {
        let mut promised = plain();
        promise(&mut promised);
        assert!(!outcome(promised).failed.is_empty(), "{what} are promised and missing");
    }
}

#[test]
fn each_operation_that_is_not_promised_fails() {
    let hidden: [(&str, Edit); _] = [
        ("holes", |can| can.holes = Support::Absent),
        ("allocate", |can| can.allocate = Support::Absent),
        ("clone", |can| can.clone = Support::Absent),
        ("changes", |can| can.changes = false),
    ];
    for (what, hide) in hidden {
        let mut promised = plain();
        hide(&mut promised);
        assert!(!outcome(promised).failed.is_empty(), "{what} work and are not promised");
    }
}
