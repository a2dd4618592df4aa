// How far the file that is being opened has got.

import type { JSX } from "preact";
import { ProgressBar } from "../shell/Bar.tsx";
import { describeProgress, progressShare, shownTask, timeLeft } from "../state/tasks.ts";

export function Opening({ name }: { name: string }): JSX.Element {
  const task = shownTask.value;
  const words = task === undefined ? "Starting" : describeProgress(task.label, task.progress) + timeLeft(task, performance.now());
  return (
    <div class="opening">
      <h2>{name}</h2>
      <ProgressBar share={progressShare(task?.progress ?? null)} label={words} />
      <p class="button-row">
        <span>{words}</span>
        {task?.cancel != null && (
          <button type="button" class="push-right" onClick={task.cancel}>
            Cancel
          </button>
        )}
      </p>
    </div>
  );
}
