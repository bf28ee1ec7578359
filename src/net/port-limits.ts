/** How the ports report what exceeds a limit by identity or address: words, types, the default. */

/** Whose use is counted together and limited. */
export const LIMITED_BY = ["identity", "address"] as const;
export type LimitedBy = (typeof LIMITED_BY)[number];

export interface PortLimits {
  /** Whether what exceeds a limit is refused, or cut off; otherwise it is only counted. */
  readonly isEnforced: boolean;
  note(
    by: LimitedBy,
    limit: "connectionsMax" | "unfinishedBytesMax" | "loopShare",
    name: string,
    max: number | undefined,
  ): void;
}

export const UNCOUNTED_LIMITS: PortLimits = Object.freeze({ isEnforced: true, note: () => {} });
