/** JSON text that no value stands for: numbers as they are spelled, or no JSON at all. */
export class Raw {
  constructor(readonly text: string) {}
}

/** A member whose key is written twice. */
export class Twice {
  constructor(readonly value: unknown) {}
}

/** Like JSON.stringify, with members spelled as `Raw` and `Twice` say. Members that are undefined are left out. */
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
