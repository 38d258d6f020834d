//! Which file somebody means.

use server::exports::{ExportPath, ExportSet};
use state::FileId;
use vfs::{FileSystem, ObjectId, Request};

/// Finds a file by its path as clients see it, by its number and generation as lists have them, or by its
/// handle.
pub(super) async fn find<F: FileSystem>(exports: &ExportSet<F>, name: &str) -> Result<FileId, String> {
    if name.starts_with('/') {
        return by_path(exports, name).await;
    }
    if let Some((number, generation)) = name.split_once('.')
        && let (Ok(number), Ok(generation)) = (number.parse(), generation.parse())
    {
        return Ok(FileId(number, generation));
    }
    let handle = bytes_of(name)
        .ok_or_else(|| format!("`{name}` is no path, number or handle; a path begins with /"))?;
    let found = exports.find(Request::of_server(), &handle).await;
    let (export, node) = found.map_err(|error| format!("`{name}` is no handle of this server: {error}"))?;
    Ok(id(export.file_system().object_id(&node)))
}

/// The path is walked with the server's own rights, as nothing is shown of what is found. Symbolic links are
/// not followed.
async fn by_path<F: FileSystem>(exports: &ExportSet<F>, name: &str) -> Result<FileId, String> {
    let missing = |error: vfs::Error| format!("there is no file {name} here: {error}");
    let path = ExportPath::new(name.as_bytes()).map_err(missing)?;
    let (export, components) = exports.at(&path);
    let fs = export.file_system();
    let mut node = fs.root();
    for component in components {
        node = fs.lookup(Request::of_server(), &node, component).await.map_err(missing)?.0;
    }
    Ok(id(fs.object_id(&node)))
}

fn id(object: ObjectId) -> FileId {
    FileId(object.fileid, object.generation)
}

/// The bytes of hexadecimal digits.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let is_hexadecimal = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.is_empty() || !is_hexadecimal {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}
