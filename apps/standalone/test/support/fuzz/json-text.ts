/** JSON text that JSON.stringify cannot produce: numbers in their original spelling, or invalid JSON. */
export class Raw {
  constructor(readonly text: string) {}
}

/** A member whose key is written twice. */
export class Twice {
  constructor(readonly value: unknown) {}
}

/** Like JSON.stringify, but writes `Raw` and `Twice` as they specify. Undefined members are omitted. */
export function jsonText(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (value instanceof Twice) return jsonText(value.value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).flatMap(([key, member]) => {
    const text = `${JSON.stringify(key)}:${jsonText(member)}`;
    return member === undefined ? [] : member instanceof Twice ? [text, text] : [text];
  });
  return `{${members.join(',')}}`;
}
