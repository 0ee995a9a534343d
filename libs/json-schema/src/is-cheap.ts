/** Each of these is applied once to each value, in a time that its own length and the value's bound. */
const CHEAP = new Set([
  ...['$schema', '$comment', 'title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['type', 'const', 'required', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
]);
const MAX_ENUM = 50;

/**
 * Whether checks against a schema take a time that is linear in the value. Schemas with patterns, unique items,
 * references or alternatives are not cheap, whatever they say.
 */
export function isCheap(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return typeof schema === 'boolean';
  return Object.entries(schema).every(([key, value]: [string, unknown]) => {
    if (key === 'properties') return Object.values(value as object).every(isCheap);
    if (key === 'items' || key === 'additionalProperties') return isCheap(value);
    if (key === 'enum') return Array.isArray(value) && value.length <= MAX_ENUM;
    return CHEAP.has(key);
  });
}
