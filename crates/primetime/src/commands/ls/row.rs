//! One entry of a list.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use client::{Attributes, DirEntry, FileType, Url};
use serde::Serialize;

use crate::failure::Failure;
use crate::remote::text::{escaped, type_name};
use crate::remote::time::rfc3339;
use crate::remote::{End, remote_path};

/// An object that is shown.
#[derive(Debug)]
pub(crate) struct Entry {
    /// What it is shown as.
    pub(crate) name: Bytes,
    address: Address,
    /// What is known of it, if the server has said.
    pub(crate) attributes: Option<Attributes>,
    /// Where a symbolic link leads.
    pub(crate) target: Option<Bytes>,
}

/// Where an object is. A long list holds many entries, so that they share what they can.
#[derive(Debug)]
enum Address {
    Own(Box<Url>),
    /// Under its name in the directory.
    In(Arc<Url>),
}

impl Entry {
    /// An object at an address of its own.
    pub(crate) fn given(name: Bytes, url: Url, attributes: Attributes, target: Option<Bytes>) -> Self {
        Self { name, address: Address::Own(Box::new(url)), attributes: Some(attributes), target }
    }

    /// An entry of a directory.
    pub(crate) fn of(directory: &Arc<Url>, entry: DirEntry) -> Self {
        Self {
            address: Address::In(Arc::clone(directory)),
            name: entry.name.into_bytes(),
            attributes: entry.attributes,
            target: None,
        }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> Url {
        match &self.address {
            Address::Own(url) => (**url).clone(),
            Address::In(directory) => remote_path::below(directory, &self.name),
        }
    }

    pub(crate) fn is_symlink(&self) -> bool {
        self.attributes.is_some_and(|known| known.kind == FileType::Symlink)
    }

    /// Its name as it is, or safe for a terminal.
    pub(crate) fn shown(&self, terminal: bool) -> Cow<'_, [u8]> {
        shown(&self.name, terminal)
    }
}

pub(super) fn shown(name: &[u8], terminal: bool) -> Cow<'_, [u8]> {
    match terminal {
        true => Cow::Owned(escaped(name).into_owned().into_bytes()),
        false => Cow::Borrowed(name),
    }
}

/// An object in JSON. Absent is what the server has not said.
#[derive(Serialize)]
struct Row<'a> {
    /// Bytes that are no UTF-8 are replaced; `url` has them all.
    name: Cow<'a, str>,
    url: String,
    #[serde(flatten)]
    known: Option<RowDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct RowDetails {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Octal digits.
    mode: String,
    links: u32,
    uid: u32,
    gid: u32,
    size_bytes: u64,
    used_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<(u32, u32)>,
    fsid: u64,
    fileid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<u64>,
    accessed: String,
    modified: String,
    changed: String,
}

/// An entry as a JSON object.
pub(crate) fn json(entry: &Entry) -> Result<String, End> {
    let row = Row {
        name: String::from_utf8_lossy(&entry.name),
        url: entry.url().to_string(),
        known: entry.attributes.as_ref().map(known),
        target: entry.target.as_ref().map(|target| String::from_utf8_lossy(target)),
    };
    Ok(serde_json::to_string(&row).map_err(Failure::refused)?)
}

fn known(of: &Attributes) -> RowDetails {
    let is_device = matches!(of.kind, FileType::Block | FileType::Character);
    RowDetails {
        kind: type_name(of.kind),
        mode: format!("{:04o}", of.mode),
        links: of.links,
        uid: of.uid,
        gid: of.gid,
        size_bytes: of.size,
        used_bytes: of.used,
        device: is_device.then_some(of.device),
        fsid: of.fsid,
        fileid: of.fileid,
        change: of.change,
        accessed: rfc3339(of.accessed),
        modified: rfc3339(of.modified),
        changed: rfc3339(of.changed),
    }
}
