//! File attributes of NFSv4 (`fattr4`, RFC 8881 §5): their numbers, types and encoding.

mod bitmap;
mod types;
mod values;

pub use bitmap::{Bitmap, Numbers};
pub use types::{
    ChangeAttrType, FileType, FsId, MaskedMode, OpenArguments, Principal, SetTime, SpecData, charset,
};
pub use values::{AttributeError, AttributeId, AttributeValues};
