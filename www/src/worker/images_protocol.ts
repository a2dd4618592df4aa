// What crosses between the worker of a session and that of its images: calls and answers as between the page and the
// session, and what files turned out to be, which comes before the answer to the call that it came of.

import type {
  CodeHeatRows,
  DataAnswer,
  DataRequest,
  DsoTable,
  Findings,
  ForcedFile,
  ForceOutcome,
  NameAnswer,
  NameRequest,
  OfferReport,
  UnwindTables,
} from "../generated/perftab_web.js";
import type {
  Args,
  Call,
  CarriedWasm,
  CodeOfFile,
  FetchOutcome,
  FetchRequest,
  ListedCode,
  ReadSource,
  Result,
  Server,
  Syntax,
} from "../session/types.ts";

/** A file of the machine that `perftab view` runs on: what the server said of it when it was asked first. */
export interface LocalFile {
  readonly url: string;
  readonly size: number;
  /** Its entity tag: all pieces have to be of one state of the file. */
  readonly state: string;
  readonly start: Uint8Array;
  /** Known once it was hashed; else whoever needs it reads the file for that. */
  sha256: Uint8Array | undefined;
}

/** Where in a DSO samples ended, ascending. */
export type DsoHeat = Omit<CodeHeatRows, "addresses"> & { addresses: BigUint64Array };

/** The code of a build: as its file has it, or of a kernel as it ran. */
export interface CodeOfBuild {
  id: string;
  artifact: "executable" | "memory";
}

/** A file that may be an image: its bytes, or where they are. */
export interface GivenFile {
  name: string;
  bytes: Blob | LocalFile;
}

/** How instructions are written, and the module that decodes them, as the page has it. */
export interface HowListed {
  syntax: Syntax;
  listing: string;
}

/** Addresses of a DSO whose code is of a source file, ascending. */
export interface PlacesOfFile {
  path: string;
  addresses: BigUint64Array;
}

/** What the compiler noted as MD5 for them, each sum once, and null if it noted none for some; and the first in its file. */
export interface NotedSource {
  md5s: (Uint8Array | null)[];
  inFile: bigint | null;
}

/** Method by method: what goes in and what comes back. */
export interface ImagesProtocol {
  /** What became of each file. */
  offer: { args: { files: readonly GivenFile[] }; result: OfferReport[] };
  /** What servers said; and what came, if it is of use. Only executables tell how stacks are unwound. */
  fetch: { args: FetchRequest & { unwinds: boolean }; result: FetchOutcome & { found: GivenFile | null } };
  /** Asks the machine of `perftab view` for what debug information names, and offers it; whether any of it is of use. */
  companions: { args: { server: Server }; result: boolean };
  /** Asks the machine of `perftab view` for the code of a build, and offers it; whether it is of use. */
  code: { args: { server: Server; code: CodeOfBuild }; result: boolean };
  /** A file that is not the one that ran: what a session is told then. Else what became of it. */
  insist: { args: { dso: number; addresses: BigUint64Array<ArrayBuffer>; file: GivenFile }; result: Insisted };
  name: { args: NameRequest; result: NameAnswer };
  /** Names of data; null if no file of the DSO has any. */
  nameObjects: { args: DataRequest; result: DataAnswer | null };
  /** What files said of the code of processes, since this was asked last. */
  codeTables: { args: Record<string, never>; result: Uint8Array[] };
  /** The code where samples ended in a DSO. `listing` is the module that decodes, as the page has it. */
  listCode: { args: { heat: DsoHeat; how: HowListed }; result: ListedCode };
  /** The instructions at addresses of a DSO, with what they lead to; empty where there is none. */
  instructionsAt: { args: { dso: number; addresses: BigUint64Array; how: HowListed }; result: string[] };
  /** What is known of source files for code of a DSO. */
  sourcesOf: { args: { dso: number; files: readonly PlacesOfFile[] }; result: NotedSource[] };
  fetchSource: { args: Args<"fetchSource">; result: Result<"fetchSource"> };
  /** The text of a source file that is in the debug information; null if none is. */
  embeddedSource: { args: CodeOfFile; result: Uint8Array<ArrayBuffer> | null };
  /** A source file, and MD5 of the one that was compiled. */
  readSource: { args: { file: File; md5: Uint8Array | null; listing: string }; result: ReadSource };
  /** How stacks are unwound in a DSO; null if no file tells. */
  unwindTables: { args: { dso: number }; result: UnwindTables | null };
}

export type Insisted = { forced: ForcedFile; outcome?: never } | { forced?: never; outcome: ForceOutcome };

export type ImagesRequest = { type: "start-images"; wasm: CarriedWasm; table: DsoTable } | Call | { type: "cancel"; id: number };

/** Told without being asked. */
export interface Told {
  findings: Findings | null;
  /** What the worker holds. */
  bytes: number;
}
