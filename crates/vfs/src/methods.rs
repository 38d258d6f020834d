//! The table of the methods of [`FileSystem`](crate::FileSystem), from which its wrappers are made.

/// Calls the macro `$callback` with a lifetime, a node type, and all methods. References in arguments have
/// the lifetime. Asynchronous methods are given without `Result` and `Future`. The word after `=` is the
/// function of `border::Border` that raises the nodes of the result, and of
/// `layer::RewriteAttributes` that changes its attributes.
macro_rules! methods {
    ($callback:ident, $life:lifetime, $node:ty) => {
        $callback! {
            $life
            immediate {
                fn root() -> $node = node;
                fn handle(node: &$life $node) -> Handle = same;
                fn object_id(node: &$life $node) -> ObjectId = same;
                fn write_verifier() -> [u8; 8] = same;
                fn watch(node: &$life $node, least: ObservedChange, tell: &$life Tell)
                    -> Result<Option<Watch>> = same;
                fn limits() -> Limits = same;
                fn capabilities() -> Capabilities = same;
                fn nameless_max() -> usize = same;
                fn sweep() -> () = same;
                fn set_descriptors_max(max: usize) -> () = same;
            }
            asynchronous {
                fn resolve(request: Request<$life>, handle: &$life [u8]) -> $node = node;
                fn attributes(request: Request<$life>, node: &$life $node) -> Attributes = attributes;
                fn settled_attributes(request: Request<$life>, node: &$life $node)
                    -> Option<Attributes> = optional;
                fn set_attributes(request: Request<$life>, node: &$life $node, set: &$life SetAttributes)
                    -> Attributes = attributes;
                fn access(request: Request<$life>, node: &$life $node, wanted: Access) -> Access = same;
                fn lookup(request: Request<$life>, dir: &$life $node, name: Name<$life>)
                    -> ($node, Attributes) = pair;
                fn lookup_parent(request: Request<$life>, dir: &$life $node) -> $node = node;
                fn read_link(request: Request<$life>, node: &$life $node) -> Bytes = same;
                fn read(
                    request: Request<$life>, node: &$life $node, offset: u64, count: usize,
                    out: &$life mut Vec<u8>
                ) -> ReadDone = same;
                fn write(
                    request: Request<$life>, node: &$life $node, offset: u64, data: Bytes,
                    stability: Stability
                ) -> Written = same;
                fn commit(request: Request<$life>, node: &$life $node, offset: u64, count: u64)
                    -> Committed = same;
                fn create(
                    request: Request<$life>, dir: &$life $node, name: Name<$life>, mode: &$life CreateMode
                ) -> Created<$node> = created;
                fn begin_create(
                    request: Request<$life>, dir: &$life $node, name: Name<$life>, mode: &$life CreateMode
                ) -> (Created<$node>, Settling) = begun;
                fn make_dir(
                    request: Request<$life>, dir: &$life $node, name: Name<$life>, set: &$life SetAttributes
                ) -> ($node, Attributes) = pair;
                fn make_symlink(
                    request: Request<$life>, dir: &$life $node, name: Name<$life>, target: &$life [u8],
                    set: &$life SetAttributes
                ) -> ($node, Attributes) = pair;
                fn make_node(
                    request: Request<$life>, dir: &$life $node, name: Name<$life>, kind: NodeKind,
                    set: &$life SetAttributes
                ) -> ($node, Attributes) = pair;
                fn link(request: Request<$life>, node: &$life $node, dir: &$life $node, name: Name<$life>)
                    -> () = same;
                fn remove(request: Request<$life>, dir: &$life $node, name: Name<$life>, kind: RemoveKind)
                    -> () = same;
                fn rename(
                    request: Request<$life>, from_dir: &$life $node, from: Name<$life>,
                    to_dir: &$life $node, to: Name<$life>
                ) -> () = same;
                fn read_dir(
                    request: Request<$life>, dir: &$life $node, cookie: u64, entries_max: usize, objects: bool
                ) -> DirPage<$node> = page;
                fn seek(request: Request<$life>, node: &$life $node, offset: u64, what: Content)
                    -> Option<u64> = same;
                fn allocate(request: Request<$life>, node: &$life $node, offset: u64, length: u64)
                    -> () = same;
                fn deallocate(request: Request<$life>, node: &$life $node, offset: u64, length: u64)
                    -> () = same;
                fn copy(request: Request<$life>, source: &$life $node, target: &$life $node, span: Span)
                    -> Written = same;
                fn clone_range(
                    request: Request<$life>, source: &$life $node, target: &$life $node, span: Span
                ) -> () = same;
                fn get_xattr(request: Request<$life>, node: &$life $node, name: XattrName<$life>)
                    -> Bytes = same;
                fn set_xattr(
                    request: Request<$life>, node: &$life $node, name: XattrName<$life>, value: &$life [u8],
                    mode: XattrMode
                ) -> () = same;
                fn list_xattrs(request: Request<$life>, node: &$life $node) -> Vec<Bytes> = same;
                fn remove_xattr(request: Request<$life>, node: &$life $node, name: XattrName<$life>)
                    -> () = same;
                fn stat_fs(request: Request<$life>, node: &$life $node) -> StatFs = same;
            }
        }
    };
}
pub(crate) use methods;

#[cfg(test)]
mod tests {
    /// The names of the functions that a text declares.
    fn functions(text: &'static str) -> Vec<&'static str> {
        let lines = text.lines().map(str::trim);
        lines.filter_map(|line| line.strip_prefix("fn ")?.split(['(', '<']).next()).collect()
    }

    /// A method that is missing here and has a default would be that default in every wrapper.
    #[test]
    fn table_has_every_method_of_the_trait() {
        let (_, definition) = include_str!("file_system.rs").split_once("pub trait FileSystem").unwrap();
        let (table, _) = include_str!("methods.rs").split_once("#[cfg(test)]").unwrap();
        let (mut table, mut methods) = (functions(table), functions(definition));
        assert!(methods.len() > 30, "{methods:?}");
        table.sort_unstable();
        methods.sort_unstable();
        assert_eq!(table, methods);
    }
}
