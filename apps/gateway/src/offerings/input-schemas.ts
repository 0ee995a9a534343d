import type { CallableOffering } from '@market/contracts/catalog';
import type { InputOf } from '@market/contracts';
import { executeCall } from '@market/contracts/gateway';
import { BodyCheck, ChecksBusy, runCheck, type Misfit } from '@market/json-schema';
import { refuse, type Refusal, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { readBody } from '../canonical/parse-json.js';

/** The maximum size of cached schemas as text; a parsed schema takes about ten times as much. */
const MAX_KEPT_BYTES = 4_194_304;
/** A longer body is checked in another thread, however cheap its schema is. */
const MAX_INLINE_LENGTH = 16_384;

type Sold = Pick<CallableOffering, 'sellerId' | 'inputSchema'>;

/** Checks bodies against the input schemas of listings. What can take long is checked in another thread. */
@Injectable()
export class InputSchemas {
  private readonly checks = new LRUCache<string, BodyCheck>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: (_check, schema) => schema.length,
  });

  /** Returns why a body is refused; undefined if it is valid or no JSON, or if the listing has no schema. */
  async refusalOf(
    { sellerId, inputSchema }: Sold,
    { body, contentType }: Pick<InputOf<typeof executeCall>, 'body' | 'contentType'>,
    { principal }: Pick<RequestContext, 'principal'>,
  ): Promise<Refusal | undefined> {
    if (!inputSchema || contentType !== undefined) return undefined;
    const read = readBody(body);
    if ('problem' in read) return refuse(executeCall, 'request_body_invalid', read);
    const check = this.checkOf(inputSchema);
    return check.isCheap && body.length <= MAX_INLINE_LENGTH
      ? refusalOf(check.misfitOf(read.value))
      : checkElsewhere(sellerId, principal?.accountId, inputSchema, body);
  }

  private checkOf(schema: string): BodyCheck {
    const cached = this.checks.get(schema);
    if (cached) return cached;
    const check = new BodyCheck(schema);
    this.checks.set(schema, check);
    return check;
  }
}

const refusalOf = (misfit: Misfit | undefined): Refusal | undefined =>
  misfit && refuse(executeCall, 'request_body_misfit', { ...misfit });

async function checkElsewhere(
  sellerId: string,
  callerId: string | undefined,
  schema: string,
  body: string,
): Promise<Refusal | undefined> {
  const account = { purpose: 'calls', sellerId, callerId } as const;
  try {
    const { misfit, isExceeded } = await runCheck({ kind: 'body', schema, body }, account);
    return isExceeded ? refuse(executeCall, 'request_body_uncheckable', {}) : refusalOf(misfit);
  } catch (error) {
    if (error instanceof ChecksBusy)
      return refuse(executeCall, 'input_schema_slow', { retry_after_seconds: error.retryAfterSeconds });
    throw error;
  }
}
