export type Json = Record<string, unknown>;
export type JsonSchema = Json;

const ONE =
  'items additionalProperties unevaluatedProperties unevaluatedItems propertyNames contains not if then else'.split(
    ' ',
  );
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const BY_NAME = ['properties', 'patternProperties', 'dependentSchemas', '$defs'];

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Follows a JSON Pointer from the root of a document. */
function lookUp(document: unknown, pointer: string): unknown {
  let found = document;
  for (const part of pointer.split('/').slice(1)) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, key) ? (found as Json)[key] : undefined;
  }
  if (!pointer.startsWith('#') || found === undefined) throw new TypeError(`${pointer} refers to nothing.`);
  return found;
}

/**
 * Takes schemas out of an OpenAPI document, of version 3.0 or later, as JSON Schemas 2020-12. What they refer to, maybe
 * in circles, becomes `definitions`.
 */
export class SchemaExtract {
  readonly definitions: Record<string, unknown> = {};
  readonly #names = new Map<string, string>();

  constructor(private readonly document: object) {}

  /** The schema with its definitions beside it, and not a mere reference to one of them. */
  static whole(document: object, schema: unknown): JsonSchema {
    const extract = new SchemaExtract(document);
    return extract.completed(extract.of(extract.resolved(schema)) as JsonSchema);
  }

  completed(schema: JsonSchema): JsonSchema {
    return Object.keys(this.definitions).length > 0 ? { ...schema, $defs: this.definitions } : schema;
  }

  /** What a reference, or a chain of them, refers to. */
  resolved(value: unknown): Json {
    let found = value;
    for (let steps = 0; isObject(found) && typeof found.$ref === 'string'; steps += 1) {
      if (steps > 32) throw new TypeError(`${found.$ref} refers to itself.`);
      found = lookUp(this.document, found.$ref);
    }
    return isObject(found) ? found : {};
  }

  of(schema: unknown): unknown {
    if (!isObject(schema)) return schema;
    const { nullable, example, ...keywords } = schema;
    const translated = Object.fromEntries(
      Object.entries(keywords).map(([key, value]) => [key, this.#keyword(key, value)]),
    );
    if (example !== undefined) translated.examples ??= [example];
    // Until 3.1 these were flags of the bounds beside them.
    for (const [exclusive, bound] of [
      ['exclusiveMinimum', 'minimum'] as const,
      ['exclusiveMaximum', 'maximum'] as const,
    ]) {
      if (typeof translated[exclusive] !== 'boolean') continue;
      if (translated[exclusive]) [translated[exclusive], translated[bound]] = [translated[bound], undefined];
      else translated[exclusive] = undefined;
    }
    return nullable === true ? orNull(withoutUndefined(translated)) : withoutUndefined(translated);
  }

  #keyword(key: string, value: unknown): unknown {
    if (key === '$ref' && typeof value === 'string') return this.#reference(value);
    if (ONE.includes(key)) return this.of(value);
    if (LISTS.includes(key) && Array.isArray(value)) return value.map((each) => this.of(each));
    if (BY_NAME.includes(key) && isObject(value))
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.of(each)]));
    return value;
  }

  #reference(pointer: string): string {
    let name = this.#names.get(pointer);
    if (name === undefined) {
      const last = pointer
        .split('/')
        .at(-1)!
        .replace(/[^\w.-]/g, '_');
      name = last;
      for (let n = 2; Object.hasOwn(this.definitions, name); n += 1) name = `${last}${n}`;
      this.#names.set(pointer, name);
      // The name is taken while what it stands for is translated, since that may refer to itself.
      this.definitions[name] = {};
      this.definitions[name] = this.of(lookUp(this.document, pointer));
    }
    return `#/$defs/${name}`;
  }
}

const withoutUndefined = (of: Json): Json =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined));

const orNull = (schema: Json): Json =>
  typeof schema.type === 'string'
    ? {
        ...schema,
        type: [schema.type, 'null'],
        ...(Array.isArray(schema.enum) && { enum: [...new Set([...(schema.enum as unknown[]), null])] }),
      }
    : { anyOf: [schema, { type: 'null' }] };

const TEXTS: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'a@example.com',
  uri: 'https://example.com/',
  uuid: '019a9f4b-84aa-72f5-8e61-3b9d0f2c1a66',
};

/** A value that fits a schema, as far as it can be seen from its keywords: with what is required and what has an example. */
export function exampleOf(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isObject(schema) || depth > 24) return null;
  const within = (inner: unknown): unknown => exampleOf(inner, root, depth + 1);
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  const stated = statedExampleOf(own);
  if (stated !== undefined) return stated;
  if (typeof $ref === 'string') return within({ ...(lookUp(root, $ref) as Json), ...own });
  const one = [oneOf, anyOf].find(Array.isArray) as unknown[] | undefined;
  if (one) return merged(within(one[0]), Object.keys(own).length > 0 ? within(own) : undefined);
  if (Array.isArray(allOf))
    return [...(allOf as unknown[]), own].map(within).reduce((left, right) => merged(left, right));
  switch ([schema.type].flat()[0] ?? (schema.properties ? 'object' : undefined)) {
    case 'object': {
      const required = Array.isArray(schema.required) ? schema.required : [];
      const properties = Object.entries(isObject(schema.properties) ? schema.properties : {});
      const shown = properties.filter(
        ([name, property]) => required.includes(name) || (isObject(property) && Array.isArray(property.examples)),
      );
      return Object.fromEntries(shown.map(([name, property]) => [name, within(property)]));
    }
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, (_, at) =>
        within((Array.isArray(schema.prefixItems) ? (schema.prefixItems as unknown[])[at] : undefined) ?? schema.items),
      );
    case 'string':
      return (TEXTS[String(schema.format)] ?? 'text'.padEnd(Number(schema.minLength ?? 0), '.')).slice(
        0,
        Number(schema.maxLength ?? Infinity),
      );
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

const statedExampleOf = ({ examples, default: preset, const: only, enum: some }: Json): unknown =>
  [Array.isArray(examples) ? examples[0] : undefined, preset, only, Array.isArray(some) ? some[0] : undefined].find(
    (value) => value !== undefined,
  );

const merged = (left: unknown, right: unknown): unknown =>
  isObject(left) && isObject(right) ? { ...left, ...right } : (left ?? right);

function numberOf({ type, minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: Json): number {
  const step = Number(multipleOf ?? (type === 'integer' ? 1 : 0.5));
  const least = Math.max(Number(minimum ?? -Infinity), Number(exclusiveMinimum ?? -Infinity) + step);
  const most = Math.min(Number(maximum ?? Infinity), Number(exclusiveMaximum ?? Infinity) - step);
  const lowest = Math.ceil(least / step) * step;
  return [step, lowest, Math.floor(most / step) * step].find((value) => value >= least && value <= most) ?? 0;
}
