//! Data Dropped (RFC 4340 §11.7).

use super::ack_vector::AckVector;
use crate::seq::Seq;
use crate::wire::OptionWriter;
use crate::wire::ack_cells::DropCode;

#[derive(Clone, Debug, Default)]
pub(crate) struct DataDropped {}

impl DataDropped {
    pub(crate) fn on_drop(&mut self, _seq: Seq, _code: DropCode) {}
    pub(crate) fn write(&self, _v: &AckVector, _w: &mut OptionWriter) {}
}
