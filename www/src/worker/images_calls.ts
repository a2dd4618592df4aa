// Every method of the images' worker, over the images of one profile.

import type { Images, OfferReport } from "../generated/perftab_images_web.js";
import { Offer } from "../generated/perftab_images_web.js";
import { codeAddress, companionAddress, fetchDso, fetchSource } from "./debuginfod.ts";
import type { GivenFile, ImagesProtocol, LocalFile } from "./images_protocol.ts";
import { findLocal, sourceOf } from "./local_file.ts";
import { instructionsAt, listCode, readSource } from "./listing.ts";
import type { Server } from "../session/types.ts";
import type { Slices } from "./slices.ts";

/** Bytes that are read or unpacked before the clock is looked at. */
const OFFERED = 1 << 20;

type Handlers = {
  [M in keyof ImagesProtocol]: (
    args: ImagesProtocol[M]["args"],
    slices: Slices,
  ) => ImagesProtocol[M]["result"] | Promise<ImagesProtocol[M]["result"]>;
};

export class ImagesCalls {
  readonly #images: Images;
  /** Says what files turned out to be since it was called last. */
  readonly #tell: () => void;
  /** Addresses. */
  readonly #companionsAsked = new Set<string>();

  constructor(images: Images, tell: () => void) {
    this.#images = images;
    this.#tell = tell;
  }

  readonly handlers: Handlers = {
    offer: ({ files }, slices) => this.#offerAll(files, slices),
    fetch: (request, slices) =>
      fetchDso(
        request,
        slices,
        (file) => this.#offer(file, (done) => slices.breathe({ stage: "offering", done, total: file.bytes.size })),
        (dso) => this.#images.hasUnwindTables(dso),
      ),
    code: async ({ server, code }, slices) => {
      const file = this.#find(codeAddress(server, code), slices);
      const breathe = (done: number): Promise<void> => slices.breathe({ stage: "offering", done });
      const report = file && (await this.#offer({ name: `${code.artifact} from ${server.host}`, bytes: file }, breathe));
      return (report?.used.length ?? 0) > 0;
    },
    companions: ({ server }, slices) => this.#fetchCompanions(server, slices),
    insist: ({ dso, addresses, file }) => {
      const insisted = this.#images.insist(dso, addresses, file.name, sourceOf(file.bytes));
      this.#tell();
      return insisted;
    },
    name: (request) => this.#images.name(request),
    nameObjects: ({ dso, addresses }) => this.#images.nameObjects(dso, addresses),
    codeTables: () => this.#images.takeCodeTables(),
    listCode: ({ heat, how }, slices) => listCode(this.#images, heat, how, slices),
    instructionsAt: (places, slices) => instructionsAt(this.#images, places, slices),
    sourcesOf: ({ dso, files }) =>
      files.map(({ path, addresses }) => ({
        md5s: this.#images.sourceSums(dso, path, addresses),
        inFile: this.#images.addressInFile(dso, addresses[0] ?? 0n) ?? null,
      })),
    fetchSource,
    embeddedSource: ({ dso, path, address }) => {
      const text = this.#images.embeddedSource(dso, path, address);
      return text === undefined ? null : Uint8Array.from(text);
    },
    readSource: ({ file, md5, listing }) => readSource(file, md5, listing),
    unwindTables: ({ dso }) => this.#images.unwindTables(dso),
  };

  /** All that naming wants by now. DSOs are named again once it is there, so that is told at the end. */
  async #fetchCompanions(server: Server, slices: Slices): Promise<boolean> {
    const states = new Set<string>();
    let isAnyUsed = false;
    for (const wanted of this.#images.wantedCompanions()) {
      const address = companionAddress(server, wanted);
      if (this.#companionsAsked.has(address)) {
        continue;
      }
      this.#companionsAsked.add(address);
      const file = this.#find(address, slices);
      // One package has the units of many.
      if (file !== null && !states.has(file.state)) {
        states.add(file.state);
        const given = { name: `${wanted.id} from ${server.host}`, bytes: file };
        const breathe = (done: number): Promise<void> => slices.breathe({ stage: "offering", done, total: file.size });
        const report = await this.#offer(given, breathe, () => undefined);
        isAnyUsed ||= report.used.length > 0;
      }
      await slices.breathe({ stage: "offering", done: 0 });
    }
    this.#tell();
    return isAnyUsed;
  }

  /** A server that is gone has nothing. */
  #find(address: string, slices: Slices): LocalFile | null {
    try {
      return findLocal(address);
    } catch {
      slices.check();
      return null;
    }
  }

  async #offerAll(files: readonly GivenFile[], slices: Slices): Promise<OfferReport[]> {
    const reports: OfferReport[] = [];
    const total = files.reduce((sum, { bytes }) => sum + bytes.size, 0);
    let before = 0;
    for (const file of files) {
      reports.push(await this.#offer(file, (done) => slices.breathe({ stage: "offering", done: before + done, total })));
      before += file.bytes.size;
      // A folder has thousands of files that take one step each.
      await slices.breathe({ stage: "offering", done: before, total });
    }
    return reports;
  }

  /** What of it was used stays used, also where `breathe` ends the work. */
  async #offer({ name, bytes }: GivenFile, breathe: (done: number) => Promise<void>, tell = this.#tell): Promise<OfferReport> {
    const offered = new Offer(name, sourceOf(bytes));
    try {
      for (;;) {
        const { done, report } = offered.step(this.#images, OFFERED);
        tell();
        if (report !== null) {
          return report;
        }
        await breathe(done);
      }
    } finally {
      offered.free();
    }
  }
}
