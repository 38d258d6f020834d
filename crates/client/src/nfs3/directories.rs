//! READDIRPLUS, and READDIR where a server does not have it.

use proto::nfs3;

use super::Mount;
use super::convert::{attributes, from_handle};
use super::transport::failure;
use crate::attributes::Attributes;
use crate::error::Result;
use crate::node::Handle;
use crate::protocol::{DirPosition, RawEntry, RawPage};

impl Mount {
    pub(crate) async fn read_dir(&self, dir: &Handle, at: DirPosition) -> Result<RawPage> {
        let handle = self.handle(dir)?;
        let args = nfs3::ReadDirPlusArgs {
            dir: handle,
            cookie: at.cookie,
            verifier: nfs3::CookieVerifier(at.verifier),
            dir_count: self.directory_bytes,
            max_count: self.directory_bytes,
        };
        let ok = match self.transport.reply(&args).await?.into_result() {
            Ok(ok) => ok,
            Err((nfs3::Status::NotSupported, _)) => return self.read_dir_plain(handle, at).await,
            Err((status, _)) => return Err(failure(nfs3::Procedure::ReadDirPlus, status)),
        };
        let last = ok.entries.0.last().map_or(at.cookie, |entry| entry.cookie);
        let entries = ok.entries.0.into_iter().map(|entry| {
            let known = entry.attributes.as_ref().map(attributes);
            let handle = entry.object.as_ref().map(from_handle);
            RawEntry { name: entry.name, fileid: entry.fileid, attributes: known, handle }
        });
        Ok(page(entries.collect(), ok.eof, last, ok.verifier, ok.dir.as_ref().map(attributes)))
    }

    async fn read_dir_plain(&self, dir: nfs3::FileHandle, at: DirPosition) -> Result<RawPage> {
        let args = nfs3::ReadDirArgs {
            dir,
            cookie: at.cookie,
            verifier: nfs3::CookieVerifier(at.verifier),
            count: self.directory_bytes,
        };
        let ok = self.transport.ok(&args).await?;
        let last = ok.entries.0.last().map_or(at.cookie, |entry| entry.cookie);
        let entries = ok.entries.0.into_iter().map(|entry| RawEntry {
            name: entry.name,
            fileid: entry.fileid,
            attributes: None,
            handle: None,
        });
        Ok(page(entries.collect(), ok.eof, last, ok.verifier, ok.dir.as_ref().map(attributes)))
    }
}

fn page(
    entries: Vec<RawEntry>,
    eof: bool,
    cookie: u64,
    verifier: nfs3::CookieVerifier,
    directory: Option<Attributes>,
) -> RawPage {
    let next = (!eof).then_some(DirPosition { cookie, verifier: verifier.0 });
    RawPage { entries, next, directory }
}
