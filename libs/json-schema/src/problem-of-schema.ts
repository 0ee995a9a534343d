import { dereference, type Schema } from '@cfworker/json-schema';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { BodyCheck } from './body-check.js';
import { problemOfPattern } from './linear-reg-exp.js';
import { TimeExceeded, withinMs } from './within-ms.js';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const MAX_DEPTH = 24;
const MAX_MEMBERS = 1_000;
/**
 * Keywords that `BodyCheck` does not support, or that would break references to parts of a schema within another
 * schema.
 */
const UNSUPPORTED = ['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$id', '$anchor'];
const CHECK_MS = 500;

/** The meta-schema is our own text. The external schema is the value that is checked against it. */
const meta = new Ajv2020({ strict: false, validateFormats: false });
// Compiles the meta-schema in advance. Compilation takes too long for a first request and must not be interrupted.
meta.validateSchema({});

/**
 * Returns why a JSON Schema cannot be used to check values; undefined if it can. It must have the dialect 2020-12 and
 * refer only to itself, and RE2 must run its patterns.
 */
export function problemOfSchema(schema: object): string | undefined {
  try {
    return (
      problemOfSize(schema) ??
      withinMs(CHECK_MS, () => problemOfKeywords(schema) ?? problemOfForm(schema) ?? problemOfRefs(schema)) ??
      problemOfUse(schema)
    );
  } catch (error) {
    if (error instanceof TimeExceeded || error instanceof RangeError)
      return 'takes too long to apply, or refers to itself without an end';
    return `cannot be applied: ${(error as Error).message.split('\n')[0]}`;
  }
}

function problemOfSize(schema: object): string | undefined {
  let members = 0;
  const open: { value: unknown; depth: number }[] = [{ value: schema, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth > MAX_DEPTH) return `must be nested at most ${MAX_DEPTH} deep`;
    const inner = Object.values(value);
    if ((members += inner.length) > MAX_MEMBERS) return `must have at most ${MAX_MEMBERS} keywords and items`;
    for (const member of inner) open.push({ value: member, depth: depth + 1 });
  }
  return undefined;
}

/**
 * Searches at every position. A property with one of these names is refused too, because telling the two apart would
 * cost more.
 */
function problemOfKeywords(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (UNSUPPORTED.includes(key)) return `must not use ${key}`;
    if (key === '$schema' && member !== DIALECT) return `must be of the dialect ${DIALECT}: name no other as $schema`;
    if (key === '$ref' && !(typeof member === 'string' && /^#(\/|$)/.test(member)))
      return 'must refer to its own parts alone: a $ref is # or begins with #/';
    for (const pattern of patternsOf(key, member)) {
      const problem = problemOfPattern(pattern);
      if (problem !== undefined) return `must not use the pattern ${JSON.stringify(pattern.slice(0, 100))}: ${problem}`;
    }
    const problem = problemOfKeywords(member);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function patternsOf(key: string, member: unknown): string[] {
  if (key === 'pattern' && typeof member === 'string') return [member];
  return key === 'patternProperties' && typeof member === 'object' && member !== null ? Object.keys(member) : [];
}

function problemOfForm(schema: object): string | undefined {
  if (meta.validateSchema(schema)) return undefined;
  const { instancePath, message } = meta.errors![0]!;
  return `${instancePath} ${message}`.trim();
}

function problemOfRefs(schema: object): string | undefined {
  const parts = dereference(structuredClone(schema) as Schema);
  for (const part of Object.values(parts) as (Schema & { __absolute_ref__?: string })[]) {
    if (part.$ref !== undefined && parts[part.__absolute_ref__ ?? part.$ref] === undefined)
      return `must have what it refers to: there is no ${part.$ref.slice(0, 100)}`;
  }
  return undefined;
}

/** A schema that refers to itself without descending into the value never ends for any value. */
function problemOfUse(schema: object): undefined {
  const check = new BodyCheck(JSON.stringify(schema));
  withinMs(CHECK_MS, () => check.firstMisfitOf({}));
  return undefined;
}
