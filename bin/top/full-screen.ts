/**
 * The terminal of `holdfast top`: takes the whole screen, draws lines, reports keys and sizes, and
 * gives the terminal back as it was, however the process ends short of SIGKILL. It decides nothing.
 * Text reaches it safe to show; the only escape sequences that are written are its own.
 */
import { writeSync } from "node:fs";
import { isOutputClosed, styled } from "../output/terminal.js";
import { onUnplannedExit } from "../output/unplanned-exit.js";
import { type Key, KeyReader } from "./keys.js";
import type { Line } from "./line.js";
import type { Size } from "./top-state.js";

const ESCAPE = "\u001b";
/** Saves the cursor and takes the alternate screen; hides the cursor; lines do not wrap. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?7l${ESCAPE}[2J`;
const LEAVE = `${ESCAPE}[0m${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`;
/** Before the text: after a text as wide as the terminal it would erase the last character. */
const ERASE_LINE = `${ESCAPE}[2K`;
/** How long the rest of a sequence may take to arrive after its first byte. */
const SEQUENCE_MS_MAX = 50;
const SIZE_DEFAULT: Size = { columns: 80, rows: 24 };

export interface ScreenEvents {
  readonly onKey: (key: Key) => void;
  readonly onSize: (size: Size) => void;
  /** The terminal has gone away. */
  readonly onGone: () => void;
  /** It was given back for a while; everything has to be drawn again. */
  readonly onResumed: () => void;
}

export class FullScreen {
  readonly #events: ScreenEvents;
  readonly #reader = new KeyReader();
  #isEntered = false;
  #drawn: readonly string[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  #release: (() => void)[] = [];

  constructor(events: ScreenEvents) {
    this.#events = events;
  }

  get size(): Size {
    return sizeOf(process.stdout);
  }

  /** Takes the screen. `leave` must follow. */
  enter(): void {
    const restore = (): void => this.#restore();
    const resume = (): void => this.#resume();
    const suspend = (): void => this.suspend();
    const resize = (): void => {
      this.#drawn = [];
      this.#events.onSize(this.size);
    };
    // Before the failure is reported, which would be lost on this screen.
    process.on("uncaughtExceptionMonitor", restore);
    process.on("SIGCONT", resume).on("SIGTSTP", suspend);
    process.stdout.on("resize", resize);
    const onData = (chunk: string): void => this.#read(chunk);
    const onEnd = (): void => this.#events.onGone();
    process.stdin.setEncoding("utf8").on("data", onData).on("end", onEnd).on("error", onEnd);
    this.#release = [
      onUnplannedExit(restore),
      () => process.off("uncaughtExceptionMonitor", restore),
      () => process.off("SIGCONT", resume).off("SIGTSTP", suspend),
      () => process.stdout.off("resize", resize),
      () => process.stdin.off("data", onData).off("end", onEnd).off("error", onEnd).pause(),
    ];
    this.#take();
  }

  /** Gives the terminal back for good. */
  leave(): void {
    this.#restore();
    clearTimeout(this.#flushTimer);
    for (const release of this.#release.splice(0)) release();
  }

  /** Writes the lines that changed, unless the terminal has not taken the last ones yet. */
  draw(lines: readonly Line[]): boolean {
    if (!this.#isEntered || isOutputClosed()) return true;
    if (process.stdout.writableNeedDrain) return false;
    const texts = lines.map(painted);
    const changed = texts.flatMap((text, at) => {
      return text === this.#drawn[at] ? [] : [`${ESCAPE}[${at + 1};1H${ERASE_LINE}${text}`];
    });
    this.#drawn = texts;
    if (changed.length > 0) process.stdout.write(changed.join(""));
    return true;
  }

  /** Draws every line with the next call of `draw`. */
  forget(): void {
    this.#drawn = [];
  }

  /** Gives the terminal back and stops this job, as Ctrl-Z does; `SIGCONT` goes on. */
  suspend(): void {
    this.#restore();
    const listeners = process.listeners("SIGTSTP");
    process.removeAllListeners("SIGTSTP");
    // The whole job, because `npx` and scripts around this process belong to it.
    process.kill(0, "SIGTSTP");
    // From here it runs again, or was never stopped, because nobody could continue it.
    setImmediate(() => {
      for (const listener of listeners) process.on("SIGTSTP", listener);
      this.#resume();
    });
  }

  #resume(): void {
    if (this.#release.length === 0) return;
    // The shell has set the terminal as it likes it.
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    this.#take();
    this.#events.onSize(this.size);
    this.#events.onResumed();
  }

  #take(): void {
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    process.stdin.resume();
    this.#isEntered = true;
    this.#drawn = [];
    process.stdout.write(ENTER);
  }

  /** At once: nothing is written after the process ends. */
  #restore(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    try {
      writeSync(process.stdout.fd, LEAVE);
      if (process.stdin.isTTY) process.stdin.setRawMode(false);
    } catch {
      // The terminal is gone, and with it what could be restored.
    }
  }

  #read(chunk: string): void {
    clearTimeout(this.#flushTimer);
    for (const key of this.#reader.feed(chunk)) this.#events.onKey(key);
    if (!this.#reader.isWaiting) return;
    this.#flushTimer = setTimeout(() => {
      for (const key of this.#reader.flush()) this.#events.onKey(key);
    }, SEQUENCE_MS_MAX);
  }
}

/** Some terminals do not report their size. */
function sizeOf({ columns, rows }: NodeJS.WriteStream): Size {
  return columns > 0 && rows > 0 ? { columns, rows } : SIZE_DEFAULT;
}

function painted(line: Line): string {
  const texts = line.map(({ text, style }) => {
    return style === undefined ? text : styled(style, text, process.stdout);
  });
  return texts.join("");
}
