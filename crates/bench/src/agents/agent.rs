//! An agent: carries out the orders of one benchmark after the other.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};

use super::channel::{Receiver, Sender, channel, over_tcp};
use super::clock::nanos;
use super::line::Line;
use super::message::{Answer, Order};
use super::secret::Secret;
use super::worker::Worker;
use crate::host_load::Counted;
use crate::results::Host;

/// Who cannot prove within this time that it knows the secret is sent away.
const ADMITTED_WITHIN: Duration = Duration::from_secs(10);
/// Who tries to at the same time.
const STRANGERS_MAX: usize = 16;
/// Orders on their way: nobody sends one before the last is answered.
const ORDERS_MAX: usize = 16;

/// Serves one benchmark through standard input and output. Ends with its input.
///
/// # Errors
/// When it cannot write.
pub(crate) async fn serve_stdio(worker: impl Worker, version: &str) -> io::Result<()> {
    let (to, from) = channel(tokio::io::stdin(), tokio::io::stdout());
    converse(worker, version, to, from).await
}

/// Serves benchmarks that know the secret at an address, one at a time; others wait. Calls `on_listening`
/// with the address.
///
/// # Errors
/// When it cannot listen there.
pub(crate) async fn serve(
    worker: impl Worker,
    listen: SocketAddr,
    secret: Secret,
    version: &str,
    on_listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    on_listening(listener.local_addr()?);
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
            if let Err(error) = converse(worker, &version, to, from).await {
                tracing::info!(%peer, %error, "a benchmark is gone");
            }
        });
    }
}

async fn converse(worker: impl Worker, version: &str, mut to: Sender, from: Receiver) -> io::Result<()> {
    let origin = Instant::now();
    to.send(&Answer::Hello { version: version.to_owned(), host: Host::this() }).await?;
    let (mut orders, mut gone) = read(from);
    while let Some(order) = orders.recv().await {
        let answer = match order {
            Order::Ping => Answer::Pong { at_ns: nanos(origin.elapsed()) },
            Order::Look { exports } => Answer::Looked(Counted::look(Some(&exports))),
            Order::Work(job) => {
                let mut line = Line::new(&mut to, &mut orders, gone.clone(), origin);
                match worker.work(&job, &mut line).await {
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
