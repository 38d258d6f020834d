//! A client as far as it must remember: its session, and what it sent last in each slot.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::*;
use xdr::Decoder;

use super::Input;
use super::operations::Known;
use super::world::{Line, World};

/// Slots that a machine uses.
pub const SLOTS: usize = 12;

/// A request that was sent.
pub struct Sent {
    pub request: Bytes,
    operations: Vec<Operation>,
    pub session: SessionId,
    pub sequence: u32,
    pub is_cached: bool,
    pub reply: Option<Bytes>,
}

impl Sent {
    pub fn new(request: Bytes, operations: Vec<Operation>, sequence: &SequenceArgs) -> Self {
        let (session, is_cached) = (sequence.session, sequence.cache_this);
        Self { request, operations, session, sequence: sequence.sequence.0, is_cached, reply: None }
    }

    /// True when SEQUENCE succeeded.
    pub fn sequenced(&self, reply: &Bytes) -> bool {
        let mut reader = CompoundReader::new(Decoder::new(reply.clone())).expect("well-formed");
        reader.next(Operation::Sequence).expect("well-formed").is_ok()
    }

    /// Reads the reply to its end. The operations that were reached, and how they ended.
    pub fn check(&self, machine: usize, reply: &Bytes, known: &mut Known) -> Vec<(Operation, Status)> {
        let mut from = Decoder::new(reply.clone());
        let status: Status = from.get().expect("well-formed");
        from.opaque(1024).expect("well-formed");
        let count = from.u32().expect("well-formed") as usize;
        assert!((1..=self.operations.len()).contains(&count));
        let mut reached = Vec::new();
        for (index, operation) in self.operations[..count].iter().enumerate() {
            assert_eq!(from.u32().expect("well-formed"), operation.number());
            let outcome: Status = from.get().expect("well-formed");
            reached.push((*operation, outcome));
            if outcome == Status::Ok {
                known.learn(machine, *operation, &mut from).expect("well-formed");
                continue;
            }
            assert_eq!((outcome, index + 1), (status, count), "the first failure ends it");
            match operation {
                Operation::Lock | Operation::LockT if outcome == Status::Denied => {
                    from.get::<LockDenied>().expect("well-formed");
                }
                Operation::SetAttr => {
                    from.get::<SetAttrResult>().expect("well-formed");
                }
                _ => {}
            }
        }
        assert_eq!(from.remaining(), 0, "nothing follows");
        reached
    }
}

/// What a machine knows of a slot.
#[derive(Default)]
pub struct KnownSlot {
    pub sequence: u32,
    pub last: Option<Sent>,
}

pub struct Machine {
    pub line: Arc<Line>,
    pub uid: u32,
    pub index: u8,
    verifier: u8,
    pub client: ClientId,
    next: SequenceId,
    pub session: SessionId,
    slots: [KnownSlot; SLOTS],
}

impl Machine {
    pub fn new(index: u8, world: &Arc<World>) -> Self {
        let line = Line::new(u64::from(index) + 1, world);
        let (client, next, session) = (ClientId(0), SequenceId(1), SessionId([0; 16]));
        // Root, but for one.
        let uid = 1000 * u32::from(index / 2);
        Self { line, uid, index, verifier: 0, client, next, session, slots: Default::default() }
    }

    pub fn slot(&mut self, slot: usize) -> &mut KnownSlot {
        &mut self.slots[slot]
    }

    pub fn known_slot(&self, slot: usize) -> &KnownSlot {
        &self.slots[slot]
    }

    /// Its own name, or that of another; as it is, or after a restart.
    pub fn exchange_id_args(&mut self, input: &mut Input<'_>) -> ExchangeIdArgs {
        let name = if input.below(4) == 1 { input.below(4) as u8 } else { self.index };
        if input.below(4) == 1 {
            self.verifier = self.verifier.wrapping_add(1);
        }
        let flags = [0, exchange_flags::UPDATE_CONFIRMED_RECORD, exchange_flags::CONFIRMED, 0x101];
        ExchangeIdArgs {
            owner: ClientOwner {
                verifier: Verifier([self.verifier; 8]),
                id: vec![name; usize::from(name < 3)].into(),
            },
            flags: flags[input.below(8) % 5 % 4],
            state_protect: StateProtect::None,
            implementation: vec![],
        }
    }

    pub fn exchanged(&mut self, exchanged: &ExchangeIdResult) {
        (self.client, self.next) = (exchanged.client, exchanged.sequence);
    }

    pub fn create_session_args(&self, input: &mut Input<'_>) -> CreateSessionArgs {
        let behind = u32::from(input.below(4) == 1);
        let requests_max = if input.below(8) == 1 { input.below(3) as u32 } else { 64 };
        let channel = ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: 1 << 16,
            response_bytes_max: if input.below(8) == 1 { 600 } else { 1 << 14 },
            cached_response_bytes_max: if input.below(4) == 1 { 500 } else { 2048 },
            operations_max: 16,
            requests_max,
            rdma_ird: vec![],
        };
        CreateSessionArgs {
            client: self.client,
            sequence: SequenceId(self.next.0.wrapping_sub(behind)),
            flags: input.below(8) as u32 ^ session_flags::CONN_BACK_CHAN,
            fore_channel: channel.clone(),
            back_channel: channel,
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSecurity::None],
        }
    }

    pub fn created(&mut self, created: &CreateSessionResult) {
        if self.session != created.session {
            self.session = created.session;
            self.slots = Default::default();
        }
        self.next = created.sequence.next();
    }

    pub fn sequence_args(&self, slot: usize, highest: usize, cache_this: bool) -> SequenceArgs {
        SequenceArgs {
            session: self.session,
            sequence: SequenceId(self.slots[slot].sequence.wrapping_add(1)),
            slot: SlotId(slot as u32),
            highest_slot: SlotId(highest as u32),
            cache_this,
        }
    }
}
