/**
 * What a script uses that is never answered, whatever it is called with: commands of Redis, functions
 * and names. So it is refused when it is loaded, and not in the middle of its work.
 */
import { GLOBAL_NAMES } from "./interpreter.js";
import type { Expression, Statement } from "./lua-tree.js";
import { isCommand } from "./redis-commands.js";

/** Each once, in the order of the text. */
export function strangersIn(statements: readonly Statement[]): readonly string[] {
  const survey = new Survey();
  survey.block(statements);
  return survey.strangers();
}

class Survey {
  readonly #made = new Set<string>();
  readonly #used = new Set<string>();
  readonly #found = new Set<string>();

  strangers(): readonly string[] {
    const names = [...this.#used].filter((name) => !this.#made.has(name));
    return [...this.#found, ...names.filter((name) => !GLOBAL_NAMES.has(name))];
  }

  block(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case "local":
        for (const name of statement.names) this.#made.add(name);
        this.#all(statement.values);
        return;
      case "assign":
        this.#used.add(statement.name);
        this.#all([statement.value]);
        return;
      case "put":
        this.#all([statement.table, statement.at, statement.value]);
        return;
      case "call":
        this.#all([statement.call]);
        return;
      case "if":
        for (const { when, body } of statement.cases) {
          this.#all([when]);
          this.block(body);
        }
        this.block(statement.otherwise);
        return;
      case "count":
        this.#made.add(statement.name);
        this.#all([statement.from, statement.to, statement.step ?? statement.to]);
        this.block(statement.body);
        return;
      case "each":
        this.#made.add(statement.index).add(statement.item);
        this.#all([statement.list]);
        this.block(statement.body);
        return;
      case "function":
        for (const name of [statement.name, ...statement.parameters]) this.#made.add(name);
        this.block(statement.body);
        return;
      case "block":
        this.block(statement.body);
        return;
      case "return":
        if (statement.value !== undefined) this.#all([statement.value]);
    }
  }

  #all(expressions: readonly Expression[]): void {
    for (const expression of expressions) this.#expression(expression);
  }

  #expression(expression: Expression): void {
    switch (expression.kind) {
      case "constant":
        return;
      case "name":
        this.#used.add(expression.name);
        return;
      case "index":
        this.#member(expression);
        this.#all([expression.of, expression.at]);
        return;
      case "table":
        this.#all(expression.fields.map(({ value }) => value));
        return;
      case "unary":
      case "single":
        this.#expression(expression.of);
        return;
      case "binary":
        this.#all([expression.left, expression.right]);
        return;
      case "call":
        this.#command(expression);
        this.#all([expression.callee, ...expression.args]);
    }
  }

  /** `string.format`, for example. */
  #member({ of, at }: Expression & { kind: "index" }): void {
    if (of.kind !== "name" || at.kind !== "constant" || typeof at.value !== "string") return;
    const members = GLOBAL_NAMES.get(of.name);
    if (members === undefined || members.includes(at.value)) return;
    this.#found.add(`${of.name}.${at.value}`);
  }

  #command({ callee, args: [first] }: Expression & { kind: "call" }): void {
    if (callee.kind !== "index" || callee.of.kind !== "name" || callee.of.name !== "redis") return;
    if (callee.at.kind !== "constant" || !["call", "pcall"].includes(String(callee.at.value)))
      return;
    if (first?.kind !== "constant" || typeof first.value !== "string") return;
    const command = first.value.toUpperCase();
    if (command !== "SELECT" && !isCommand(command)) this.#found.add(command.slice(0, 64));
  }
}
