//! What the command shows on a terminal: progress while it measures, and the table and verdict at the end.
//!
//! Owns layout for terminals and for pipes. It decides nothing and computes nothing but text.

mod difference;
mod exhibit;
mod live;
mod progress;
mod style;
mod summary;
mod table;

pub use difference::difference;
pub use exhibit::exhibit;
pub(crate) use live::Watched;
pub(crate) use progress::Beginning;
pub use progress::Progress;
pub(crate) use progress::say;
pub use style::Style;
pub use summary::summary;
pub(crate) use table::{align_right, finished, new_table, printable};
