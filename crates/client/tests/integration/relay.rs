//! A relay between client and server whose connections can be cut and held up.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};

pub struct Relay {
    address: SocketAddr,
    cut: broadcast::Sender<()>,
    blocked: watch::Sender<bool>,
    carrying: watch::Sender<usize>,
}

impl Relay {
    pub async fn new(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, _) = broadcast::channel(1);
        let blocked = watch::Sender::new(false);
        let carrying = watch::Sender::new(0);
        let (cuts, gate, count) = (cut.clone(), blocked.clone(), carrying.clone());
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (mut cut, mut gate, count) = (cuts.subscribe(), gate.subscribe(), count.clone());
                tokio::spawn(async move {
                    let carry = async {
                        if gate.wait_for(|blocked| !blocked).await.is_err() {
                            return;
                        }
                        let Ok(mut server) = TcpStream::connect(server).await else { return };
                        let _carried = Carried::begin(&count);
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    };
                    tokio::select! {
                        () = carry => {}
                        _ = cut.recv() => {}
                    }
                });
            }
        });
        Self { address, cut, blocked, carrying }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every connection breaks.
    pub fn cut(&self) {
        let _ = self.cut.send(());
    }

    /// Every connection breaks, and what is sent on those made anew gets nowhere.
    pub async fn block(&self) {
        self.blocked.send_replace(true);
        self.cut();
        self.carrying.subscribe().wait_for(|count| *count == 0).await.unwrap();
    }

    /// What was sent meanwhile arrives.
    pub fn unblock(&self) {
        self.blocked.send_replace(false);
    }
}

/// A connection that is carried, until it is dropped.
struct Carried<'a>(&'a watch::Sender<usize>);

impl<'a> Carried<'a> {
    fn begin(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Carried<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
