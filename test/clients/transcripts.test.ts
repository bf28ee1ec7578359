/** Every client of `clients` plays its part of every transcript. */
import { beforeAll, describe, expect, test } from "vitest";
import { LANGUAGES, startDriver } from "./languages.js";
import { ACCESS_TOKEN, Replay } from "./replay.js";
import { readTranscripts } from "./transcript.js";

const TRANSCRIPTS = readTranscripts();

for (const language of LANGUAGES) {
  const { name, missing, prepare } = language;
  describe.skipIf(missing !== undefined)(
    `the client for ${name} [${missing ?? "is tested"}]`,
    () => {
      beforeAll(prepare, 120_000);

      for (const transcript of TRANSCRIPTS.filter(({ not }) => not?.includes(name) !== true)) {
        test.concurrent(`${transcript.name}: ${transcript.title}`, async () => {
          const { lock, looks, holds } = transcript;
          let finish = (): void => undefined;
          await using replay = await Replay.start(transcript, () => finish());
          const part = { ...(lock && { lock }), ...(looks && { looks }), ...(holds && { holds }) };
          const driver = startDriver(language, part, replay.endpoints, ACCESS_TOKEN);
          finish = driver.finish;
          const reports = { ...(await driver.reports) };
          if (reports["slots"] === null || String(reports["slots"]) === "") delete reports["slots"];
          const { differences } = replay;
          expect({ reports, differences }).toEqual({
            reports: language.expected(transcript.reports),
            differences: [],
          });
        });
      }
    },
  );
}
