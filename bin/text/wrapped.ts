/** Lines of a text that is wider than where it is shown. Pure. */
import { cutAtTheEnd, displayWidth } from "./display-width.js";

/** Words, with line breaks between them where the width is used up; the first one stays indented. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  const [, indent = "", words = ""] = /^( *)(.*)$/s.exec(text) ?? [];
  let line = indent;
  for (const word of words.split(" ")) {
    const longer = line.trim() === "" ? line + word : `${line} ${word}`;
    if (displayWidth(longer) <= columns) {
      line = longer;
      continue;
    }
    if (line.trim() !== "") lines.push(line);
    line = word;
    while (displayWidth(line) > columns) {
      const cut = cutAtTheEnd(line, columns);
      // A character that is wider than the screen.
      if (cut === "") break;
      lines.push(cut);
      line = line.slice(cut.length);
    }
  }
  return [...lines, line];
}
