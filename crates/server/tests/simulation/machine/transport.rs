//! How a machine sends: until there is a reply, with the same bytes, over one connection after the other.

use bytes::Bytes;

use super::{Effect, Machine, Out, Phase, Wake};
use crate::action::{Life, Request};
use crate::history::What;
use crate::wire;

/// How long a client waits for a reply before it does something.
const PATIENCE_MS: u64 = 6000;

/// A request without an answer.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) tag: u64,
    pub(super) request: Request,
    bytes: Bytes,
    /// The number of the last attempt to send it.
    pub(super) attempt: u64,
}

impl Machine {
    pub(super) fn wake(&self, out: &mut Out<'_>, after_ms: u64, wake: Wake) {
        let at_ms = out.clock.now() + after_ms;
        out.effects.push(Effect::Wake { at_ms, life: self.life, wake });
    }

    pub(super) fn connect(&mut self, out: &mut Out<'_>) {
        self.connection = out.number();
        out.effects.push(Effect::Connect(self.connection));
    }

    pub(super) fn send(&self, request: Request, out: &mut Out<'_>) -> Pending {
        let tag = out.number();
        let bytes = wire::encode(&request);
        out.history.requests.insert(tag, (self.life, request.clone()));
        let mut pending = Pending { tag, bytes, request, attempt: 0 };
        transmit(self.life, self.connection, &mut pending, out);
        pending
    }

    /// What was not answered yet.
    fn unanswered(&mut self) -> impl Iterator<Item = &mut Pending> {
        let slots = self.slots.iter_mut().filter_map(|slot| slot.pending.as_mut());
        self.binds.iter_mut().chain(&mut self.control).chain(slots)
    }

    pub(super) fn on_impatient(&mut self, tag: u64, attempt: u64, out: &mut Out<'_>) {
        let (life, connection) = (self.life, self.connection);
        let is_last = |pending: &&mut Pending| pending.tag == tag && pending.attempt == attempt;
        let Some(pending) = self.unanswered().find(is_last) else { return };
        if out.random.chance(500) {
            transmit(life, connection, pending, out);
        } else {
            out.effects.push(Effect::Close(self.connection));
            self.reconnect(out);
        }
    }

    pub fn on_closed(&mut self, connection: u64, out: &mut Out<'_>) {
        if connection == self.connection && self.phase != Phase::Dead {
            self.reconnect(out);
        }
    }

    /// A new connection: for callbacks too, and for everything that was not answered.
    fn reconnect(&mut self, out: &mut Out<'_>) {
        self.connect(out);
        self.binds.clear();
        let (life, connection) = (self.life, self.connection);
        for pending in self.unanswered() {
            transmit(life, connection, pending, out);
        }
        if matches!(self.phase, Phase::Reclaiming | Phase::Completing | Phase::Working) {
            let sessions = self.sessions.clone();
            self.binds.extend(
                sessions
                    .into_iter()
                    .map(|session| self.send(Request::Bind { session }, out))
                    .collect::<Vec<_>>(),
            );
        }
    }

    /// A reply arrives, perhaps a second time or for a request that does not matter any more.
    pub fn on_reply(&mut self, tag: u64, reply: &Bytes, out: &mut Out<'_>) {
        if let Some(pending) = self.control.take_if(|pending| pending.tag == tag) {
            out.log(What::Received { tag });
            let outcome = wire::decode(&pending.request, reply);
            self.on_control(&pending.request, outcome, out);
        } else if let Some(index) = self.binds.iter().position(|pending| pending.tag == tag) {
            self.binds.remove(index);
        } else {
            self.on_slot_reply(tag, reply, out);
        }
    }
}

fn transmit(life: Life, connection: u64, pending: &mut Pending, out: &mut Out<'_>) {
    let (tag, bytes) = (pending.tag, pending.bytes.clone());
    pending.attempt = out.number();
    out.log(What::Sent { tag });
    out.effects.push(Effect::Send { connection, tag, bytes });
    let wake = Wake::Impatient { tag, attempt: pending.attempt };
    out.effects.push(Effect::Wake { at_ms: out.clock.now() + PATIENCE_MS, life, wake });
}
