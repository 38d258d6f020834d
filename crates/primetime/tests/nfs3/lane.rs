//! One user's work in a directory of its own, and what must be there after it. Nobody else changes anything
//! there, so every status is known before the call: a call that ran twice, or not at all, shows at once or in
//! the end.

use std::collections::BTreeMap;

use proto::nfs3::*;
use xdr::Bytes;

use crate::peer::{Peer, place};
use crate::random::Random;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Directory,
    /// One of the lane's files, which may have several names.
    File(usize),
}

pub struct Lane {
    peer: Peer,
    random: Random,
    name: String,
    dir: FileHandle,
    /// What every file has been given: its handle, and its text.
    files: Vec<(FileHandle, String)>,
    names: BTreeMap<&'static str, What>,
    steps: u64,
}

impl Lane {
    pub fn new(mut peer: Peer, number: u64) -> Self {
        let name = format!("lane{number}");
        let attributes = SetAttributes { mode: Some(0o755), ..SetAttributes::default() };
        let root = peer.root();
        let dir = peer.ok(&MkDirArgs { place: place(root, &name), attributes }).object.unwrap();
        Self { peer, random: Random(number), name, dir, files: vec![], names: BTreeMap::new(), steps: 0 }
    }

    pub fn retries(&self) -> u64 {
        self.peer.retries
    }

    /// Below the export: every name, with the text that is in the file.
    pub fn expected(&self) -> BTreeMap<String, Option<String>> {
        let text = |what: &What| match what {
            What::Directory => None,
            What::File(file) => Some(self.files[*file].1.clone()),
        };
        let inside = self.names.iter().map(|(name, what)| (format!("{}/{name}", self.name), text(what)));
        inside.chain([(self.name.clone(), None)]).collect()
    }

    /// Does one thing to one name.
    pub fn step(&mut self) {
        self.steps += 1;
        let name = *self.random.pick(&NAMES);
        let status = match self.random.below(8) {
            0 | 1 => self.create(name),
            2 => self.make_dir(name),
            3 => self.remove(name),
            4 => self.remove_dir(name),
            5 => self.link(name),
            6 => self.rename(name),
            _ => self.append(name),
        };
        let (status, expected) = status;
        assert_eq!(status, expected, "{}, step {}, {name}: {:?}", self.name, self.steps, self.names);
    }

    fn place(&self, name: &str) -> DirOpArgs {
        place(self.dir, name)
    }

    fn create(&mut self, name: &'static str) -> (Status, Status) {
        let how = if self.random.below(3) == 0 {
            CreateHow::Exclusive(CreateVerifier(self.random.below(u64::MAX).to_be_bytes()))
        } else {
            CreateHow::Guarded(SetAttributes { mode: Some(0o600), ..SetAttributes::default() })
        };
        let reply = self.peer.call(&CreateArgs { place: self.place(name), how });
        let expected = if self.names.contains_key(name) { Status::Exists } else { Status::Ok };
        let status = reply.status();
        if let Reply::Ok(ok) = reply {
            self.names.insert(name, What::File(self.files.len()));
            self.files.push((ok.object.unwrap(), String::new()));
        }
        (status, expected)
    }

    fn make_dir(&mut self, name: &'static str) -> (Status, Status) {
        let attributes = SetAttributes { mode: Some(0o700), ..SetAttributes::default() };
        let reply = self.peer.call(&MkDirArgs { place: self.place(name), attributes });
        let expected = if self.names.contains_key(name) { Status::Exists } else { Status::Ok };
        if expected == Status::Ok {
            self.names.insert(name, What::Directory);
        }
        (reply.status(), expected)
    }

    fn remove(&mut self, name: &'static str) -> (Status, Status) {
        let reply = self.peer.call(&RemoveArgs { object: self.place(name) });
        let expected = match self.names.get(name) {
            None => Status::NoEntry,
            Some(What::Directory) => Status::IsDirectory,
            Some(What::File(_)) => Status::Ok,
        };
        if expected == Status::Ok {
            self.names.remove(name);
        }
        (reply.status(), expected)
    }

    fn remove_dir(&mut self, name: &'static str) -> (Status, Status) {
        let reply = self.peer.call(&RmDirArgs { object: self.place(name) });
        let expected = match self.names.get(name) {
            None => Status::NoEntry,
            Some(What::Directory) => Status::Ok,
            Some(What::File(_)) => Status::NotDirectory,
        };
        if expected == Status::Ok {
            self.names.remove(name);
        }
        (reply.status(), expected)
    }

    /// Gives the file called `name` another one.
    fn link(&mut self, name: &'static str) -> (Status, Status) {
        let Some(What::File(file)) = self.names.get(name).copied() else { return (Status::Ok, Status::Ok) };
        let other = *self.random.pick(&NAMES);
        let reply = self.peer.call(&LinkArgs { file: self.files[file].0, link: self.place(other) });
        let expected = if self.names.contains_key(other) { Status::Exists } else { Status::Ok };
        if expected == Status::Ok {
            self.names.insert(other, What::File(file));
        }
        (reply.status(), expected)
    }

    fn rename(&mut self, name: &'static str) -> (Status, Status) {
        let to = *self.random.pick(&NAMES);
        let reply = self.peer.call(&RenameArgs { from: self.place(name), to: self.place(to) });
        let (from, there) = (self.names.get(name).copied(), self.names.get(to).copied());
        let expected = match (from, there) {
            (None, _) => Status::NoEntry,
            (Some(What::File(_)), Some(What::Directory)) => Status::IsDirectory,
            (Some(What::Directory), Some(What::File(_))) => Status::NotDirectory,
            _ => Status::Ok,
        };
        if expected == Status::Ok && from != there {
            self.names.remove(name);
            self.names.insert(to, from.unwrap());
        } else if expected == Status::Ok && from == Some(What::Directory) && name != to {
            // One empty directory takes the place of another.
            self.names.remove(name);
        }
        (reply.status(), expected)
    }

    /// Adds a line to the file called `name`.
    fn append(&mut self, name: &'static str) -> (Status, Status) {
        let Some(What::File(file)) = self.names.get(name).copied() else { return (Status::Ok, Status::Ok) };
        let (handle, text) = &mut self.files[file];
        let line = format!("step {}\n", self.steps);
        let reply = self.peer.call(&WriteArgs {
            file: *handle,
            offset: text.len() as u64,
            count: line.len() as u32,
            stable: StableHow::FileSync,
            data: Bytes::copy_from_slice(line.as_bytes()),
        });
        text.push_str(&line);
        (reply.status(), Status::Ok)
    }
}
