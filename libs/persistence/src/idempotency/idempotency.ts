import type { OutputOf, RequestContract } from '@market/contracts';
import {
  principalOf,
  refusePlatform,
  type RequestContext,
  type Idempotency as IdempotencyKey,
} from '@market/messaging';
import type { Database, Tx } from '../database.js';
import type { FieldCipher } from '../field-cipher.js';
import { sql } from '../statement.js';

const tryLock = sql('idempotency.lock', 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked');
const find = sql(
  'idempotency.find',
  "SELECT fingerprint, answer FROM idempotency_keys WHERE account_id = $1 AND key = $2 AND created_at > now() - interval '24 hours'",
);
const keep = sql(
  'idempotency.keep',
  `INSERT INTO idempotency_keys (account_id, key, fingerprint, answer) VALUES ($1, $2, $3, $4)
   ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = now()`,
);

/**
 * Runs a command at most once per Idempotency-Key, account and 24 hours. The key, the change and the answer are stored
 * in one commit. The answer is encrypted, because it may contain a secret that is shown only once; such an answer is
 * repeated only to the API key that made the request. A transaction-scoped advisory lock marks a key as in progress, so
 * that a crash leaves no mark.
 */
export class Idempotency {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
  ) {}

  /**
   * Returns the stored answer of this key, for commands that call another service before their own transaction.
   * @throws Refusal `idempotency_key_reused`.
   */
  async replay<C extends RequestContract>(contract: C, context: RequestContext): Promise<OutputOf<C> | undefined> {
    return context.idempotency ? this.find(this.database, contract, context, context.idempotency) : undefined;
  }

  /**
   * @throws Refusal `idempotency_key_reused`, `idempotency_in_progress`, or a refusal of `command`, which is not
   * stored.
   */
  async run<C extends RequestContract>(
    contract: C,
    context: RequestContext,
    command: (tx: Tx) => Promise<OutputOf<C>>,
  ): Promise<OutputOf<C>> {
    const { idempotency } = context;
    if (!idempotency) return this.database.transaction(command);
    const { accountId } = principalOf(context);
    return this.database.transaction(async (tx) => {
      const [lock] = await tx.query<{ locked: boolean }>(tryLock, [this.aad(accountId, idempotency)]);
      if (!lock!.locked) throw refusePlatform('idempotency_in_progress', { retry_after_seconds: 1 });
      const kept = await this.find(tx, contract, context, idempotency);
      if (kept !== undefined) return kept;
      const output = await command(tx);
      const answer = this.cipher.encrypt(JSON.stringify(output), this.aad(accountId, idempotency));
      await tx.query(keep, [accountId, idempotency.key, fingerprintOf(contract, context, idempotency), answer]);
      return output;
    });
  }

  private async find<C extends RequestContract>(
    from: Pick<Tx, 'query'>,
    contract: C,
    context: RequestContext,
    idempotency: IdempotencyKey,
  ): Promise<OutputOf<C> | undefined> {
    const { accountId } = principalOf(context);
    const [kept] = await from.query<{ fingerprint: string; answer: Buffer }>(find, [accountId, idempotency.key]);
    if (!kept) return undefined;
    if (kept.fingerprint !== fingerprintOf(contract, context, idempotency))
      throw refusePlatform('idempotency_key_reused');
    context.reply.idempotencyReplayed = true;
    return JSON.parse(this.cipher.decrypt(kept.answer, this.aad(accountId, idempotency))) as OutputOf<C>;
  }

  private aad(accountId: string, { key }: IdempotencyKey): string {
    return `idempotency_keys|answer|${accountId}|${key}`;
  }
}

const fingerprintOf = (
  { answersSecret }: RequestContract,
  context: RequestContext,
  { fingerprint }: IdempotencyKey,
): string => (answersSecret ? `${fingerprint}:${principalOf(context).keyId}` : fingerprint);
