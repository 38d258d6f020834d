//! Space of files: reserving it, giving it back, and finding what was never written (RFC 7862).

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use proto::nfs4::DataContent;

use crate::error::{Error, Result};
use crate::file::OpenFile;

/// What becomes of the space of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Reserved,
    GivenBack,
}

impl OpenFile {
    /// Reserves the space of a range, or makes a hole of it.
    pub(crate) async fn change_space(self: &Arc<Self>, range: Range<u64>, space: Space) -> Result<()> {
        let operation = match space {
            Space::Reserved => "ALLOCATE",
            Space::GivenBack => "DEALLOCATE",
        };
        let shared = &self.shared;
        shared.check_writable()?;
        let mount = shared.minor_version_2(operation)?;
        if range.is_empty() {
            return Err(Error::Usage("the range is empty"));
        }
        if space == Space::Reserved {
            shared.check_size(&self.node, operation, range.end)?;
        }
        // What was written before must not arrive, or arrive again, in what is a hole then.
        self.flush().await?;
        shared.forget_data(&self.node, range.clone());
        let asked = Instant::now();
        let effect = mount.change_space(self, &range, space).await?;
        shared.learn_effect(&self.node, effect, asked);
        shared.forget_data(&self.node, range);
        Ok(())
    }

    /// Where the next data or hole begins.
    pub(crate) async fn seek(self: &Arc<Self>, offset: u64, what: DataContent) -> Result<Option<u64>> {
        let mount = self.shared.minor_version_2("SEEK")?;
        self.shared.write_out(&self.node).await;
        mount.seek(self, offset, what).await
    }
}
