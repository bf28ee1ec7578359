/**
 * A transcript is a text that can be read and replayed: comments (`#`), commands at the beginning
 * of a line, and under each command, indented, its effects. A replay writes the effects again and
 * must keep every other line as it is.
 */
import { runCommand, sceneOf } from "./transcript-commands.js";
import type { Scene } from "./transcript-scene.js";

const INDENT = "  ";

export interface Replay {
  readonly text: string;
  /** What broke: an invariant, or the transcript itself. The text ends there. */
  readonly error: unknown;
}

/** The text of `transcript` with the effects of the core as it is now. */
export function replay(transcript: string): Replay {
  const lines: string[] = [];
  let scene: Scene | undefined;
  for (const line of transcript.split("\n")) {
    if (line.startsWith(INDENT)) continue;
    lines.push(line);
    if (line === "" || line.startsWith("#")) continue;
    try {
      const stage = sceneOf(line);
      if (stage !== undefined) scene = stage;
      else if (scene === undefined) throw new Error(`no cluster for: ${line}`);
      else runCommand(scene, line);
      lines.push(...indented(scene));
    } catch (error) {
      lines.push(...indented(scene), `${INDENT}${String(error)}`);
      return { text: lines.join("\n"), error };
    }
  }
  return { text: lines.join("\n"), error: undefined };
}

function indented(scene: Scene | undefined): string[] {
  return (scene?.takeLines() ?? []).map((line) => `${INDENT}${line}`);
}
