//! A file system that fails, or does not end, when it is told to.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::Mutex;
use vfs::memory::Memory;
use vfs::{Capabilities, FileSystem, Layer, Result};

use super::kinds::Kind;

/// When to fail, shared with the test.
#[derive(Default)]
pub struct Trigger(Mutex<Plan>);

#[derive(Default)]
struct Plan {
    /// An error, and how many calls that may meet it are still spared.
    armed: Option<(&'static Kind, usize)>,
    /// The calls so far.
    calls: Vec<&'static str>,
    /// These calls do not end.
    stuck: Option<&'static str>,
    without_xattrs: bool,
}

impl Trigger {
    /// Of the calls that may meet an error of this kind, the one after the next `skip` does.
    pub fn arm(&self, kind: &'static Kind, skip: usize) {
        self.0.lock().armed = Some((kind, skip));
    }

    /// From now on objects have no extended attributes.
    pub fn take_xattrs_away(&self) {
        self.0.lock().without_xattrs = true;
    }

    fn is_without_xattrs(&self) -> bool {
        self.0.lock().without_xattrs
    }

    /// True once a call has failed.
    pub fn has_fired(&self) -> bool {
        self.0.lock().armed.is_none()
    }

    /// The calls since this was asked before.
    pub fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().calls)
    }

    /// Which calls do not end: of `write` before it has written, of those that look after the look. Whoever
    /// waits for one must look again by itself.
    pub fn set_stuck(&self, call: Option<&'static str>) {
        self.0.lock().stuck = call;
    }

    async fn end_of(&self, call: &'static str) {
        poll_fn(|_| if self.0.lock().stuck == Some(call) { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    fn check(&self, call: &'static str) -> Result<()> {
        let mut plan = self.0.lock();
        plan.calls.push(call);
        match &mut plan.armed {
            Some((kind, skip)) if kind.meets(call) => match skip.checked_sub(1) {
                Some(left) => *skip = left,
                None => {
                    let error = (kind.error)();
                    plan.armed = None;
                    return Err(error);
                }
            },
            _ => {}
        }
        Ok(())
    }
}

/// A file system in memory, with a [`Trigger`].
pub struct Faulty {
    pub memory: Arc<Memory>,
    pub trigger: Arc<Trigger>,
}

impl Layer for Faulty {
    type Inner = Memory;

    fn inner(&self) -> &Memory {
        &self.memory
    }

    async fn around<T: Send>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let name = match name {
            "begin_create" => "create",
            "settled_attributes" => "attributes",
            other => other,
        };
        self.trigger.check(name)?;
        if name == "write" {
            self.trigger.end_of(name).await;
        }
        let outcome = call.await;
        if ["attributes", "lookup", "read_dir"].contains(&name) {
            self.trigger.end_of(name).await;
        }
        outcome
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { xattrs: !self.trigger.is_without_xattrs(), ..self.memory.capabilities() }
    }
}
