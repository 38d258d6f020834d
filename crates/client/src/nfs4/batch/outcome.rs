//! The results of a COMPOUND of many items: what each has brought, and what is remembered of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{
    CommitResult, CreateResult, GetFhResult, LinkResult, OpenResult, Operation, ReadDirResult,
    ReadLinkResult, ReadResult, RemoveResult, RenameResult, StateId, Status, WriteResult,
};

use super::act;
use super::plan::Step;
use crate::error::{Error, Result};
use crate::items::{End, Entry, Existing, Ground, Item, Names, Output};
use crate::name::checked_target;
use crate::nfs4::Mount;
use crate::nfs4::compound::{Results, status_of};
use crate::nfs4::convert::effect;
use crate::nfs4::directories::raw_entry;
use crate::nfs4::state::{ServerOpen, newest};
use crate::node::{Handle, Node};
use crate::protocol::{Effect, FoundObject};

/// The pause before what the server was not ready for is sent again.
const PAUSE: Duration = Duration::from_millis(5);
/// The same while it takes state back from before its restart.
const GRACE_PAUSE: Duration = Duration::from_millis(500);

/// What is needed to read results.
pub(super) struct Reading<'a> {
    pub(super) ground: &'a Arc<Ground>,
    pub(super) mount: &'a Mount,
    /// When the request was sent.
    pub(super) asked: Instant,
    /// The number of the open-owner, if there is one, and the incarnation of the client.
    pub(super) owner: (Option<u64>, u64),
}

/// What an item has met.
enum Met {
    /// It goes by calls of its own.
    Alone,
    Failed(Error),
}

impl From<Error> for Met {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

type Acted = std::result::Result<Output, Met>;

impl Reading<'_> {
    pub(super) async fn take_apart(
        &self,
        mut results: Results,
        steps: &[(usize, Step)],
        entries: Vec<Entry>,
    ) -> Vec<End> {
        let mut steps = steps.iter().peekable();
        let mut ends = Vec::with_capacity(entries.len());
        let mut failed = false;
        // An open that could not be closed goes on using the number.
        let mut left_open = None;
        for (place, entry) in entries.into_iter().enumerate() {
            if failed {
                ends.push(End::Again(entry));
                continue;
            }
            let mut met = Ok(());
            while let Some((_, step)) = steps.next_if(|(item, step)| *item == place && *step != Step::Act) {
                met = met.and_then(|()| results.done(operation(step)));
            }
            steps.next();
            let acted = match met {
                Ok(()) => self.read(&mut results, &entry.item, &mut left_open),
                Err(error) => Err(Met::Failed(error)),
            };
            failed = acted.is_err();
            ends.push(self.judge(entry, acted).await);
        }
        match (left_open, self.owner) {
            (Some((handle, state_id)), (Some(owner), epoch)) => {
                let open = ServerOpen { owner, state_id, read: false, write: true, epoch };
                self.mount.close_later(Some(&handle), open).await;
            }
            (None, (Some(owner), _)) => self.mount.core.owners.lock().give_back(owner),
            _ => {}
        }
        ends
    }

    async fn judge(&self, mut entry: Entry, acted: Acted) -> End {
        let error = match acted {
            Ok(output) => return End::Done(entry.id, Ok(output)),
            Err(Met::Alone) => {
                entry.alone = true;
                return End::Again(entry);
            }
            Err(Met::Failed(error)) => error,
        };
        forget(self.ground, &entry.item);
        let waited = entry.since.elapsed() > self.mount.core.options.timeout;
        if status_of(&error) == Some(Status::Stale) {
            // Its directory, or one above, is another by now.
            for (dir, _) in entry.item.touches().iter().filter_map(|(at, _)| at.split_last()) {
                self.ground.forget(&dir);
            }
        }
        match status_of(&error) {
            Some(Status::Delay | Status::RecallConflict) if !waited => tokio::time::sleep(PAUSE).await,
            Some(Status::Grace) if !waited => tokio::time::sleep(GRACE_PAUSE).await,
            Some(status) if goes_alone(&entry.item, status) => entry.alone = true,
            _ => return End::Done(entry.id, Err(error)),
        }
        End::Again(entry)
    }

