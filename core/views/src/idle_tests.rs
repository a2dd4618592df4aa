//! What is dropped as idle, and what is not.

use perftab_profile::EventOrigin;

use crate::fixture::{Fixture, fixture, lines, tree_text};
use crate::transform::Transform;
use crate::{Group, Query, build};

/// The kernel's idle process, with an interrupt; another CPU's, which says so by its functions alone; work, and
/// work in what waits off the CPU.
const STACKS: &str = "
    swapper: !do_idle 900
    swapper: A 20
    vcpu: B !default_idle 30
    vcpu: B !ep_poll !__schedule 7
    kworker: !worker_thread !__schedule 50
    kworker: !worker_thread A !__schedule 3
    server: A Pipe_read !__schedule 2
";

fn stacks(origin: EventOrigin) -> Fixture {
    let mut stacks = fixture(STACKS);
    // Of which only the first is what its pid says: others are outside of the recorder's namespace.
    let processes = &mut stacks.profile.threads.processes;
    processes.first_mut().expect("swapper").pid = 0;
    processes.last_mut().expect("server").pid = 0;
    stacks.profile.events[0].origin = origin;
    stacks
}

fn without_idle(group: Group) -> Query {
    Query { steps: vec![Transform::DropIdle], group, ..Query::default() }
}

#[test]
fn on_the_cpu_idle_is_the_idle_process_and_idle_functions() {
    let stacks = stacks(EventOrigin::Recorded);
    let expected = "
        all 62 0
          kworker 53 0
            worker_thread 53 0
              __schedule 50 50
              A 3 0
                __schedule 3 3
          vcpu 7 0
            B 7 0
              ep_poll 7 0
                __schedule 7 7
          server 2 0
            A 2 0
              Pipe_read 2 0
                __schedule 2 2
        ";
    for group in [Group::Process, Group::Auto] {
        assert_eq!(tree_text(&stacks, &without_idle(group)), lines(expected));
    }
    // Processes are told apart for it, also where they are not shown.
    let query = without_idle(Group::None);
    assert!(tree_text(&stacks, &query).starts_with("all 62 0\n  worker_thread 53 0\n"));
    let account = build::build(&stacks.profile, &stacks.symbols, &query).account;
    assert_eq!(account.steps[0].removed.weight, 950);
}

#[test]
fn off_the_cpu_idle_is_who_waits_for_work() {
    let stacks = stacks(EventOrigin::Derived);
    let expected = "
        all 5 0
          kworker 3 0
            worker_thread 3 0
              A 3 0
                __schedule 3 3
          server 2 0
            A 2 0
              Pipe_read 2 0
                __schedule 2 2
        ";
    assert_eq!(tree_text(&stacks, &without_idle(Group::Process)), lines(expected));
}
