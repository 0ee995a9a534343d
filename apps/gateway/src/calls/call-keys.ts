import { createHash } from 'node:crypto';
import { principalOf, refusePlatform, type RequestContext } from '@market/messaging';
import { Database, sql, type PreparedStatement } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { CallInput } from './call-target.js';

const find = sql(
  'call-keys.find',
  `SELECT fingerprint, gateway_request_id FROM call_keys WHERE account_id = $1 AND key = $2 AND created_at > now() - interval '24 hours'`,
);
/** A key moves to a newer call of the same listing and body only while its call has no result. */
const bind = sql(
  'call-keys.bind',
  `INSERT INTO call_keys AS k (account_id, key, fingerprint, gateway_request_id) VALUES ($1, $2, $3, $4)
   ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, gateway_request_id = excluded.gateway_request_id,
     created_at = CASE WHEN k.created_at > now() - interval '24 hours' THEN k.created_at ELSE now() END
   WHERE k.created_at <= now() - interval '24 hours'
     OR (k.fingerprint = excluded.fingerprint AND NOT EXISTS (
       SELECT 1 FROM gateway_requests r WHERE r.id = k.gateway_request_id AND r.billable))
   RETURNING gateway_request_id`,
);
const take = sql(
  'call-keys.take',
  `WITH mine AS (
     INSERT INTO call_keys AS k (account_id, key, fingerprint, gateway_request_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT (account_id, key) DO UPDATE SET
       fingerprint = excluded.fingerprint, gateway_request_id = excluded.gateway_request_id, created_at = now()
     WHERE k.created_at <= now() - interval '24 hours'
     RETURNING fingerprint, gateway_request_id
   )
   SELECT fingerprint, gateway_request_id FROM mine
   UNION ALL SELECT fingerprint, gateway_request_id FROM call_keys WHERE account_id = $1 AND key = $2 AND NOT EXISTS (SELECT 1 FROM mine)`,
);

/** A key is forgotten a day after the job of its call has ended, and until then not before that has to be delivered. */
const keepUntil = sql(
  'call-keys.keep-until',
  'UPDATE call_keys SET created_at = greatest(created_at, $3) WHERE account_id = $1 AND key = $2',
);
const move = sql(
  'call-keys.move',
  `UPDATE call_keys SET gateway_request_id = $4
   WHERE account_id = $1 AND key = $2 AND gateway_request_id = $3
   RETURNING gateway_request_id`,
);

interface KeyRow {
  fingerprint: Buffer;
  gateway_request_id: string | null;
}

/**
 * The Idempotency-Keys of calls. A key is bound to the path, the canonical body and the chosen route of its first use.
 * Proofs of payment are not included, because clients send the same key with the unpaid and with the paid request.
 */
@Injectable()
export class CallKeys {
  constructor(private readonly database: Database) {}

  fingerprint(listingId: string, bodyDigest: Buffer, input: CallInput): Buffer {
    const route = [input.originCurrency, input.originChainId, input.originWalletId].map((part) => part ?? '').join('|');
    return createHash('sha256').update(`POST /gateway/${listingId}|${route}|`).update(bodyDigest).digest();
  }

  /** The call this key already belongs to, if any. @throws Refusal `idempotency_key_reused`. */
  async find(context: RequestContext, fingerprint: Buffer): Promise<string | null> {
    if (!context.idempotency) return null;
    const [row] = await this.query(find, context);
    if (row && !row.fingerprint.equals(fingerprint)) throw refusePlatform('idempotency_key_reused');
    return row?.gateway_request_id ?? null;
  }

  /**
   * Binds the key to a call, or to a definitive refusal (null).
   * @returns the call that the key belongs to; an earlier one if that has its result already.
   * @throws Refusal `idempotency_key_reused` when another request was faster.
   */
  async bind(context: RequestContext, fingerprint: Buffer, gatewayRequestId: string | null): Promise<string | null> {
    if (!context.idempotency) return gatewayRequestId;
    const bound = await this.query(bind, context, fingerprint, gatewayRequestId);
    return bound.length > 0 ? gatewayRequestId : this.find(context, fingerprint);
  }

  /**
   * Takes the key for a new call, unless it belongs to another. @returns the id of the call that the key belongs to.
   */
  async take(context: RequestContext, fingerprint: Buffer, gatewayRequestId: string): Promise<string> {
    if (!context.idempotency) return gatewayRequestId;
    const [row] = await this.query(take, context, fingerprint, gatewayRequestId);
    if (!row) return this.take(context, fingerprint, gatewayRequestId);
    if (!row.fingerprint.equals(fingerprint)) throw refusePlatform('idempotency_key_reused');
    return row.gateway_request_id ?? gatewayRequestId;
  }

  /**
   * Moves the key from a call without a result to another call. @returns whether the key still belonged to the former.
   */
  async move(context: RequestContext, from: string, to: string): Promise<boolean> {
    if (!context.idempotency) return true;
    return (await this.query(move, context, from, to)).length > 0;
  }

  /** Keeps a key for a day from a later time on. */
  async keepUntil(context: RequestContext, until: string): Promise<void> {
    if (context.idempotency) await this.query(keepUntil, context, until);
  }

  private query(statement: PreparedStatement, context: RequestContext, ...values: unknown[]): Promise<KeyRow[]> {
    return this.database.query(statement, [principalOf(context).accountId, context.idempotency?.key, ...values]);
  }
}
