// Which processes, threads and CPUs are shown: chips with a list behind them. None ticked shows all.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { query } from "../state/app.ts";
import type { TaskRows } from "../session/types.ts";
import { eventTasks } from "../state/event_tasks.ts";
import { count, percent } from "../state/format.ts";
import { setCpus, setTasks, toggleCpu, toggleProcess, toggleThread } from "../views/query_steps.ts";
import { share } from "../views/words.ts";
import type { Found } from "./found_tasks.ts";
import { countedTasks, cpusOf, has, listed as listedOf, meant } from "./found_tasks.ts";
import { useGradual } from "./gradual.tsx";
import { Icon } from "./icons.tsx";
import { Popover } from "./Popover.tsx";

/** Rows beyond this are found by their name. */
const MOST_ROWS = 200;

export function ProcessesMenu(): JSX.Element | null {
  const tasks = eventTasks.value;
  if (tasks === null || tasks.processes.length === 0) {
    return null;
  }
  return (
    <TaskPopover kind="Processes" kindOf="tasks-button" of={tasks.processes.length} chosen={query.value.processes.length}>
      <ProcessList processes={tasks.processes} />
    </TaskPopover>
  );
}

export function CpusMenu(): JSX.Element | null {
  const cpus = eventTasks.value?.cpus ?? [];
  if (cpus.length === 0) {
    return null;
  }
  const all = cpus.reduce((sum, { samples }) => sum + samples, 0);
  const { cpus: chosen } = query.value;
  return (
    <TaskPopover kind="CPUs" kindOf="cpus-button" of={cpus.length} chosen={chosen.length}>
      <CpusField there={cpus.map(({ cpu }) => cpu)} />
      <AllRow label="All CPUs" isOn={chosen.length === 0} onChoose={() => setCpus([])} />
      <ul class="tasks-list" aria-label="CPUs">
        {cpus.map(({ cpu, samples }) => (
          <li key={cpu} class="task-row">
            <Tick name={`CPU ${cpu}`} isOn={chosen.includes(cpu)} part={share(samples, all)} onChoose={() => toggleCpu(cpu)} />
          </li>
        ))}
      </ul>
    </TaskPopover>
  );
}

/** Ticking 32 of 64 takes long. */
function CpusField({ there }: { there: readonly number[] }): JSX.Element {
  const isWrong = useSignal(false);
  return (
    <>
      <input
        type="text"
        placeholder="0-3, 8"
        aria-label="Only these CPUs, as 0-3, 8"
        aria-invalid={isWrong.value}
        autocomplete="off"
        onKeyDown={({ key, currentTarget }) => {
          const cpus = key === "Enter" ? cpusOf(currentTarget.value, there) : null;
          isWrong.value = key === "Enter" && cpus === null;
          if (cpus !== null) {
            setCpus(cpus);
          }
        }}
      />
      {isWrong.value && (
        <p class="task-note" role="alert">
          No such CPU. Write numbers and ranges, as 0-3, 8.
        </p>
      )}
    </>
  );
}

interface TaskPopoverProps {
  kind: string;
  kindOf: string;
  of: number;
  chosen: number;
  children: JSX.Element | JSX.Element[];
}

function TaskPopover({ kind, kindOf, of, chosen, children }: TaskPopoverProps): JSX.Element {
  const which = chosen === 0 ? `all ${count(of)}` : `${count(chosen)} of ${count(of)}`;
  return (
    <Popover
      label={
        <>
          <span class="chip-kind">{kind}</span> <strong class="chip-name">{which}</strong> <Icon name="chevron" size={12} />
        </>
      }
      name={`${kind} ${which}`}
      buttonClass={`chip ${kindOf}`}
      panelClass="tasks-menu"
    >
      {() => children}
    </Popover>
  );
}

