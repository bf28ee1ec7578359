/** Where the door may answer otherwise than Redis 7, and why. Everything else must be the same. */
export interface Difference {
  readonly command: RegExp;
  readonly redis: RegExp;
  readonly door: RegExp;
  readonly why: string;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    command: /^CLIENT SETINFO /i,
    redis: /^-ERR/,
    door: /^\+OK$/,
    why: "Redis has it since 7.2, and the door answers as Redis 8.",
  },
  {
    command: /^CLIENT MAINT_NOTIFICATIONS /i,
    redis: /^-ERR/,
    door: /^-/,
    why: "Neither has it; the texts of the errors differ.",
  },
];
