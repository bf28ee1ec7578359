/** The HttpClient of the JDK with its defaults, which ask for an upgrade to HTTP/2, at a real node. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DoorWorld } from "./door-world.js";

const isMissing = spawnSync("java", ["--version"]).status !== 0;

/** Prints the status of each answer, and its body. */
const PROGRAM = `
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

public class Locks {
  public static void main(String[] arguments) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    String base = arguments[0];
    String[][] calls = {
      {"GET", "/readyz", ""},
      {"PUT", "/v1/lock?key=java&ttl=30s", ""},
      {"GET", "/v1/lock?key=java", ""},
      {"POST", "/v1/locks", "{\\"items\\":[{\\"key\\":\\"java/2\\"}],\\"ttl\\":\\"30s\\"}"},
      {"DELETE", "/v1/lock?key=java", ""},
    };
    for (String[] call : calls) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(base + call[1]))
        .header("Holdfast-Owner", "java")
        .header("Content-Type", "application/json")
        .method(call[0], call[2].isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(call[2]))
        .build();
      var response = client.send(request, BodyHandlers.ofString());
      System.out.println(response.statusCode() + " " + response.body().trim());
    }
  }
}
`;

describe.skipIf(isMissing)(`the JDK's HttpClient${isMissing ? " (java is missing)" : ""}`, () => {
  test("takes, reads and gives back locks with its defaults", async () => {
    const world = await DoorWorld.start();
    const directory = mkdtempSync(join(tmpdir(), "holdfast-java-"));
    const file = join(directory, "Locks.java");
    writeFileSync(file, PROGRAM);
    // The node runs in this process, which therefore must not wait.
    const java = spawn("java", [file, `http://127.0.0.1:${world.port()}`]);
    let said = "";
    java.stdout.on("data", (text) => {
      said += text;
    });
    let complaints = "";
    java.stderr.on("data", (text) => {
      complaints += text;
    });
    await once(java, "close");
    expect(complaints).toBe("");
    const lines = said.trim().split("\n");
    expect(lines.map((line) => line.slice(0, 4))).toEqual(["200 ", "200 ", "200 ", "200 ", "200 "]);
    expect(lines[4]).toContain('"released":true');
    await world.stop();
    rmSync(directory, { recursive: true });
  }, 120_000);
});
