/**
 * Sizes as people write and read them: `64MiB`, `512KiB`, `1GB`. A unit is required, as with
 * durations; KiB, MiB, GiB and TiB are powers of 1,024, kB, MB, GB and TB powers of 1,000.
 */
const UNITS_BYTES: Readonly<Record<string, number>> = Object.freeze({
  B: 1,
  kB: 1_000,
  MB: 1_000 ** 2,
  GB: 1_000 ** 3,
  TB: 1_000 ** 4,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
});

/** The units in which a size is written, from large to small. */
const WRITTEN = ["TiB", "GiB", "MiB", "KiB"] as const;

/** Whole bytes, or `undefined` if `text` is not a size with a unit. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)(B|kB|[MGT]B|[KMGT]iB)$/.exec(text.trim());
  const unit = UNITS_BYTES[match?.[2] ?? ""];
  if (match === null || unit === undefined) return undefined;
  const bytes = Number(match[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** For people: `812 B`, `1.2 MiB`. */
export function roughSize(bytes: number): string {
  for (const unit of WRITTEN) {
    const size = UNITS_BYTES[unit] ?? 1;
    if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}

/** Exactly, in the largest binary unit that divides it: what `parseSize` reads back. */
export function formatSize(bytes: number): string {
  for (const unit of WRITTEN) {
    const size = UNITS_BYTES[unit] ?? 1;
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return `${bytes}B`;
}
