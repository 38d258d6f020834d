//! What READDIR and READDIRPLUS share: the cookie verifier, and the loop that fills a reply page by page.

use proto::nfs3::{CookieVerifier, EntryListWriter, Status};
use vfs::{DirEntry, FileSystem};

use super::object::Object;
use super::status;
use crate::runtime::give_way;

/// Back ends keep cookies valid while entries come and go, so one verifier serves always (RFC 1813 §3.3.16).
pub(super) const VERIFIER: CookieVerifier = CookieVerifier([0; 8]);
/// The most entries asked of the back end at once.
const PAGE_ENTRIES_MAX: usize = 256;
/// Entries that are written in one go, before others get their turn.
const TURN_ENTRIES: usize = 1024;
/// What an entry with a name of 16 bytes takes without attributes and handle.
pub(super) const NAME_ENTRY_BYTES: usize = 40;

/// Checks the verifier that came with `cookie`: one that this server never gave makes the cookie foreign.
pub(super) fn check_verifier(cookie: u64, verifier: CookieVerifier) -> Result<(), Status> {
    if cookie == 0 || verifier == VERIFIER { Ok(()) } else { Err(Status::BadCookie) }
}

/// What is read.
pub(super) struct Plan {
    /// Entries after this cookie.
    pub(super) cookie: u64,
    /// Ask for nodes and attributes.
    pub(super) objects: bool,
    /// What an entry usually takes of the reply, in bytes: a guess, so that little more is asked for than fits.
    pub(super) entry_bytes: usize,
}

/// Writes entries until the directory or the room ends.
///
/// Fails with NFS3ERR_TOOSMALL when there is an entry but not even one fits.
pub(super) async fn fill<F: FileSystem>(
    dir: &Object<'_, F>,
    plan: Plan,
    mut writer: EntryListWriter<'_>,
    mut push: impl FnMut(&mut EntryListWriter<'_>, DirEntry<F::Node>) -> bool,
) -> Result<(), Status> {
    let mut cookie = plan.cookie;
    let mut turn_end = TURN_ENTRIES;
    let eof = 'pages: loop {
        if writer.entries() >= turn_end {
            turn_end = writer.entries() + TURN_ENTRIES;
            give_way().await;
        }
        let count = page_entries(&writer, plan.entry_bytes);
        let page = dir.fs().read_dir(&dir.who, &dir.node, cookie, count, plan.objects).await;
        let page = page.map_err(|error| match error {
            // The cookie is all that can be wrong with the question.
            vfs::Error::Invalid => Status::BadCookie,
            other => status::of_finding(other),
        })?;
        // A back end that says neither "more" nor "end" must not keep us here.
        let ended = page.eof || page.entries.is_empty();
        for entry in page.entries {
            cookie = entry.cookie;
            if !push(&mut writer, entry) {
                break 'pages false;
            }
        }
        if ended {
            break true;
        }
    };
    let empty_handed = writer.entries() == 0 && !eof;
    if !writer.finish(eof) || empty_handed { Err(Status::TooSmall) } else { Ok(()) }
}

/// How many entries probably fit.
fn page_entries(writer: &EntryListWriter<'_>, entry_bytes: usize) -> usize {
    let in_body = writer.body_bytes_left() / entry_bytes;
    let in_directory = writer.directory_bytes_left() / NAME_ENTRY_BYTES;
    in_body.min(in_directory).clamp(1, PAGE_ENTRIES_MAX)
}
