//! What READDIR and READDIRPLUS share: the cookie verifier, and the loop that fills a reply page by page.

use proto::nfs3::{CookieVerifier, EntryListWriter, Status};
use vfs::{DirEntry, FileSystem};

use super::object::Object;
use super::status;
use crate::pages::{FIRST_ENTRIES_MAX, PAGE_ENTRIES_MAX, TURN_ENTRIES};
use crate::runtime::{StartedFuture, begin, give_way};

/// Back ends keep cookies valid while entries come and go, so one verifier serves always (RFC 1813 §3.3.16).
pub(super) const VERIFIER: CookieVerifier = CookieVerifier([0; 8]);
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
    /// What an entry usually takes of the reply, in bytes: a guess, so that little more is asked for than
    /// fits.
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
    let room = writer.body_bytes_left();
    let read = |cookie, count| dir.fs().read_dir(dir.request(), &dir.node, cookie, count, plan.objects);
    let mut begun = None;
    let eof = 'pages: loop {
        let written = room - writer.body_bytes_left();
        let entry_bytes = written.checked_div(writer.entries()).unwrap_or(plan.entry_bytes);
        let most = if writer.entries() == 0 { FIRST_ENTRIES_MAX } else { PAGE_ENTRIES_MAX };
        let page = match begun.take() {
            Some(page) => StartedFuture::finish(page).await,
            None => read(cookie, page_entries(&writer, 0, entry_bytes).clamp(1, most)).await,
        };
        let page = page.map_err(|error| match error {
            // The cookie is all that can be wrong with the question.
            vfs::Error::Invalid => Status::BadCookie,
            other => status::of_finding(other),
        })?;
        // A back end that says neither "more" nor "end" must not keep us here.
        let ended = page.eof || page.entries.is_empty();
        // The next are looked for while these are written, if there will be room for some.
        let count = page_entries(&writer, page.entries.len(), entry_bytes).min(PAGE_ENTRIES_MAX);
        if let Some(last) = page.entries.last().filter(|_| !ended && count > 0 && writer.entries() > 0) {
            writer.reserve();
            begun = Some(begin(read(last.cookie, count)).await);
        }
        for entry in page.entries {
            if writer.entries() >= turn_end {
                turn_end = writer.entries() + TURN_ENTRIES;
                give_way().await;
            }
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

/// How many entries probably fit behind those that are about to be written.
fn page_entries(writer: &EntryListWriter<'_>, about_to_be: usize, entry_bytes: usize) -> usize {
    let in_body = writer.body_bytes_left() / entry_bytes;
    let in_directory = writer.directory_bytes_left() / NAME_ENTRY_BYTES;
    in_body.min(in_directory).saturating_sub(about_to_be)
}
