//! Requests that come again, and requests that only look so.

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs4::*;
use xdr::Encoder;

use super::machine::{SLOTS, Sent};
use super::{Input, MINOR_VERSION, Play, status};

impl Play {
    /// Sends a request again, over whatever connection there is now.
    pub(super) fn retry(&mut self, machine: usize, input: &mut Input<'_>) {
        let slot = input.below(SLOTS);
        let exists = |session| self.served.state.session(session).is_ok();
        if let Some(held) = self.pending.iter().find(|held| (held.machine, held.slot) == (machine, slot)) {
            let running = self.served.call(&self.machines[machine], held.sent.request.clone());
            match running.now_or_never() {
                // The retry waits for the first one to end.
                None => assert!(exists(held.sent.session), "a request under way is not begun again"),
                Some(reply) => assert_eq!(status(&reply), Status::BadSession),
            }
            return;
        }
        let Some(last) = &self.machines[machine].known_slot(slot).last else { return };
        let reply = self.again(machine, last);
        if !exists(last.session) {
            assert_eq!(status(&reply), Status::BadSession);
        } else if last.is_cached && !self.is_short {
            assert_eq!(Some(&reply), last.reply.as_ref(), "byte for byte");
        } else if last.is_cached {
            let is_same = Some(&reply) == last.reply.as_ref();
            assert!(is_same || status(&reply) == Status::RetryUncachedReply);
        } else {
            assert_eq!(status(&reply), Status::RetryUncachedReply);
        }
    }

    fn again(&self, machine: usize, sent: &Sent) -> Bytes {
        let from = &self.machines[machine];
        let running = self.served.call(from, sent.request.clone());
        running.now_or_never().expect("a retry is answered at once")
    }

    /// Sends another request under a number that was used, or a number that is not next.
    pub(super) fn lie(&mut self, machine: usize, input: &mut Input<'_>) {
        let slot = input.below(SLOTS);
        let from = &self.machines[machine];
        let mut sequence = from.sequence_args(slot, slot, true);
        let ahead = [0, 2, u32::MAX][input.below(3)];
        sequence.sequence = SequenceId(sequence.sequence.0.wrapping_sub(1).wrapping_add(ahead));
        let mut to = Encoder::new();
        let mut builder = CompoundBuilder::begin(&mut to, MINOR_VERSION);
        builder.push(Operation::Sequence, &sequence).push(Operation::GetFh, &());
        builder.finish();
        let reply = self.served.call(from, to.into_inner().into()).now_or_never();
        let status = status(&reply.expect("refused at once"));
        let is_same = status == Status::Ok || status == Status::RetryUncachedReply;
        assert!(!is_same, "it is neither new nor a retry");
        self.reach(Operation::Sequence, status);
    }
}
