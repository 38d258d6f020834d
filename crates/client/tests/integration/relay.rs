//! A relay between client and server whose connections can be cut.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

pub struct Relay {
    address: SocketAddr,
    cut: broadcast::Sender<()>,
}

impl Relay {
    pub async fn new(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, _) = broadcast::channel(1);
        let cuts = cut.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut cut = cuts.subscribe();
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(server).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = cut.recv() => {}
                    }
                });
            }
        });
        Self { address, cut }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every connection breaks.
    pub fn cut(&self) {
        let _ = self.cut.send(());
    }
}
