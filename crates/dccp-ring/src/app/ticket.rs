//! Tickets, which identify waiting datagrams.

/// Identifies a waiting datagram within the [`Sender`](super::Sender) that returned the ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub(super) slot: u32,
    /// How often the slot had been used before; 64 bits never wrap.
    pub(super) turn: u64,
}

/// Bits of a slot in the number of a ticket: no ring has more slots.
const SLOT_BITS: u32 = 16;
/// Bits of a use count there. With the slot they fit a positive `i64`.
const TURN_BITS: u32 = 47;

impl Ticket {
    /// The ticket as a number below 2^63, for programs in other languages. After 2^47 uses of its slot it stands for no
    /// ticket.
    pub const fn number(self) -> u64 {
        (self.turn & ((1 << TURN_BITS) - 1)) << SLOT_BITS | self.slot as u64
    }

    /// The ticket with this number. One that no push returned identifies no datagram.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits are asked for"
    )]
    pub const fn of_number(number: u64) -> Self {
        Self {
            slot: number as u32 & ((1 << SLOT_BITS) - 1),
            turn: number >> SLOT_BITS,
        }
    }
}
