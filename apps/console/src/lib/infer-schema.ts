type Schema = Record<string, unknown>;

/** A JSON Schema that the example fits: the start of an input schema, which its author then narrows. */
export function schemaOf(example: unknown): Schema {
  if (Array.isArray(example)) return { type: 'array', ...(example.length > 0 && { items: schemaOf(example[0]) }) };
  if (example === null) return {};
  if (typeof example === 'number') return { type: Number.isInteger(example) ? 'integer' : 'number' };
  if (typeof example !== 'object') return { type: typeof example };
  const fields = Object.entries(example);
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, value]) => [name, schemaOf(value)])),
    ...(fields.length > 0 && { required: fields.map(([name]) => name) }),
  };
}
