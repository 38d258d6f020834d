//! A back end of an export: a file system of its own, or the directories that lead to the others.

use vfs::Either;

use super::pseudo::PseudoTree;

/// A file system of its own on the left, or the directories that lead to exports on the right.
pub type BackEnd<F> = Either<F, PseudoTree>;
