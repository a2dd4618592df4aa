// A button that has the session make a file and hands it to the user, and says beside itself what became of it: the page
// behind an open dialog cannot.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CallOptions, Session } from "../session/client.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import { opened, session } from "../state/app.ts";
import { bytes } from "../state/format.ts";
import { runTask } from "../state/tasks.ts";
import { fileNameFor, saveFile } from "./page.ts";

interface SaveButtonProps {
  label: string;
  /** What the button says where its row says the rest. */
  short?: string;
  kind: string;
  /** Of the file's name. */
  ending: string;
  make: (session: Session, options: CallOptions) => Promise<Blob>;
}

export function SaveButton({ label, short, kind, ending, make }: SaveButtonProps): JSX.Element {
  const [said, setSaid] = useState("");
  const save = async (): Promise<void> => {
    const present = session.peek();
    if (present === null) {
      return;
    }
    setSaid("Saving…");
    try {
      const file = await runTask(label, (options) => make(present, options));
      const name = fileNameFor(opened.peek()?.name ?? "profile", ending);
      saveFile(file, name);
      setSaid(`Saved ${name}, ${bytes(file.size)}.`);
    } catch (error) {
      if (error instanceof SessionError) {
        setSaid(`Could not be saved: ${error.message}.`);
      } else if (error instanceof Cancelled || error instanceof WorkerDied) {
        setSaid("");
      } else {
        throw error;
      }
    }
  };
  return (
    <span class="button-row">
      <button type="button" class={kind} {...(short === undefined ? {} : { "aria-label": label })} onClick={() => void save()}>
        {short ?? label}
      </button>
      <span class="ink-mute" role="status">
        {said}
      </span>
    </span>
  );
}
