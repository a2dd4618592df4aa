//! The call tree's streams, in one walk: what a call node is tells most of what it calls.

use perftab_perfdata::map::Map;

use super::arithmetic::Line;
use super::mixer::hash;
use super::symbols::Symbols;
use crate::SnapshotError;
use crate::codes;
use crate::fields::Field;

/// What is known of a call node when its numbers come.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub code: u64,
    pub caller: u64,
    pub calls: u64,
    pub calls_of_caller: u64,
    pub is_new: bool,
}

/// The tree: each stream's numbers, and the call nodes in their order.
pub(super) struct Calls {
    pub children: Vec<u64>,
    pub pairs: Vec<u64>,
    pub functions: Vec<u64>,
    pub nodes: Vec<Call>,
}

/// A call node whose calls are not complete.
struct OpenCallNode {
    code: u64,
    caller: u64,
    calls: u64,
    left: u64,
    /// Pair of the call before.
    pair: u32,
}

/// In place of a caller's code: the root.
const ROOT: u64 = codes::CODE_GROUP - 1;

/// Carries children, pairs and functions. `dsos` has for each code what its function lies in.
pub(super) async fn carry<L: Line>(
    symbols: &mut Symbols<L>,
    given: [&[u64]; 3],
    dsos: &[u32],
) -> Result<Calls, SnapshotError> {
    let [mut children, mut pairs, mut functions] = given.map(|numbers| numbers.iter().copied());
    let mut carried = Calls { children: vec![], pairs: vec![], functions: vec![], nodes: vec![] };
    let mut met: Map<u64, Vec<u64>> = Map::new();
    let mut open: Vec<OpenCallNode> = Vec::new();
    let (mut last_code, mut last_calls) = (0, 0);
    loop {
        let depth = open.len() as u32;
        let (mut caller, mut left, mut calls_of_caller) = (0, 0, 0);
        let (mut code, mut is_new) = (ROOT, false);
        if let Some(above) = open.last_mut() {
            above.left -= 1;
            (caller, left, calls_of_caller) = (above.code, above.left, above.calls);
            code = codes::CODE_GROUP;
            if caller != ROOT {
                let calls = met.entry(caller).or_default();
                let (from, of, count) = (caller as u32, above.caller as u32, calls.len() as u32);
                let count = count.min(40);
                let pair = symbols.number(
                    Field::NodePairs as u32,
                    pairs.next().unwrap_or(0),
                    &[
                        0,
                        hash(from, above.pair),
                        hash(from, hash(of, 1)),
                        hash(count, left.min(20) as u32),
                        hash(above.pair, calls_of_caller as u32),
                        hash(count, above.pair),
                    ],
                )?;
                carried.pairs.push(pair);
                is_new = pair == 0;
                above.pair = (pair as u32).wrapping_add(1);
                let call = match pair.checked_sub(1) {
                    None => {
                        let dso = usize::try_from(caller).ok().and_then(|code| dsos.get(code));
                        let function = symbols.number(
                            Field::NodeFunctions as u32,
                            functions.next().unwrap_or(0),
                            &[
                                0,
                                dso.map_or(0, |dso| dso + 1),
                                from,
                                from >> 2,
                                from >> 4,
                                calls.last().map_or(0, |&call| (call as u32).wrapping_add(1)),
                                last_code as u32,
                            ],
                        )?;
                        carried.functions.push(function);
                        calls.push(function);
                        function
                    }
                    Some(number) => {
                        let known = usize::try_from(number).ok().and_then(|at| calls.get(at));
                        *known.ok_or(SnapshotError::Invalid { what: "a call" })?
                    }
                };
                code = call >> 1;
            }
        }
        let (of, new) = (code as u32, u32::from(is_new));
        let count = symbols.number(
            Field::NodeChildren as u32,
            children.next().unwrap_or(0),
            &[
                0,
                of,
                hash(of, caller as u32),
                hash(new, left.min(10) as u32),
                hash(new, last_calls),
                hash(depth, new),
                hash(calls_of_caller as u32, left as u32),
                hash(of, hash(new, 1)),
            ],
        )?;
        carried.children.push(count);
        carried.nodes.push(Call { code, caller, calls: count, calls_of_caller, is_new });
        (last_calls, last_code) = (count as u32, code);
        while open.last().is_some_and(|above| above.left == 0) {
            open.pop();
        }
        if count > 0 {
            open.push(OpenCallNode { code, caller, calls: count, left: count, pair: 0 });
        }
        if open.is_empty() {
            return Ok(carried);
        }
        symbols.rest().await;
    }
}

impl Call {
    /// Contexts of a number that a call node has in a stream of sums; `before` is the one before
    /// in the stream.
    pub fn of_sum(&self, before: u64) -> [u32; 8] {
        let (code, calls, before) = (self.code as u32, self.calls.min(4) as u32, before as u32);
        let around = self.calls_of_caller.min(9) as u32 * 2 + u32::from(self.is_new);
        [
            0,
            code,
            hash(code, calls),
            hash(calls, before),
            hash(calls, hash(around, 1)),
            hash(calls, hash(code, self.caller as u32)),
            calls,
            hash(before, code),
        ]
    }

    /// Contexts of a line; `before` is the one before of the same function.
    pub fn of_line(&self, before: u64) -> [u32; 6] {
        let (code, before) = (self.code as u32, before as u32);
        [
            0,
            hash(code, before),
            code,
            u32::from(before == 0),
            hash(code, self.caller as u32),
            before,
        ]
    }
}