    fn read(&self, results: &mut Results, item: &Item, left_open: &mut Option<(Handle, StateId)>) -> Acted {
        let ground = self.ground;
        let shared = &ground.shared;
        match item {
            Item::Read { length, expected, .. } => {
                results.done(Operation::Lookup)?;
                let read: ReadResult = results.get(Operation::Read)?;
                shared.tap.data_read(read.data.len());
                // There is more than was thought.
                if !read.eof && (read.data.len() as u64) < *length {
                    return Err(Met::Alone);
                }
                if read.data.len() as u64 > *expected {
                    return Err(Error::misbehaved("READ", "more data than was asked for").into());
                }
                Ok(Output::Data(read.data))
            }
            Item::Write { .. } | Item::WriteRange { .. } => self.read_write(results, item, left_open),
            Item::Attributes { at } => {
                results.done(Operation::Lookup)?;
                let found = results.found()?;
                self.learn(at, &found);
                Ok(Output::Attributes(found.attributes))
            }
            Item::SetAttributes { .. } => {
                results.done(Operation::Lookup)?;
                let handle: GetFhResult = results.get(Operation::GetFh)?;
                let _: Bitmap = results.get(Operation::SetAttr)?;
                if let Some(node) = shared.nodes.find(&Handle(handle.object.0)) {
                    node.state.lock().known.doubt(Instant::now());
                }
                Ok(Output::Done)
            }
            Item::MakeDirectory { at, .. } => {
                let created: CreateResult = results.get(Operation::Create)?;
                self.changed(at, effect(&created.change));
                // It is made, whatever became of the question what it is like.
                if let Ok(found) = results.found() {
                    let node = self.learn(at, &found);
                    ground.keep(at, &node);
                }
                Ok(Output::Done)
            }
            Item::Symlink { at, .. } => {
                let created: CreateResult = results.get(Operation::Create)?;
                self.changed(at, effect(&created.change));
                Ok(Output::Done)
            }
            Item::ReadLink { .. } => {
                results.done(Operation::Lookup)?;
                let target: ReadLinkResult = results.get(Operation::ReadLink)?;
                Ok(Output::Data(checked_target(target.link)?))
            }
            Item::Remove { at, .. } => {
                let removed: RemoveResult = results.get(Operation::Remove)?;
                self.changed(at, effect(&removed.change));
                Ok(Output::Done)
            }
            Item::Rename { from, to } => {
                let renamed: RenameResult = results.get(Operation::Rename)?;
                self.changed(from, effect(&renamed.source));
                self.changed(to, effect(&renamed.target));
                Ok(Output::Done)
            }
            Item::Link { source, at, .. } => {
                let linked: LinkResult = results.get(Operation::Link)?;
                self.changed(at, effect(&linked.change));
                if let Some(node) = self.remembered(source) {
                    node.state.lock().known.doubt(Instant::now());
                }
                Ok(Output::Done)
            }
            Item::List { at } => self.read_list(results, at),
            Item::Copy { .. } | Item::Fill { .. } | Item::Drain { .. } => Err(Met::Alone),
        }
    }

    fn read_write(
        &self,
        results: &mut Results,
        item: &Item,
        left_open: &mut Option<(Handle, StateId)>,
    ) -> Acted {
        let nothing = crate::SetAttributes::default();
        let (at, data, set) = match item {
            Item::Write { at, data, set, .. } => (at, data, set),
            Item::WriteRange { at, data, .. } => (at, data, &nothing),
            _ => return Err(Met::Alone),
        };
        let opened: OpenResult = results.get(Operation::Open)?;
        if matches!(item, Item::Write { .. }) {
            self.changed(at, effect(&opened.change));
        }
        let handle: GetFhResult = results.get(Operation::GetFh)?;
        let handle = Handle(handle.object.0);
        if let Some(node) = self.ground.shared.nodes.find(&handle) {
            let mut state = node.state.lock();
            state.writes += 1;
            state.known.forget_content();
            state.known.doubt(Instant::now());
        }
        *left_open = Some((handle, newest(opened.state_id)));
        let mut verifier = None;
        if !data.is_empty() || matches!(item, Item::WriteRange { .. }) {
            let written: WriteResult = results.get(Operation::Write)?;
            verifier = Some(written.verifier);
            if written.count as usize != data.len() {
                return Err(Met::Alone);
            }
        }
        if act::commits(set) {
            let _: Bitmap = results.get(Operation::SetAttr)?;
            let committed: CommitResult = results.get(Operation::Commit)?;
            if verifier.is_some_and(|verifier| verifier != committed.verifier) {
                // The server has lost the data in between.
                return Err(Met::Alone);
            }
        }
        let _: StateId = results.get(Operation::Close)?;
        *left_open = None;
        Ok(Output::Done)
    }