function ProcessList({ processes }: { processes: TaskRows["processes"] }): JSX.Element {
  const wanted = useSignal("");
  const opened = useSignal<ReadonlySet<number>>(new Set());
  const text = wanted.value.trim().toLowerCase();
  const found = listedOf(processes, text);
  const only = text === "" ? null : meant(processes, text);
  const listed = found.slice(0, MOST_ROWS);
  // Of these, not of the event: while a profile grows, that is known of more of it sooner.
  const all = processes.reduce((sum, { weight }) => sum + weight, 0);
  const shown = useGradual(listed.length);
  const { processes: pids, threads: tids } = query.value;
  const toggle = (pid: number): void => {
    const next = new Set(opened.peek());
    if (!next.delete(pid)) {
      next.add(pid);
    }
    opened.value = next;
  };
  return (
    <>
      <input
        type="text"
        placeholder="Name, PID or TID"
        aria-label="Find a process or thread"
        autocomplete="off"
        spellcheck={false}
        value={wanted.value}
        onInput={(typed) => {
          wanted.value = typed.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && only !== null) {
            setTasks(only);
          }
        }}
      />
      {only === null ? (
        <AllRow
          label="All processes"
          isOn={pids.length === 0 && tids.length === 0}
          onChoose={() => setTasks({ processes: [], threads: [] })}
        />
      ) : (
        <AllRow label={`Only ${countedTasks(only)}`} keys="Enter" isOn={isChosen(only)} onChoose={() => setTasks(only)} />
      )}
      <ul class="tasks-list" aria-label="Processes">
        {listed.slice(0, shown).map((process) => (
          <Process
            key={process.pid}
            process={process}
            all={all}
            // A thread that was looked for is shown.
            isOpen={opened.value.has(process.pid) || !has(process.name, process.pid, text)}
            text={text}
            onToggle={() => toggle(process.pid)}
          />
        ))}
      </ul>
      {found.length === 0 && <p class="task-note">No process or thread matches.</p>}
      {found.length > MOST_ROWS && <p class="task-note">{count(found.length - MOST_ROWS)} more. Type to filter.</p>}
    </>
  );
}

function isChosen({ processes, threads }: Found): boolean {
  const same = (some: readonly number[], others: readonly number[]): boolean =>
    some.length === others.length && some.every((each) => others.includes(each));
  return same(processes, query.value.processes) && same(threads, query.value.threads);
}

interface ProcessProps {
  process: TaskRows["processes"][number];
  /** Weight of all processes. */
  all: number;
  isOpen: boolean;
  text: string;
  onToggle: () => void;
}

function Process({ process, all, isOpen, text, onToggle }: ProcessProps): JSX.Element {
  const { pid, name, weight, threads } = process;
  const matching = threads.filter((thread) => has(thread.name, thread.tid, text));
  const listed = matching.length === 0 ? threads : matching;
  return (
    <li>
      <div class="task-row">
        {threads.length > 1 && (
          <button
            type="button"
            class="quiet icon-only"
            aria-label={`Threads of ${name} ${pid}`}
            aria-expanded={isOpen}
            onClick={onToggle}
          >
            <Icon name="chevron" size={12} />
          </button>
        )}
        <Tick
          name={name}
          id={pid}
          isOn={query.value.processes.includes(pid)}
          part={share(weight, all)}
          onChoose={() => toggleProcess(pid)}
        />
      </div>
      {isOpen && threads.length > 1 && (
        <ul class="task-threads" aria-label={`Threads of ${name} ${pid}`}>
          {listed.slice(0, MOST_ROWS).map((thread) => (
            <li key={thread.tid} class="task-row">
              <Tick
                name={thread.name}
                id={thread.tid}
                isOn={query.value.threads.includes(thread.tid)}
                part={share(thread.weight, all)}
                onChoose={() => toggleThread(thread.tid)}
              />
            </li>
          ))}
          {listed.length > MOST_ROWS && (
            <li class="task-note">{count(listed.length - MOST_ROWS)} more threads. Type to filter.</li>
          )}
        </ul>
      )}
    </li>
  );
}

interface AllRowProps {
  label: string;
  /** The key that does it in the field. */
  keys?: string;
  isOn: boolean;
  onChoose: () => void;
}

function AllRow({ label, keys, isOn, onChoose }: AllRowProps): JSX.Element {
  return (
    <button type="button" class="menu-item all-row" aria-pressed={isOn} onClick={onChoose}>
      {label} {keys !== undefined && <kbd>{keys}</kbd>}
    </button>
  );
}

interface TickProps {
  name: string;
  id?: number;
  isOn: boolean;
  part: number;
  onChoose: () => void;
}

function Tick({ name, id, isOn, part, onChoose }: TickProps): JSX.Element {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={onChoose} />
      <span class="task-name" title={name}>
        {name}
      </span>{" "}
      {id !== undefined && <span class="task-id">{id}</span>} <span class="task-share">{percent(part)}</span>
    </label>
  );
}
