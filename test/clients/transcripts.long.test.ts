/** Every client of `clients` plays its part of every transcript. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
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
      beforeAll(prepare, 300_000);

      for (const transcript of TRANSCRIPTS.filter(({ not }) => not?.includes(name) !== true)) {
        test.concurrent(`${transcript.name}: ${transcript.title}`, async () => {
          const { lock, looks, watches, elects, extendsMs, holds, forks } = transcript;
          let finish = (): void => undefined;
          await using replay = await Replay.start(transcript, () => finish());
          const part = {
            ...(lock && { lock }),
            ...(looks && { looks }),
            ...(watches && { watches }),
            ...(elects && { elects }),
            ...(extendsMs && { extendsMs }),
            ...(holds && { holds }),
            ...(forks && { forks }),
          };
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

      test.concurrent("no proxy of the environment gets an owner's secret in clear text", async () => {
        const plain = TRANSCRIPTS.find(({ name }) => name === "plain");
        if (plain?.lock === undefined) throw new Error("there is no transcript of a plain lock");
        const heard: string[] = [];
        await using proxy = await listeningServer((request) => heard.push(`${request.url}`));
        await using replay = await Replay.start(plain, () => undefined);
        const { port } = proxy.address;
        const variables = Object.fromEntries(
          ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].map(
            (name) => [name, `http://127.0.0.1:${port}`],
          ),
        );
        variables["JAVA_TOOL_OPTIONS"] =
          `-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=${port} -Dhttp.nonProxyHosts=`;
        // An address of this machine that no library takes for one of the loopback interface.
        const endpoints = replay.endpoints.replaceAll("127.0.0.1", "0.0.0.0");
        const part = { lock: plain.lock };
        const driver = startDriver(language, part, endpoints, ACCESS_TOKEN, variables);
        const reports = await driver.reports;
        expect({ heard, outcome: reports["outcome"] }).toEqual({ heard: [], outcome: "released" });
      });
    },
  );
}

async function listeningServer(
  onRequest: (request: IncomingMessage) => void,
): Promise<AsyncDisposable & { readonly address: AddressInfo }> {
  const server = createServer((request, response) => {
    onRequest(request);
    response.writeHead(502, { Connection: "close" }).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    address: server.address() as AddressInfo,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
