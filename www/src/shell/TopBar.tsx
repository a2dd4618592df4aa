// The top bar: what is open, search, how complete it is, what was lost, sharing.

import { effect } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { CompareButton } from "../compare/CompareButton.tsx";
import { comparing } from "../compare/state.ts";
import { CoverageBar } from "../ledger/CoverageBar.tsx";
import { coverageTip, namedCount, namedPercent, parts } from "../ledger/state.ts";
import { shareOpen } from "../share/links.ts";
import type { FidelityInfo, ProfileInfo } from "../session/types.ts";
import { coverage, dock, dockOpen, forcedRows, info, ledgerFull, opened } from "../state/app.ts";
import { withKey } from "../state/commands.ts";
import { above, bytes, count, countSamples, duration, percent } from "../state/format.ts";
import { progressShare, shownTask } from "../state/tasks.ts";
import { ProgressBar } from "./Bar.tsx";
import { Logo } from "./icons.tsx";
import { MainMenu } from "./MainMenu.tsx";
import { SearchField } from "./SearchField.tsx";
import { Warnings } from "./Warnings.tsx";

export function TopBar(): JSX.Element {
  return (
    <BarFrame>
      <FileFacts />
      <SearchField />
      <CoverageMeter />
      <Warnings />
      <CompareButton />
    </BarFrame>
  );
}

/** What stands at the ends of a bar, whatever it is of. */
export function BarFrame({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <header class="top-bar">
      <span class="brand">
        <Logo /> <span class="brand-name">perftab</span>
      </span>
      {children}
      <button
        type="button"
        class="primary share-button"
        title={withKey("Share", "share")}
        onClick={() => {
          shareOpen.value = true;
        }}
      >
        Share
      </button>
      <MainMenu />
      <WorkBar />
    </header>
  );
}

const TAG = { file: null, sample: "Sample", served: null, link: "Link", page: "Page" } as const;

/** The tab says what is open, and that it is compared, or that names in it are forced. Call once. */
export function followTitle(): void {
  effect(() => {
    if (opened.value !== null) {
      const before = comparing.value !== null ? "Comparing · " : forcedRows.value.length > 0 ? "≠ " : "";
      document.title = `${before}${opened.value.name} · perftab`;
    }
  });
}

function FileFacts(): JSX.Element {
  const file = opened.value;
  const facts = info.value === null ? [] : factsOf(info.value);
  const tag = file === null ? null : TAG[file.origin];
  return (
    <div class="file">
      <h1 class="file-name" title={file?.name ?? ""}>
        {file?.name ?? ""}
        {tag !== null && <span class="tag">{tag}</span>}
      </h1>
      <p class="facts-line">
        {facts.map(({ text, kind }) => (
          <span key={kind} class={`fact fact-${kind}`}>
            {text}
          </span>
        ))}
        {file?.bytes != null && <span class="fact fact-size">{bytes(file.bytes)}</span>}
      </p>
    </div>
  );
}

function factsOf({ host, time, samples, fidelity }: ProfileInfo): { kind: string; text: string }[] {
  const facts = [
    { kind: "host", text: host.hostname },
    { kind: "kernel", text: host.os_release === null ? null : `Linux ${host.os_release}` },
    { kind: "cpus", text: host.cpus === null ? null : `${count(host.cpus)} ${host.cpus === 1 ? "CPU" : "CPUs"}` },
    { kind: "time", text: time.start === null || time.end === null ? null : duration({ start: time.start, end: time.end }) },
    // Where there is no coverage meter, which has it below otherwise. What does not fit ends the line.
    { kind: "kept", text: fidelity === null ? null : describeKept(fidelity) },
    { kind: "samples", text: countSamples(samples) },
  ];
  return facts.flatMap(({ kind, text }) => (text === null ? [] : [{ kind, text }]));
}

/** What a link or page holds of its recording. */
function describeKept({ kept_weight_share: share, threshold_share: threshold }: FidelityInfo): string {
  return threshold > 0 ? `keeps ${percent(share)}: all calls ≥ ${above(threshold)}` : "keeps all calls";
}

function CoverageMeter(): JSX.Element {
  const named = namedPercent.value.toFixed(1);
  const fidelity = info.value?.fidelity ?? null;
  return (
    <button
      type="button"
      class="quiet coverage-meter"
      title={`${coverageTip(coverage.value, namedPercent.value)} DSOs: ${namedCount.value}.`}
      onClick={() => {
        const shown = dockOpen.value && dock.value === "dsos" && !ledgerFull.value;
        ledgerFull.value = false;
        dock.value = "dsos";
        dockOpen.value = !shown;
      }}
    >
      <CoverageBar parts={parts.value} kind="meter" />
      <span class="coverage-words">
        <span>
          <strong>{named} %</strong> named
        </span>
        {fidelity !== null && <span class="kept">{describeKept(fidelity)}</span>}
      </span>
    </button>
  );
}

/** The thin bar under the top bar while something takes a while. */
function WorkBar(): JSX.Element | null {
  const task = shownTask.value;
  return task === undefined ? null : (
    <span class="work-bar">
      <ProgressBar share={progressShare(task.progress)} label={task.label} />
    </span>
  );
}
