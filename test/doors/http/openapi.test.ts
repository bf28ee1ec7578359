/**
 * The description of the HTTP door: it is valid OpenAPI, the node serves it, and every request that is
 * made from it is answered as it says.
 */
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assert } from "../../../src/errors/index.js";
import { type DoorAnswer, DoorWorld } from "./door-world.js";

const TEXT = readFileSync(new URL("../../../docs/reference/openapi.json", import.meta.url), "utf8");

interface Parameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly required?: boolean;
  readonly example?: unknown;
  readonly $ref?: string;
}

interface Content {
  readonly schema: object;
  readonly example?: unknown;
}

interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Response>>;
}

const DOCUMENT = JSON.parse(TEXT) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

function operationOf(path: string, method: string): Operation {
  const operation = DOCUMENT.paths[path]?.[method];
  assert(operation !== undefined, () => `${method} ${path} is not described`);
  return operation;
}

/** What stands at a reference, or the thing itself. */
function resolved<Thing extends { readonly $ref?: string }>(thing: Thing): Thing {
  if (thing.$ref === undefined) return thing;
  let found: unknown = DOCUMENT;
  for (const name of thing.$ref.slice(2).split("/")) {
    found = (found as Record<string, unknown>)[name];
  }
  return found as Thing;
}

/** Answers may get new members; what they have now must be described. */
function closed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(closed);
  const members = Object.entries(value).map(([name, member]) => [name, closed(member)]);
  const copy = Object.fromEntries(members) as Record<string, unknown>;
  const isObject = copy["type"] === "object" && "properties" in copy;
  return isObject ? { additionalProperties: false, ...copy } : copy;
}

/** For generators, which would take 32 bits. */
const int64 = { type: "number", validate: Number.isSafeInteger } as const;
const ajv = new Ajv2020({ strict: false, formats: { int64 } });
ajv.addSchema(closed({ ...DOCUMENT, $id: "door" }) as object);

function pointerTo(...names: readonly string[]): string {
  const escaped = names.map((name) => {
    return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
  });
  return `door#/${escaped.join("/")}`;
}

/** Fails unless the description has that answer. */
function expectDescribed(path: string, method: string, answer: DoorAnswer): void {
  const { responses } = operationOf(path, method);
  const status = String(answer.status);
  const response = responses[status];
  expect(response, `${method} ${path} answered ${status}: ${answer.text}`).toBeDefined();
  const { content, headers = {} } = resolved(response as Response);
  for (const name of Object.keys(headers))
    expect(answer.headers).toHaveProperty(name.toLowerCase());
  const type = answer.headers["content-type"];
  if (content === undefined) {
    expect(answer.text).toBe("");
    return;
  }
  expect(Object.keys(content)).toContain(type);
  const place = response?.$ref?.slice(2).split("/") ?? ["paths", path, method, "responses", status];
  const $ref = pointerTo(...place, "content", String(type), "schema");
  const validate = ajv.compile({ $ref });
  expect(validate(answer.body), JSON.stringify([validate.errors, answer.body])).toBe(true);
}

describe("the description of the HTTP door", () => {
  let world: DoorWorld;

  beforeAll(async () => {
    world = await DoorWorld.start();
  });

  afterAll(() => world.stop());

  /** Sends what the description says, with the parameters that `chooses`. */
  async function send(
    path: string,
    method: string,
    chooses: (parameter: Parameter) => boolean,
  ): Promise<DoorAnswer> {
    const { parameters, requestBody } = operationOf(path, method);
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    for (const parameter of parameters.map(resolved)) {
      if (parameter.example === undefined || !chooses(parameter)) continue;
      if (parameter.in === "query") query.set(parameter.name, String(parameter.example));
      else headers[parameter.name] = String(parameter.example);
    }
    const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
    if (type !== undefined) headers["Content-Type"] = type;
    const body = content && JSON.stringify(content.example);
    const target = `${path}?${query}`;
    return world.ask(method.toUpperCase(), target, { headers, ...(body ? { body } : {}) });
  }

  test("is valid", async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(TEXT));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  test("has nothing of which generators make something else", () => {
    const findings: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      const {
        default: preset,
        enum: words,
        const: constant,
        type,
      } = value as Record<string, unknown>;
      // They require it in requests, or send it where it contradicts.
      if (preset !== undefined) findings.push(`${path}: a default`);
      if ((words ?? constant) !== undefined && type !== "string") {
        findings.push(`${path}: words that are not of the type string`);
      }
      for (const [name, member] of Object.entries(value)) visit(member, `${path}/${name}`);
    };
    const { servers: _servers, ...rest } = JSON.parse(TEXT) as Record<string, unknown>;
    visit(rest, "");
    expect(findings).toEqual([]);
  });

  test("has a name for one thing only, for languages that have one namespace", () => {
    const { components } = JSON.parse(TEXT) as { components: Record<string, object> };
    const { securitySchemes: _schemes, headers: _headers, ...typed } = components;
    const names = Object.values(typed).flatMap((named) => Object.keys(named));
    expect(names).toEqual([...new Set(names)]);
  });

  test("is served by the node", async () => {
    const answer = await world.ask("GET", "/v1/openapi.json");
    expect(answer.body).toEqual(DOCUMENT);
    expectDescribed("/v1/openapi.json", "get", answer);
  });

  // In this order each finds what the ones before it left.
  const CALLS: readonly (readonly [string, string])[] = [
    ["/v1/lock", "put"],
    ["/v1/lock", "get"],
    ["/v1/lock", "head"],
    ["/v1/lock/extend", "post"],
    ["/v1/verify", "get"],
    ["/v1/verify", "head"],
    ["/v1/locks", "get"],
    ["/v1/locks", "head"],
    ["/v1/lock", "delete"],
    ["/v1/locks", "post"],
  ];

  test("has a request of every kind that is tried here, and no other", () => {
    const all = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) => {
      return Object.keys(methods).map((method) => `${method} ${path}`);
    });
    const tried = CALLS.map(([path, method]) => `${method} ${path}`);
    const endless = ["get /v1/watch", "get /v1/openapi.json"];
    expect(new Set(all)).toEqual(new Set([...tried, ...endless]));
  });

  for (const [path, method] of CALLS) {
    const { operationId, parameters } = operationOf(path, method);

    test(`says how ${operationId} is answered`, async () => {
      for (const chooses of [(one: Parameter) => one.required === true, () => true]) {
        const answer = await send(path, method, chooses);
        // The second time the first is in the way of a take without an Idempotency-Key.
        expect([200, 409]).toContain(answer.status);
        if (method !== "head") expectDescribed(path, method, answer);
      }
    });

    const required = parameters.map(resolved).filter((one) => one.required === true);
    test.each(required)(`says what ${operationId} needs: $name`, async ({ name }) => {
      const answer = await send(path, method, (parameter) => parameter.name !== name);
      expect(answer.status).toBe(400);
      if (method !== "head") {
        expectDescribed(path, method, answer);
        expect(answer.body.detail).toContain(name);
      }
    });

    test(`says how ${operationId} is refused`, async () => {
      const query = "?nothing=here";
      const unknown = await world.ask(method.toUpperCase(), `${path}${query}`, {
        ...(method === "post"
          ? { headers: { "Content-Type": "application/json" }, body: "{}" }
          : {}),
      });
      expect(unknown.status).toBe(400);
      const host = await world.ask(method.toUpperCase(), path, {
        headers: { Host: "evil.example" },
      });
      expect(host.status).toBe(421);
      if (method === "head") return;
      expectDescribed(path, method, unknown);
      expectDescribed(path, method, host);
    });
  }
});
