import { dereference, validate, type OutputUnit, type Schema } from '@cfworker/json-schema';
import { isCheap } from './is-cheap.js';

/** Where a value does not match its schema: a JSON Pointer (RFC 6901), empty for the value itself. */
export interface Misfit extends Problem {
  /** This one first, and the others if they were found in time; at most `MAX_PROBLEMS`. */
  problems: Problem[];
}

interface Problem {
  path: string;
  problem: string;
}

const MAX_TEXT_LENGTH = 300;
const MAX_PROBLEMS = 20;

/**
 * Checks values against a schema. The schema is interpreted, and no code is compiled from external text, so the first
 * use of a schema costs no more than later ones.
 */
export class BodyCheck {
  private readonly schema: Schema;
  private readonly parts: Record<string, Schema | boolean>;
  readonly isCheap: boolean;

  /** @param text a schema that `problemOfSchema` has accepted. */
  constructor(text: string) {
    this.schema = JSON.parse(text) as Schema;
    this.isCheap = isCheap(this.schema);
    this.parts = dereference(this.schema);
  }

  /** Returns all that is wrong with a value; undefined if it matches. Only for schemas that are cheap. */
  misfitOf(value: unknown): Misfit | undefined {
    const first = this.firstMisfitOf(value);
    return first && this.withOthers(first, value);
  }

  /**
   * Returns the innermost error of a value; undefined if the value matches. It takes as long as the schema wants it to,
   * unless the schema is cheap, and patterns run without backtracking only in the threads of `runCheck`.
   * @throws RangeError if the schema refers to itself in a cycle.
   */
  firstMisfitOf(value: unknown): Misfit | undefined {
    const { valid, errors } = this.apply(value, { stopsAtFirst: true });
    if (valid) return undefined;
    const innermost = problemOf(errors.reduce((inner, error) => (depthOf(error) > depthOf(inner) ? error : inner)));
    return { ...innermost, problems: [innermost] };
  }

  /**
   * Adds what else is wrong with the value, which can take longer than the first error.
   * @throws RangeError if the schema refers to itself in a cycle.
   */
  withOthers(first: Misfit, value: unknown): Misfit {
    const others = leavesOf(this.apply(value, { stopsAtFirst: false }).errors).map(problemOf);
    const different = new Map([...first.problems, ...others].map((found) => [`${found.path} ${found.problem}`, found]));
    return { ...first, problems: [...different.values()].slice(0, MAX_PROBLEMS) };
  }

  private apply(value: unknown, { stopsAtFirst }: { stopsAtFirst: boolean }): ReturnType<typeof validate> {
    return validate(value, this.schema, '2020-12', this.parts, stopsAtFirst);
  }
}

const problemOf = ({ instanceLocation, keyword, error }: OutputUnit): Problem => ({
  path: instanceLocation.slice(1, MAX_TEXT_LENGTH),
  problem: keyword === 'false' ? 'is not allowed here' : error.slice(0, MAX_TEXT_LENGTH),
});

/** Other errors only say that there is one below. */
function leavesOf(errors: OutputUnit[]): OutputUnit[] {
  const outer = new Set<string>();
  for (const { keywordLocation } of errors) {
    let end = keywordLocation.lastIndexOf('/');
    for (let place = keywordLocation.slice(0, end); end > 0 && !outer.has(place); place = place.slice(0, end)) {
      outer.add(place);
      end = place.lastIndexOf('/');
    }
  }
  return errors.filter(({ keywordLocation }) => !outer.has(keywordLocation));
}

const depthOf = ({ instanceLocation }: OutputUnit): number => instanceLocation.split('/').length;
