//! How the kernel is told what came of its requests.

use std::time::Duration;

use bytes::Bytes;
use fuser::{
    Errno, FileAttr, FileHandle, FopenFlags, Generation, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyXattr,
};

use crate::errno::Result;
use crate::tree::Entry;

pub(crate) fn entry(reply: ReplyEntry) -> impl FnOnce(Result<Entry>) + Send + 'static {
    move |outcome| match outcome {
        Ok(entry) => {
            reply.entry_with_ttls(&entry.attributes_for, &entry.name_for, &entry.attributes, Generation(0));
        }
        Err(error) => reply.error(error),
    }
}

pub(crate) fn empty(reply: ReplyEmpty) -> impl FnOnce(Result<()>) + Send + 'static {
    move |outcome| match outcome {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

pub(crate) fn attributes(reply: ReplyAttr) -> impl FnOnce(Result<(FileAttr, Duration)>) + Send + 'static {
    move |outcome| match outcome {
        Ok((attributes, believed)) => reply.attr(&believed, &attributes),
        Err(error) => reply.error(error),
    }
}

pub(crate) fn data(reply: ReplyData) -> impl FnOnce(Result<Bytes>) + Send + 'static {
    move |outcome| match outcome {
        Ok(data) => reply.data(&data),
        Err(error) => reply.error(error),
    }
}

pub(crate) fn open(reply: ReplyOpen) -> impl FnOnce(Result<(FileHandle, FopenFlags)>) + Send + 'static {
    move |outcome| match outcome {
        Ok((handle, flags)) => reply.opened(handle, flags),
        Err(error) => reply.error(error),
    }
}

/// A size of 0 asks how much room is needed.
pub(crate) fn xattr(reply: ReplyXattr, size: u32) -> impl FnOnce(Result<Bytes>) + Send + 'static {
    move |outcome| match outcome {
        Ok(data) => match u32::try_from(data.len()) {
            Ok(length) if size == 0 => reply.size(length),
            Ok(length) if length <= size => reply.data(&data),
            _ => reply.error(Errno::ERANGE),
        },
        Err(error) => reply.error(error),
    }
}
