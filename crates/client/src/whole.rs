//! Whole files, as `std::fs::read` and `std::fs::write` have them.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::nfs4;
use crate::node::Node;
use crate::open::OpenOptions;
use crate::protocol::Protocol;
use crate::shared::Shared;

impl Shared {
    /// Everything that is in a file.
    pub(crate) async fn read_file(self: &Arc<Self>, start: &Arc<Node>, path: &[u8]) -> Result<Bytes> {
        let file = self.open(start, path, &OpenOptions::new().read(true)).await?;
        let size = file.metadata().await?.size;
        let length = usize::try_from(size).map_err(|_| Error::Usage("the file is too large for memory"))?;
        let data = file.read_at(0, length).await?;
        file.close().await?;
        Ok(data)
    }

    /// Makes `data` the whole content of a file, which is made if there is none. They are on stable storage
    /// then.
    pub(crate) async fn write_file(
        self: &Arc<Self>,
        start: &Arc<Node>,
        path: &[u8],
        data: Bytes,
        mode: u32,
    ) -> Result<()> {
        self.check_writable()?;
        if let Protocol::V4(mount) = self.protocol()
            && data.len() <= self.limits().write_bytes_max as usize
        {
            let (dir, name) = self.resolve_parent(start, path).await?;
            self.settle_name(&dir, &name).await;
            if nfs4::write_file(self, mount, (&dir, &name), &data, mode).await? {
                return Ok(());
            }
        }
        let options = OpenOptions::new().write(true).create(true).truncate(true).mode(mode);
        let file = self.open(start, path, &options).await?;
        file.write_at(0, data).await?;
        file.close().await
    }
}
