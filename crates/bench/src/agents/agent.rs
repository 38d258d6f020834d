//! An agent: carries out what it is told, one benchmark after the other.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};

use super::channel::{Receiver, Sender, channel, over_tcp};
use super::clock::nanos;
use super::job::{self, Line};
use super::message::{Answer, Order};
use super::secret::Secret;
use crate::results::Host;
use crate::runner::Counted;

/// Who cannot prove within this time that it knows the secret is sent away.
const ADMITTED_WITHIN: Duration = Duration::from_secs(10);
/// Who tries to at the same time.
const STRANGERS_MAX: usize = 16;
/// Orders on their way: nobody sends one before the last is answered.
const ORDERS_MAX: usize = 16;

/// An agent for who has started it, by its standard input and output. Ends with its input.
///
/// # Errors
/// When it cannot write.
pub async fn serve_stdio(version: &str) -> io::Result<()> {
    let (to, from) = channel(tokio::io::stdin(), tokio::io::stdout());
    converse(version, to, from).await
}

/// An agent at a port, for whoever knows the secret; one benchmark at a time, the next waits. `told` hears
/// where it listens.
///
/// # Errors
/// When it cannot listen there.
pub async fn serve(
    listen: SocketAddr,
    secret: Secret,
    version: &str,
    told: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    told(listener.local_addr()?);
    let (one, strangers) = (Arc::new(tokio::sync::Mutex::new(())), Arc::new(Semaphore::new(STRANGERS_MAX)));
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(stranger) = Arc::clone(&strangers).try_acquire_owned() else { continue };
        let (secret, version, one) = (secret.clone(), version.to_owned(), Arc::clone(&one));
        tokio::spawn(async move {
            let Ok((mut to, mut from)) = over_tcp(stream) else { return };
            let admitted = tokio::time::timeout(ADMITTED_WITHIN, secret.admit(&mut to, &mut from)).await;
            drop(stranger);
            if !matches!(admitted, Ok(Ok(true))) {
                tracing::warn!(%peer, "somebody who does not know the secret was sent away");
                return;
            }
            let _one_at_a_time = one.lock().await;
            if let Err(error) = converse(&version, to, from).await {
                tracing::info!(%peer, %error, "a benchmark is gone");
            }
        });
    }
}

async fn converse(version: &str, mut to: Sender, from: Receiver) -> io::Result<()> {
    let origin = Instant::now();
    to.send(&Answer::Hello { version: version.to_owned(), host: Host::this() }).await?;
    let (mut orders, mut gone) = read(from);
    while let Some(order) = orders.recv().await {
        let answer = match order {
            Order::Ping => Answer::Pong { at_ns: nanos(origin.elapsed()) },
            Order::Look { exports } => Answer::Looked(Counted::look(Some(&exports))),
            Order::Work(job) => {
                let mut line = Line { to: &mut to, orders: &mut orders, gone: gone.clone(), origin };
                match job::carry_out(&job, &mut line).await {
                    Ok(Some(portions)) => Answer::Done(portions),
                    Ok(None) => return Ok(()),
                    Err(failure) => Answer::Failed { cause: failure.cause, wrong_data: failure.wrong_data },
                }
            }
            // For a run that has ended meanwhile.
            Order::Begin { .. } | Order::GoOn => continue,
        };
        to.send(&answer).await?;
        // Whoever is gone wants nothing more.
        if *gone.borrow_and_update() {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads while other things go on, so that the end of the stream is noticed at once.
fn read(mut from: Receiver) -> (mpsc::Receiver<Order>, watch::Receiver<bool>) {
    let (orders, received) = mpsc::channel(ORDERS_MAX);
    let (ended, gone) = watch::channel(false);
    tokio::spawn(async move {
        while let Ok(Some(order)) = from.receive::<Order>().await {
            if orders.send(order).await.is_err() {
                break;
            }
        }
        ended.send_replace(true);
    });
    (received, gone)
}
