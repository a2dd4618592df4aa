//! Call trees of `perftab report`: from the outermost function on, or functions with their callers below.

use std::io::{self, Write};

use perftab_core::session::Session;
use perftab_core::{Direction, Query, mark};

use super::FORCED;
use super::scope::RowScope;
use crate::cli::{CallGraph, CallOrder, CallValue, ReportArgs};
use crate::output::{Results, grouped, percent, printable};

/// Addresses of a way that are printed: as many as the kernel records.
pub const MOST_ADDRESSES: u32 = 127;
/// Levels that are printed, whatever number of addresses is asked for.
const MOST_LEVELS: usize = 1000;

/// What is printed of the first level.
pub struct FirstRows<'a> {
    /// Which rows.
    pub scope: &'a RowScope<'a>,
    /// How many at most.
    pub limit: usize,
}

/// What tree is asked for, if any.
pub fn asked(args: &ReportArgs) -> Option<(CallGraph, CallOrder)> {
    let usual = if args.children { CallOrder::Caller } else { CallOrder::Callee };
    let mut graph = match args.call_graph {
        Some(graph) => graph,
        None if args.inverted => CallGraph { order: Some(CallOrder::Callee), ..CallGraph::USUAL },
        None => return None,
    };
    // As in perf, which has one limit for rows and calls then.
    graph.threshold = args.rows.percent_limit.unwrap_or(graph.threshold);
    graph.value.map(|_| (graph, graph.order.unwrap_or(usual)))
}

/// Prints a tree, of each way so many addresses. An inlined function is at the address of its caller.
pub fn write(
    results: &mut Results,
    session: &mut Session,
    query: &Query,
    (graph, order): (CallGraph, CallOrder),
    (FirstRows { scope, limit }, addresses): (FirstRows<'_>, u32),
) -> io::Result<()> {
    let (direction, title) = match order {
        CallOrder::Callee => (Direction::Inverted, "#  Self   Function, callers below"),
        CallOrder::Caller => (Direction::Callees, "# Total   Function, callees below"),
    };
    // Of each stack the tree has all, as its other end counts too.
    let query = Query { direction, outermost: None, ..query.clone() };
    let whole = scope.whole;
    let mut tree = Tree { session, query, graph, whole };
    if !crate::output::is_quiet() {
        writeln!(results, "{title}")?;
    }
    let (least, most) = match order {
        CallOrder::Callee => (0.0, usize::MAX),
        CallOrder::Caller => (graph.threshold, graph.most),
    };
    let least = scope.least.max(least);
    let first = Level { call_node: 0, depth: 0, addresses, parent: whole, least, most };
    tree.write(results, first, &|name| scope.takes_name(name), limit)
}

struct Tree<'a> {
    session: &'a mut Session,
    query: Query,
    graph: CallGraph,
    whole: f64,
}

/// The calls below another.
struct Level {
    call_node: u32,
    depth: usize,
    /// How many may follow.
    addresses: u32,
    /// Weight of that.
    parent: f64,
    /// Share of the whole that is printed, in percent.
    least: f64,
    most: usize,
}

impl Tree<'_> {
    /// How many addresses may follow a function that is printed; `None` if it is itself beyond. Those at one address
    /// are a called function and what is inlined there: the called one comes first or last.
    fn addresses_left(&self, left: u32, is_inlined: bool) -> Option<u32> {
        match (self.query.direction, is_inlined) {
            (_, false) => left.checked_sub(1),
            (Direction::Inverted, true) => Some(left).filter(|left| *left > 0),
            (Direction::Callees, true) => Some(left),
        }
    }

    fn write(
        &mut self,
        results: &mut Results,
        level: Level,
        takes: &dyn Fn(Option<&str>) -> bool,
        limit: usize,
    ) -> io::Result<()> {
        let rows = self.session.call_tree_children(&self.query, level.call_node);
        let is_taken = |index: &usize| {
            let name = &rows.names[*index];
            takes(Some(name.as_str()).filter(|name| !name.starts_with("0x")))
        };
        let taken = (0..rows.names.len()).filter(is_taken);
        for index in taken.take(limit.min(level.most)) {
            let total = rows.total[index];
            if total / self.whole.max(1.0) * 100.0 < level.least {
                break;
            }
            let marks = rows.marks[index];
            let forced = if marks & mark::FORCED != 0 { FORCED } else { "" };
            let is_inlined = marks & mark::INLINED != 0;
            let inlined = if is_inlined { " (inlined)" } else { "" };
            let Some(left) = self.addresses_left(level.addresses, is_inlined) else { continue };
            let value = match self.graph.value {
                Some(CallValue::Period) => grouped(total as u64),
                Some(CallValue::Count) => grouped(rows.samples[index] as u64),
                Some(CallValue::PercentOfParent) => percent(total, level.parent),
                Some(CallValue::Percent) | None => percent(total, self.whole),
            };
            writeln!(
                results,
                "{value:>7}   {:indent$}{forced}{}{inlined}  {}",
                "",
                printable(&rows.names[index]),
                printable(&rows.dsos[index]),
                indent = 2 * level.depth
            )?;
            if level.depth < MOST_LEVELS {
                let below = Level {
                    call_node: rows.call_node[index],
                    depth: level.depth + 1,
                    addresses: left,
                    parent: total,
                    least: self.graph.threshold,
                    most: self.graph.most,
                };
                self.write(results, below, &|_| true, usize::MAX)?;
            }
        }
        Ok(())
    }
}
