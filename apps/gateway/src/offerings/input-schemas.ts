import type { CallableOffering } from '@market/contracts/catalog';
import { executeCall } from '@market/contracts/gateway';
import { BodyCheck, TimeExceeded } from '@market/json-schema';
import { refuse, type Refusal, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { parseJson } from '../canonical/parse-json.js';

/** The maximum size of cached schemas as text; a parsed schema takes about ten times as much. */
const MAX_KEPT_BYTES = 4_194_304;
/** A caller may use a twentieth of a process's time for checks of one listing, with bursts of half a second. */
const SHARE = 20;
const BURST_MS = 500 * SHARE;

/**
 * Checks bodies against the input schemas of listings. A check blocks the whole process, so the time of checks is
 * counted by listing and caller, and a slow schema takes no time from other listings.
 */
@Injectable()
export class InputSchemas {
  private readonly checks = new LRUCache<string, BodyCheck>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: (_check, schema) => schema.length,
  });
  /** By listing and caller, the time at which the used time is available again. */
  private readonly spentUntil = new LRUCache<string, number>({ max: 10_000 });

  /** Returns why a body is refused; undefined if it is valid, or if the listing has no schema. */
  refusalOf(
    { listingId, inputSchema }: Pick<CallableOffering, 'listingId' | 'inputSchema'>,
    body: string,
    { principal }: Pick<RequestContext, 'principal'>,
  ): Refusal | undefined {
    if (!inputSchema) return undefined;
    const parsed = parseJson(body);
    if ('problem' in parsed) return refuse(executeCall, 'request_body_invalid', parsed);
    const caller = `${listingId} ${principal?.accountId ?? ''}`;
    const startedAt = performance.now();
    const spentUntil = Math.max(this.spentUntil.get(caller) ?? 0, startedAt);
    if (spentUntil - startedAt > BURST_MS) return slow(spentUntil - startedAt - BURST_MS);
    try {
      const misfit = this.checkOf(inputSchema).misfitOf(parsed.value);
      return misfit && refuse(executeCall, 'request_body_misfit', { ...misfit });
    } catch (error) {
      if (error instanceof TimeExceeded || error instanceof RangeError) return slow(0);
      throw error;
    } finally {
      this.spentUntil.set(caller, spentUntil + SHARE * (performance.now() - startedAt));
    }
  }

  private checkOf(schema: string): BodyCheck {
    const cached = this.checks.get(schema);
    if (cached) return cached;
    const check = new BodyCheck(schema);
    this.checks.set(schema, check);
    return check;
  }
}

const slow = (waitMs: number): Refusal =>
  refuse(executeCall, 'input_schema_slow', { retry_after_seconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
