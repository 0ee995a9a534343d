/**
 * What `JSON.parse(JSON.stringify(value))` gives, without the text between: what crosses a process border survives JSON
 * and nothing else does, also where there is no border.
 * @throws TypeError for a bigint, as JSON does.
 */
export function jsonCopy<T>(value: T): T {
  return copyOf(value, '') as T;
}

function copyOf(value: unknown, key: string): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON knows neither negative zero nor what is not finite.
      return Number.isFinite(value) ? value + 0 : null;
    case 'object':
      return value === null ? null : copyOfObject(value, key);
    case 'bigint':
      throw new TypeError('a bigint does not cross a process border');
    default:
      return undefined;
  }
}

function copyOfObject(value: object & { toJSON?: unknown }, key: string): unknown {
  if (typeof value.toJSON === 'function') return copyOf((value.toJSON as (key: string) => unknown)(key), key);
  if (Array.isArray(value)) return value.map((item, index) => copyOf(item, String(index)) ?? null);
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const copied = copyOf((value as Record<string, unknown>)[name], name);
    if (copied === undefined) continue;
    if (name === '__proto__') Object.defineProperty(copy, name, { value: copied, enumerable: true, configurable: true, writable: true });
    else copy[name] = copied;
  }
  return copy;
}
