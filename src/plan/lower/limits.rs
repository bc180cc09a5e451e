//! What no machine can do, and what a plan would need without bound: said at the step's place,
//! before anything is made for it. Knows draws and sets, not how steps are written.

use super::context::Lower;
use crate::ops::row::Row;
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::Node;
use crate::profile::units::format_size;

/// Most bytes one read or write moves on Linux: `MAX_RW_COUNT`, the largest `int` without the
/// part of a page (4096 bytes). A longer call moves less than it was asked to.
const LARGEST_TRANSFER: u64 = (1 << 31) - 4096;

impl Lower {
    /// Complains of a step whose numbers have no bound, or that moves more than one call can.
    pub fn limits(&mut self, args: &Args, node: &Node, row: &Row) {
        let Some(set) = self.plan.sets.get(usize::from(args.set)) else { return };
        let (name, max_size) = (set.name.clone(), set.max_size);
        let amount = match args.amount {
            Amount::Bytes(draw) => Some(draw),
            Amount::Whole => None,
        };
        let at = match args.at {
            At::Offset(draw) => Some(draw),
            _ => None,
        };
        let draws = [amount, at, args.block, Some(args.value)];
        if max_size.is_none() && draws.into_iter().flatten().any(has_room) {
            return self.no_room_known(&name, node);
        }
        let Some(largest) = self.largest_transfer(args).filter(|n| *n > LARGEST_TRANSFER) else { return };
        let message = if largest == u64::MAX && amount.is_some_and(|draw| !matches!(draw, Draw::Const(_))) {
            format!("nothing bounds one transfer of this {}: {name} has no max_size", row.verb.name)
        } else {
            format!(
                "this {} moves {} at once; one call moves at most {LARGEST_TRANSFER} bytes on Linux",
                row.verb.name,
                format_size(largest)
            )
        };
        self.problem(
            Diagnostic::error("too-large", &node.place, message)
                .help("add `block:`, the size of one transfer, for example `block: 1MiB`"),
        );
    }

    /// `{file.room}` of a set whose files may grow without end.
    pub fn no_room_known(&mut self, set: &str, node: &Node) {
        let message = format!("{{file.room}} has no end: files of {set} may grow without bound");
        self.problem(
            Diagnostic::error("no-max-size", &node.place, message)
                .help(format!("give the set {set} a `max_size`, for example `max_size: 1MiB`")),
        );
    }

    /// The largest transfer a step can ask for, in bytes; `None` where it moves nothing.
    pub fn largest_transfer(&self, args: &Args) -> Option<u64> {
        let moves = args.amount != Amount::Bytes(Draw::Const(0)) || args.block.is_some();
        if !moves {
            return None;
        }
        let set = self.plan.sets.get(usize::from(args.set));
        let most = |draw: Draw| self.upper(draw, set);
        let amount = match args.amount {
            Amount::Bytes(draw) => most(draw),
            Amount::Whole => u64::MAX,
        };
        let block = match (args.block, args.amount) {
            (Some(draw), _) => most(draw),
            (None, Amount::Whole) => crate::ops::data::WHOLE_BLOCK,
            (None, _) => amount,
        };
        Some(block.min(amount))
    }
}

/// Whether a draw depends on how much a file may still grow.
pub fn has_room(draw: Draw) -> bool {
    matches!(draw, Draw::Uniform { lo, hi, .. } if lo == Bound::FileRoom || hi == Bound::FileRoom)
}