    fn read_list(&self, results: &mut Results, at: &Names) -> Acted {
        let directory = results.attributes()?;
        let page: ReadDirResult = results.get(Operation::ReadDir)?;
        if !page.eof {
            return Err(Met::Alone);
        }
        let shared = &self.ground.shared;
        let (node, rest) = self.ground.nearest(at);
        if rest.is_empty() {
            shared.learn(&node, directory, self.asked);
        }
        let raw = page.entries.into_iter().map(raw_entry).collect();
        let entries = shared.learn_entries(raw, rest.is_empty().then_some(&node), self.asked);
        self.ground.listed(at, &entries);
        Ok(Output::Entries(entries.into_iter().map(|(entry, _)| entry).collect()))
    }

    /// The directory that holds `at` was changed by us.
    fn changed(&self, at: &Names, effect: Effect) {
        if let Some((dir, name)) = known_place(self.ground, at) {
            self.ground.shared.forget_name(&dir, &name);
            self.ground.shared.learn_effect(&dir, effect, self.asked);
        }
    }

    fn learn(&self, at: &Names, found: &FoundObject) -> Arc<Node> {
        let node = self.ground.shared.learn_found(found, self.asked);
        if let Some((dir, name)) = known_place(self.ground, at) {
            self.ground.shared.set_name(&dir, &name, Some(&node), true);
        }
        node
    }

    fn remembered(&self, at: &Names) -> Option<Arc<Node>> {
        let (dir, name) = known_place(self.ground, at)?;
        self.ground.shared.remembered_name(&dir, &name).flatten()
    }
}

fn known_place(ground: &Ground, at: &Names) -> Option<(Arc<Node>, bytes::Bytes)> {
    let (dir, name) = at.split_last()?;
    let (dir, rest) = ground.nearest(&dir);
    rest.is_empty().then_some((dir, name))
}

/// After a failure nothing is sure: names may be there or not.
pub(super) fn forget(ground: &Ground, item: &Item) {
    if !item.modifies() {
        return;
    }
    for (at, _) in item.touches() {
        if let Some((dir, name)) = known_place(ground, &at) {
            let failed: Result<()> = Err(Error::Skipped);
            let _ = ground.shared.or_forget(&dir, &name, failed);
        }
    }
}

fn operation(step: &Step) -> Operation {
    match step {
        Step::PutFh(_) => Operation::PutFh,
        Step::Lookup(_) => Operation::Lookup,
        Step::SaveFh => Operation::SaveFh,
        Step::RestoreFh | Step::Act => Operation::RestoreFh,
    }
}

/// What calls of its own can do better: follow a link, look a directory up again, remove what is in the way,
/// be shorter.
fn goes_alone(item: &Item, status: Status) -> bool {
    let replaces = match item {
        Item::Write { existing, .. } | Item::Symlink { existing, .. } | Item::Link { existing, .. } => {
            *existing == Existing::Replace
        }
        _ => false,
    };
    let reads = matches!(item, Item::Read { .. });
    match status {
        Status::Symlink | Status::NotDirectory | Status::WrongType | Status::Stale => true,
        Status::RequestTooBig
        | Status::ReplyTooBig
        | Status::ReplyTooBigToCache
        | Status::TooManyOperations
        | Status::TooSmall
        | Status::Resource => true,
        Status::Exists => replaces,
        Status::Invalid => reads,
        _ => false,
    }
}
