import type { JsonSchema } from './json-schema.js';

export type Parts = Record<string, JsonSchema>;

/** The components of one kind, by name. Different components with the same name get a number. */
export class Components {
  readonly parts: Parts = {};

  constructor(private readonly kind: string) {}

  referTo(name: string, part: JsonSchema): JsonSchema {
    const text = JSON.stringify(part);
    for (let n = 1; ; n += 1) {
      const key = n === 1 ? name : `${name}_${n}`;
      this.parts[key] ??= part;
      if (JSON.stringify(this.parts[key]) === text) return { $ref: `#/components/${this.kind}/${key}` };
    }
  }
}

export const mapped = <P extends Parts | undefined>(
  parts: P,
  change: (part: JsonSchema, name: string) => JsonSchema,
): P => parts && (Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part, name)])) as P);
