//! Watching for what others do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::fixture::Fixture;
use super::{Failure, Outcome};
use crate::{Error, FileSystem, ObservedChange, Tell};

pub(super) async fn own_changes_are_not_reported_to_watches<F: FileSystem>(fixture: &Fixture<F>) -> Outcome {
    let told = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&told);
    let tell: Tell = Arc::new(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let fs = &fixture.fs;
    let file = fixture.file(&fixture.root, "f").await?;
    let watch = |node: &F::Node, least| fs.watch(node, least, &tell);
    let first = watch(&file, ObservedChange::Used)?;
    let second = watch(&file, ObservedChange::Changed)?;
    let of_root = watch(&fixture.root, ObservedChange::Changed)?;
    if [first.is_some(), second.is_some()] != [fixture.can.watch; 2] {
        return Err(Failure::new("a file is not watched as the capabilities say"));
    }
    drop(first);
    fixture.write(&file, 0, b"ours").await?;
    fixture.file(&fixture.root, "g").await?;
    // To be watched keeps no name, and a watch may outlast the file.
    fixture.remove(&fixture.root, "f").await?;
    let found = fixture.lookup(&fixture.root, "f").await;
    if !matches!(found, Err(Error::NotFound)) {
        return Err(Failure::new("it is still there"));
    }
    drop((second, of_root, file));
    match told.load(Ordering::SeqCst) {
        0 => Ok(()),
        times => Err(Failure::new(format!("told {times} times of what nobody else has done"))),
    }
}
