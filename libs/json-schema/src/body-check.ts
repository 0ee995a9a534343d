import { Validator, type OutputUnit, type Schema } from '@cfworker/json-schema';
import { withinMs } from './within-ms.js';

/** Where a value does not match its schema: a JSON Pointer (RFC 6901), empty for the value itself. */
export interface Misfit {
  path: string;
  problem: string;
}

/** Much longer than a well-meant schema needs for a well-meant body. */
const CHECK_MS = 250;
const MAX_TEXT_LENGTH = 300;

/**
 * Checks values against a schema. The schema is interpreted, and no code is compiled from external text, so the first
 * use of a schema costs no more than later ones.
 */
export class BodyCheck {
  private readonly validator: Validator;

  /** @param text a schema that `problemOfSchema` has accepted. */
  constructor(text: string) {
    this.validator = new Validator(JSON.parse(text) as Schema, '2020-12');
  }

  /**
   * Returns the innermost error of a value; undefined if the value matches.
   * @throws TimeExceeded, or RangeError if the schema refers to itself in a cycle.
   */
  misfitOf(value: unknown): Misfit | undefined {
    const { valid, errors } = withinMs(CHECK_MS, () => this.validator.validate(value));
    if (valid) return undefined;
    const innermost = errors.reduce((inner, error) => (depthOf(error) > depthOf(inner) ? error : inner));
    return {
      path: innermost.instanceLocation.slice(1, MAX_TEXT_LENGTH),
      problem: innermost.keyword === 'false' ? 'is not allowed here' : innermost.error.slice(0, MAX_TEXT_LENGTH),
    };
  }
}

const depthOf = ({ instanceLocation }: OutputUnit): number => instanceLocation.split('/').length;
