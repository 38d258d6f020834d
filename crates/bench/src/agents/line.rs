//! The connection of an agent to the benchmark that it works for, during a run.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::channel::Sender;
use super::message::{Answer, Order};
use crate::run_part::Conductor;

/// The most by which a sleep ends late. The agent spins for the rest of the time.
const SLEEP_LATE_MAX: Duration = Duration::from_millis(2);

/// The connection to the benchmark while a run is carried out.
pub(crate) struct Line<'a> {
    to: &'a mut Sender,
    orders: &'a mut mpsc::Receiver<Order>,
    /// Becomes true when the connection has ended.
    gone: watch::Receiver<bool>,
    /// When the agent's clock stood at zero.
    origin: Instant,
}

impl<'a> Line<'a> {
    pub(super) fn new(
        to: &'a mut Sender,
        orders: &'a mut mpsc::Receiver<Order>,
        gone: watch::Receiver<bool>,
        origin: Instant,
    ) -> Self {
        Self { to, orders, gone, origin }
    }

    /// When the agent's clock stood at zero.
    pub(crate) fn origin(&self) -> Instant {
        self.origin
    }

    /// Becomes true when the connection has ended.
    pub(crate) fn gone(&self) -> watch::Receiver<bool> {
        self.gone.clone()
    }

    async fn ask(&mut self, answer: &Answer) -> Option<Order> {
        self.to.send(answer).await.ok()?;
        self.orders.recv().await
    }
}

impl Conductor for Line<'_> {
    async fn ready(&mut self, _part: usize) {
        match self.ask(&Answer::Ready).await {
            Some(Order::Begin { at_ns }) => wait_until(self.origin + Duration::from_nanos(at_ns)).await,
            // The worker gives the run up when the connection has ended.
            _ => std::future::pending().await,
        }
    }

    async fn finished(&mut self, _part: usize) {
        if self.ask(&Answer::Finished).await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

async fn wait_until(moment: Instant) {
    if let Some(early) = moment.checked_sub(SLEEP_LATE_MAX) {
        tokio::time::sleep_until(early.into()).await;
    }
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}
