import { Validator, type OutputUnit, type Schema } from '@cfworker/json-schema';
import { withinMs } from './within-ms.js';

/** Where a value does not match its schema: a JSON Pointer (RFC 6901), empty for the value itself. */
export interface Misfit {
  path: string;
  problem: string;
}

/** Far beyond what an honest schema takes for an honest body. */
const CHECK_MS = 250;
const MAX_TEXT_LENGTH = 300;

/**
 * A schema as it is applied to values. It is interpreted: nothing is compiled from a stranger's text, so that one that was never seen costs
 * no more than one that was.
 */
export class BodyCheck {
  private readonly validator: Validator;

  /** @param text of a schema in which `problemOfSchema` found nothing. */
  constructor(text: string) {
    this.validator = new Validator(JSON.parse(text) as Schema, '2020-12');
  }

  /**
   * The innermost thing that is wrong with a value; undefined where it fits.
   * @throws TimeExceeded, or RangeError where the schema leads round in circles.
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
