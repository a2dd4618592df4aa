// The worker's source, from the script that unpacks it (boot.ts) to the page's own.

const kept = globalThis as { perftabWorker?: string };

export function keepWorker(source: string): void {
  kept.perftabWorker = source;
}

export function workerSource(): string {
  return kept.perftabWorker ?? "";
}
