// What stands where samples ended, for links: instructions are read here, and of source files it is said which are wanted. Who
// has their text is asked by the page.

import type { HotPlaceRows, Session } from "../generated/perftab_web.js";
import type { Args, WantedSource } from "../session/types.ts";
import { NONE } from "../session/types.ts";
import type { CodeOfBuild, NotedSource } from "./images_protocol.ts";
import type { ImagesSide } from "./images_side.ts";
import type { Slices } from "./slices.ts";

/** Places of one file in one DSO. */
interface FilePlaces {
  dso: number;
  path: string;
  addresses: bigint[];
}

export async function readPlaces(
  session: Session,
  side: ImagesSide,
  places: HotPlaceRows,
  { options, ...how }: Args<"readPlaces">,
  codeOf: (dso: number) => CodeOfBuild | null,
  slices: Slices,
): Promise<WantedSource[]> {
  session.beginPlaceTexts();
  if (options.privacy?.assembly === "included") {
    for (const [dso, addresses] of byDso(places)) {
      const texts = await side.instructionsAt(dso, addresses, codeOf, how, slices);
      side.checkOpen(slices);
      session.tellInstructions(dso, addresses, texts);
    }
  }
  return options.privacy?.source === "included" ? await wantedSources(side, places, slices) : [];
}

/** Each address once; they are in order. */
function byDso({ dso, address }: HotPlaceRows): Map<number, BigUint64Array> {
  const all = new Map<number, bigint[]>();
  dso.forEach((of, at) => {
    const own = all.get(of) ?? [];
    if (own.at(-1) !== address[at]) {
      own.push(address[at] ?? 0n);
    }
    all.set(of, own);
  });
  return new Map([...all].map(([of, addresses]) => [of, BigUint64Array.from(addresses)]));
}

/** One that was compiled from several contents has no text that is that of all its lines. */
async function wantedSources(side: ImagesSide, places: HotPlaceRows, slices: Slices): Promise<WantedSource[]> {
  const noted = new Map<string, { of: FilePlaces; noted: NotedSource }[]>();
  for (const own of placesByDso(places)) {
    const dso = own[0]?.dso ?? 0;
    const files = own.map(({ path, addresses }) => ({ path, addresses: BigUint64Array.from(addresses) }));
    const found = await side.sourcesOf(dso, files, slices);
    own.forEach((of, at) => {
      const known = found[at];
      if (known !== undefined) {
        noted.set(of.path, [...(noted.get(of.path) ?? []), { of, noted: known }]);
      }
    });
  }
  const lines = linesByFile(places);
  return [...noted].flatMap(([path, each]) => {
    const all = each.flatMap(({ noted: { md5s } }) => md5s);
    const sums = new Map(all.flatMap((md5) => (md5 === null ? [] : [[md5.join(), md5]])));
    const [first] = each;
    if (first === undefined || sums.size > 1) {
      return [];
    }
    const md5 = [...sums.values()][0] ?? null;
    const { of, noted: own } = first;
    const isOne = md5 !== null || each.length === 1;
    return {
      path,
      md5,
      noted: md5 === null ? "none" : all.includes(null) ? "some" : "all",
      code: own.inFile === null || !isOne ? null : { dso: of.dso, address: own.inFile },
      at: { dso: of.dso, address: of.addresses[0] ?? 0n },
      lines: Uint32Array.from(lines.get(path) ?? []),
    };
  });
}

function placesByDso({ dso, address, file, files }: HotPlaceRows): FilePlaces[][] {
  const all = new Map<number, Map<number, FilePlaces>>();
  file.forEach((number, at) => {
    const path = number === NONE ? undefined : files[number];
    if (path !== undefined) {
      const of = dso[at] ?? 0;
      const own = all.get(of) ?? new Map<number, FilePlaces>();
      const known = own.get(number) ?? { dso: of, path, addresses: [] };
      known.addresses.push(address[at] ?? 0n);
      all.set(of, own.set(number, known));
    }
  });
  return [...all.values()].map((own) => [...own.values()]);
}

function linesByFile({ file, line, files }: HotPlaceRows): Map<string, Set<number>> {
  const all = new Map<string, Set<number>>();
  file.forEach((number, at) => {
    const path = number === NONE ? undefined : files[number];
    const own = line[at] ?? 0;
    if (path !== undefined && own > 0) {
      all.set(path, (all.get(path) ?? new Set()).add(own));
    }
  });
  return all;
}
