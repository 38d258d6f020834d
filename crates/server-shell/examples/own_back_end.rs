//! Serves a back end that is written from nothing: a directory with one file, both for reading only.
//!
//! `cargo run -p primetime-server-shell --example own_back_end`, and `primetime ls` at the printed address.

#![allow(clippy::print_stdout)]

use server_shell::Server;
use vfs::{Attributes, DirPage, Error, FileKind, FileSystem, Handle, Name, ObjectId};
use vfs::{ReadDone, Request, Result};

const TEXT: &[u8] = b"Hello from a back end of our own.\n";

/// The back end.
pub struct Hello;

/// Its objects.
#[derive(Clone, Copy, PartialEq)]
pub enum Node {
    /// The root.
    Directory = 1,
    /// `hello` in it.
    File = 2,
}

impl FileSystem for Hello {
    type Node = Node;

    fn root(&self) -> Node {
        Node::Directory
    }

    /// The server adds what keeps clients from forging one.
    fn handle(&self, node: &Node) -> Handle {
        Handle::new(&[*node as u8]).expect("one byte fits a handle")
    }

    fn object_id(&self, node: &Node) -> ObjectId {
        ObjectId { fileid: *node as u64, generation: 0 }
    }

    async fn resolve(&self, _: Request<'_>, handle: &[u8]) -> Result<Node> {
        match handle {
            [1] => Ok(Node::Directory),
            [2] => Ok(Node::File),
            _ => Err(Error::BadHandle),
        }
    }

    async fn attributes(&self, _: Request<'_>, node: &Node) -> Result<Attributes> {
        Ok(match node {
            Node::Directory => Attributes::new(FileKind::Directory, 0o555, 1),
            Node::File => {
                Attributes { size: TEXT.len() as u64, ..Attributes::new(FileKind::Regular, 0o444, 2) }
            }
        })
    }

    async fn lookup(&self, request: Request<'_>, dir: &Node, name: Name<'_>) -> Result<(Node, Attributes)> {
        match (dir, name.as_bytes()) {
            (Node::File, _) => Err(Error::NotDirectory),
            (Node::Directory, b"hello") => Ok((Node::File, self.attributes(request, &Node::File).await?)),
            (Node::Directory, _) => Err(Error::NotFound),
        }
    }

    async fn lookup_parent(&self, _: Request<'_>, dir: &Node) -> Result<Node> {
        Err(if *dir == Node::File { Error::NotDirectory } else { Error::NotFound })
    }

    async fn read(
        &self,
        _: Request<'_>,
        node: &Node,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        match node {
            Node::Directory => Err(Error::IsDirectory),
            Node::File => Ok(ReadDone::from_slice(TEXT, offset, count, out)),
        }
    }

    async fn read_dir(
        &self,
        request: Request<'_>,
        dir: &Node,
        cookie: u64,
        entries_max: usize,
        _: bool,
    ) -> Result<DirPage<Node>> {
        if *dir == Node::File {
            return Err(Error::NotDirectory);
        }
        let file = ("hello".into(), Node::File, self.attributes(request, &Node::File).await?);
        Ok(DirPage::from_list([file], cookie, entries_max))
    }
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut server = Server::builder().export("/", Hello).serve().await?;
    println!("nfs://{}/", server.address());
    Ok(server.ended().await?)
}
