/** How the ports report what exceeds a limit by identity or address. Types, and the default. */
export interface PortLimits {
  /** Whether what exceeds a limit is refused, or cut off; otherwise it is only counted. */
  readonly isEnforced: boolean;
  note(
    by: "identity" | "address",
    limit: "connectionsMax" | "unfinishedBytesMax" | "loopShare",
    name: string,
    max: number | undefined,
  ): void;
}

export const UNCOUNTED_LIMITS: PortLimits = Object.freeze({ isEnforced: true, note: () => {} });
