//! Scripted faults: "lose the third Data packet", "hold the Response back for a second".

use crate::frame::{Content, FlowKey, Frame};
use crate::loss::LossProcess;
use core::fmt;
use core::time::Duration;
use dccp_proto::wire::PacketType;

/// The action of a rule on the packets that it matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Loses the packet before it enters the queue.
    Drop,
    /// Sends it twice.
    Duplicate,
    /// Lets it travel longer, so that others overtake it.
    Hold(Duration),
}

/// A scripted fault at the entrance of a link.
pub struct Rule {
    action: Action,
    conditions: Vec<Condition>,
    edit: Option<Edit>,
    chance: Option<LossProcess>,
    seen: u64,
    first: u64,
    count: u64,
}

type Condition = Box<dyn Fn(&Frame) -> bool>;
type Edit = Box<dyn FnMut(&mut Frame)>;

/// The combined decision of rules about one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) is_lost: bool,
    pub(crate) is_duplicated: bool,
    pub(crate) hold: Duration,
}

impl Rule {
    /// A rule for every packet, until conditions are added.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            conditions: Vec::new(),
            edit: None,
            chance: None,
            seen: 0,
            first: 0,
            count: u64::MAX,
        }
    }

    /// Changes packets on the way, as a hostile or broken middlebox would. A changed datagram is
    /// sent as it is: over IP with the checksum that it had, if the function leaves it.
    pub fn edit(edit: impl FnMut(&mut Frame) + 'static) -> Self {
        Self {
            edit: Some(Box::new(edit)),
            ..Self::new(Action::Hold(Duration::ZERO))
        }
    }

    /// Only packets of this type.
    #[must_use]
    pub fn of_type(self, packet_type: PacketType) -> Self {
        self.matching(move |frame| packet_type_of(frame) == Some(packet_type))
    }

    /// Only packets that fulfil this condition, besides those given before.
    #[must_use]
    pub fn matching(mut self, condition: impl Fn(&Frame) -> bool + 'static) -> Self {
        self.conditions.push(Box::new(condition));
        self
    }

    /// Only packets of this flow.
    #[must_use]
    pub fn of_flow(self, flow: FlowKey) -> Self {
        self.matching(move |frame| frame.flow_key() == flow)
    }

    /// Only those of them that this process hits: so one flow, or one type of packet, has losses of its
    /// own. They are lost before they enter the queue.
    #[must_use]
    pub fn by_chance(mut self, process: LossProcess) -> Self {
        self.chance = Some(process);
        self
    }

    /// Only the `n`th of them, counted from 1.
    #[must_use]
    pub fn nth(self, n: u64) -> Self {
        self.from_nth(n, 1)
    }

    /// Only `count` of them, beginning with the `n`th, counted from 1.
    #[must_use]
    pub fn from_nth(mut self, n: u64, count: u64) -> Self {
        self.first = n.saturating_sub(1);
        self.count = count;
        self
    }

    /// Applies the rule, if it is for this frame.
    pub(crate) fn apply(&mut self, frame: &mut Frame, verdict: &mut Verdict) {
        if !self.conditions.iter().all(|c| c(frame)) {
            return;
        }
        let turn = self.seen;
        self.seen += 1;
        if turn < self.first || turn - self.first >= self.count {
            return;
        }
        if self.chance.as_mut().is_some_and(|c| !c.loses_next()) {
            return;
        }
        if let Some(edit) = &mut self.edit {
            edit(frame);
        }
        match self.action {
            Action::Drop => verdict.is_lost = true,
            Action::Duplicate => verdict.is_duplicated = true,
            Action::Hold(time) => verdict.hold += time,
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("action", &self.action)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

/// The DCCP packet type of a frame: the high 4 bits of the low 5 of byte 8 (RFC 4340 §5.1).
pub fn packet_type_of(frame: &Frame) -> Option<PacketType> {
    if frame.content != Content::Dccp {
        return None;
    }
    PacketType::from_number(frame.bytes.get(8)? >> 1 & 0xf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn verdicts(mut rule: Rule, types: &[PacketType]) -> Vec<Verdict> {
        types
            .iter()
            .map(|&t| {
                let mut frame = testing::frame(t);
                let mut verdict = Verdict::default();
                rule.apply(&mut frame, &mut verdict);
                verdict
            })
            .collect()
    }

    #[test]
    fn a_rule_counts_only_the_packets_that_it_is_for() {
        use PacketType::{Ack, Data};
        let rule = Rule::new(Action::Drop).of_type(Data).nth(2);
        let lost: Vec<bool> = verdicts(rule, &[Data, Ack, Ack, Data, Data])
            .iter()
            .map(|v| v.is_lost)
            .collect();
        assert_eq!(lost, [false, false, false, true, false]);
    }

    #[test]
    fn a_rule_can_last_for_several_packets() {
        let rule = Rule::new(Action::Hold(Duration::from_secs(1))).from_nth(2, 2);
        let held: Vec<u64> = verdicts(rule, &[PacketType::Ack; 4])
            .iter()
            .map(|v| v.hold.as_secs())
            .collect();
        assert_eq!(held, [0, 1, 1, 0]);
    }

    #[test]
    fn a_flow_has_losses_of_its_own() {
        let flow = testing::frame(PacketType::Data).flow_key();
        let run = |flow| {
            let stream = crate::random::Seed(1).stream("losses of a flow");
            let process = LossProcess::new(crate::loss::LossModel::Bernoulli(0.5), stream);
            let rule = Rule::new(Action::Drop).of_flow(flow).by_chance(process);
            let all = verdicts(rule, &[PacketType::Data; 100]);
            all.iter().filter(|v| v.is_lost).count()
        };
        assert!((35..65).contains(&run(flow)), "{}", run(flow));
        assert_eq!(run(flow.reversed()), 0);
    }

    #[test]
    fn an_edit_changes_the_frame_and_nothing_else() {
        let mut rule = Rule::edit(|f| f.bytes[0] = 99).of_type(PacketType::Close);
        let mut verdict = Verdict::default();
        let mut close = testing::frame(PacketType::Close);
        rule.apply(&mut close, &mut verdict);
        assert_eq!(close.bytes[0], 99);
        let mut reset = testing::frame(PacketType::Reset);
        rule.apply(&mut reset, &mut verdict);
        assert_ne!(reset.bytes[0], 99);
        assert_eq!(verdict, Verdict::default());
    }
}
