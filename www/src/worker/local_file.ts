// A file of the machine that `perftab view` runs on, read piece by piece where it is.

import type { Blocks } from "./sources.ts";
import { askForRange, BlockSource, bytesOf } from "./sources.ts";

/** A request costs some milliseconds, whatever comes. Most libraries are a block or two. */
const LARGE: Blocks = { bytes: 256 * 1024, kept: 4 };

/** What the server said of it when it was asked first. */
export class LocalFile {
  readonly url: string;
  readonly size: number;
  /** Its entity tag: all pieces have to be of one state of the file. */
  readonly state: string;
  readonly start: Uint8Array;

  private constructor(url: string, size: number, state: string, start: Uint8Array) {
    this.url = url;
    this.size = size;
    this.state = state;
    this.start = start;
  }

  /**
   * null if the machine has no such file. It is asked at once: an answer that is awaited waits for what else the worker does,
   * 40 ms and more for each of a hundred files.
   */
  static find(url: string): LocalFile | null {
    const reply = askForRange(url, 0, LARGE.bytes);
    if (reply.status === 404) {
      return null;
    }
    const size = /^bytes 0-\d+\/(\d+)$/.exec(reply.getResponseHeader("Content-Range") ?? "")?.[1];
    const state = reply.getResponseHeader("ETag");
    if (reply.status !== 206 || size === undefined || state === null) {
      throw new Error(`perftab view answered ${reply.status} to a range`);
    }
    return new LocalFile(url, Number(size), state, bytesOf(reply));
  }
}

export class LocalSource extends BlockSource {
  readonly #file: LocalFile;

  constructor(file: LocalFile) {
    super(file.size, LARGE);
    this.#file = file;
  }

  protected load(from: number, to: number): Uint8Array {
    const { url, state, start } = this.#file;
    if (to <= start.length) {
      return start.slice(from, to);
    }
    const reply = askForRange(url, from, to, { "If-Match": state });
    if (reply.status !== 206) {
      throw new Error(reply.status === 412 ? "it changed while it was read" : `perftab view answered ${reply.status} to a range`);
    }
    return bytesOf(reply);
  }
}
