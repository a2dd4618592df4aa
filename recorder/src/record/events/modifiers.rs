//! What stands behind an event: `u`, `pp`, `S`. Letters and meanings of `tools/perf/util/parse-events.c`.

use anyhow::{Result, bail};

use super::group::{GroupSamples, Grouping};
use super::{EventSpec, Precision, Privilege};

/// What letters ask for besides privilege and precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `h`: with `u` or `k`, the hypervisor is counted too.
    Hypervisor,
    /// `G`: in guests.
    Guest,
    /// `H`: in the host.
    Host,
    /// `I`: not while the CPU is idle.
    NoIdle,
    /// `D`: always on its counter, or not at all.
    Pinned,
    /// `e`: no other events beside it.
    Exclusive,
    /// `W`: a group that cannot count together counts apart.
    Weak,
    /// The term `no-inherit`: not in threads and processes that begin.
    NotInherited,
}

/// Every letter that perf knows.
pub fn is_modifier(letter: char) -> bool {
    "ukhpPDWeIGHSbR".contains(letter)
}

impl EventSpec {
    /// Takes the letters behind an event, and those behind its group, which come on top. As in perf,
    /// the latter do not become part of its name.
    pub(super) fn modify(&mut self, own: &str, of_group: &str) -> Result<()> {
        let (mut user, mut kernel) = (false, false);
        for letter in own.chars().chain(of_group.chars()) {
            let mode = match (letter, self.precise) {
                ('u', _) => {
                    user = true;
                    continue;
                }
                ('k', _) => {
                    kernel = true;
                    continue;
                }
                ('p', Precision::Level(level)) if level < Precision::LARGEST => {
                    self.precise = Precision::Level(level + 1);
                    continue;
                }
                ('P', Precision::Level(0)) => {
                    self.precise = Precision::Most;
                    continue;
                }
                ('S', _) => {
                    self.grouping = Grouping::Leader(GroupSamples::OfLeader);
                    continue;
                }
                ('h', _) => Mode::Hypervisor,
                ('G', _) => Mode::Guest,
                ('H', _) => Mode::Host,
                ('I', _) => Mode::NoIdle,
                ('D', _) => Mode::Pinned,
                ('e', _) => Mode::Exclusive,
                ('W', _) => Mode::Weak,
                ('b' | 'R', _) => bail!("the modifier {letter} is for perf stat"),
                _ => bail!(
                    "modifiers are u (user), k (kernel), h (hypervisor), p, pp, ppp (precise), P \
                     (as precise as possible), G (guest), H (host), I (not idle), D (pinned), e \
                     (exclusive), S (sampled by the leader) and W (weak group)"
                ),
            };
            self.modes.push(mode);
        }
        self.privilege = match (user, kernel) {
            (true, false) => Privilege::UserOnly,
            (false, true) => Privilege::KernelOnly,
            (false, false) if self.has(Mode::Hypervisor) => bail!("h goes with u or k"),
            _ => Privilege::Any,
        };
        Ok(())
    }

    /// Whether letters or terms asked for it.
    pub fn has(&self, mode: Mode) -> bool {
        self.modes.contains(&mode)
    }
}
