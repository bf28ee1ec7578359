/**
 * Writes plain data as text in one form: equal data give equal text, whatever the order of
 * properties.
 */
export function canonicalTextOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  if (Array.isArray(value)) return `[${value.map(canonicalTextOf).join(",")}]`;
  const parts: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const part: unknown = Reflect.get(value, name);
    if (part !== undefined) parts.push(`${name}:${canonicalTextOf(part)}`);
  }
  return `{${parts.join(",")}}`;
}
