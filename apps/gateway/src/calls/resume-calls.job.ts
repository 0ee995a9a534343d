import type { Principal } from '@market/contracts';
import { newRequestContext } from '@market/messaging';
import { Database, Locks, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallRecords, type Result } from './call-records.js';
import { RESULT_COLUMNS } from './result-columns.js';
import { SETTLE_BUDGET_MS } from './deliver-call.js';
import { oldestUnsettledSeconds } from './metrics.js';
import { Money } from './money.js';

const BATCH_SIZE = 100;
/** A position before every call. */
const START = { completed: '-infinity', id: '00000000-0000-0000-0000-000000000000' };
/** Each run drops 10,000 keys at most, so that its statement is short. */
const DROP_KEYS_INTERVAL_MS = 60_000;

interface UnsettledRow extends Result {
  id: string;
  /** `completed_at` as text, with microseconds. */
  completed: string;
  /** The seconds since then. */
  seconds: number;
  buyer_id: string;
  listing_id: string;
  body_digest: Buffer;
  payment_id: string;
  is_broken: boolean;
  relay_request_id: string;
}

const unsettled = sql(
  'gateway-requests.unsettled',
  `SELECT id, completed_at::text AS completed, extract(epoch FROM now() - completed_at)::float8 AS seconds,
     buyer_id, listing_id, body_digest, payment_id, relay_request_id, is_broken, ${RESULT_COLUMNS}
   FROM gateway_requests
   WHERE (billable OR is_broken) AND settled_at IS NULL AND completed_at < now() - interval '1.5 seconds'
     AND (completed_at, id) > ($1::timestamptz, $2::uuid)
   ORDER BY completed_at, id LIMIT $3`,
);
/**
 * Ends a call for which nothing can be charged: its payment was refunded, or its signature could not be settled and
 * nothing was paid.
 */
const abandon = sql(
  'gateway-requests.abandon',
  `UPDATE gateway_requests
   SET status = CASE WHEN $2 IN ('refund_due', 'refunded') THEN 'refunded' ELSE 'payment_required' END, billable = false
   WHERE id = $1 AND settled_at IS NULL`,
);
const dropStaleKeys = sql(
  'call-keys.sweep',
  `DELETE FROM call_keys WHERE (account_id, key) IN (
     SELECT account_id, key FROM call_keys WHERE created_at < now() - interval '25 hours' LIMIT 10000)`,
);

/**
 * Settles calls that were delivered and not charged because a process died in between, and owes back what was paid for
 * streams that broke off. Several replicas may run it at
 * once.
 */
@Injectable()
export class ResumeCalls implements OnApplicationBootstrap {
  private readonly logger = new Logger('ResumeCalls');
  /**
   * The position from which the next run continues, so that calls which cannot be settled yet do not delay the others.
   */
  private after = START;

  constructor(
    private readonly database: Database,
    private readonly locks: Locks,
    private readonly money: Money,
    private readonly records: CallRecords,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('resume-calls', this.config.resumeIntervalMs, () => this.run());
    this.jobs.every(
      'drop-stale-call-keys',
      DROP_KEYS_INTERVAL_MS,
      async () => void (await this.database.query(dropStaleKeys)),
    );
  }

  /**
   * Settles the calls of a batch concurrently, so that they share the ledger's commits and one that fails does not
   * delay the others.
   */
  async run(): Promise<void> {
    const rows = await this.database.query<UnsettledRow>(unsettled, [this.after.completed, this.after.id, BATCH_SIZE]);
    if (this.after === START) oldestUnsettledSeconds.set(rows[0]?.seconds ?? 0);
    this.after = rows.length < BATCH_SIZE ? START : rows.at(-1)!;
    await Promise.all(
      rows.map((row) =>
        this.resume(row).catch((error: unknown) =>
          this.logger.warn(`call ${row.id} stays unsettled: ${error instanceof Error ? error.message : String(error)}`),
        ),
      ),
    );
  }

  /** A call whose lock is held is settled by its attempt. */
  private async resume(row: UnsettledRow): Promise<void> {
    const lock = await this.locks.acquire(row.relay_request_id);
    if (!lock) return;
    try {
      await this.resumeWhileLocked(row);
    } finally {
      lock.release();
    }
  }

  private async resumeWhileLocked(row: UnsettledRow): Promise<void> {
    const { id, payment_id: paymentId, listing_id: listingId, relay_request_id: relayRequestId } = row;
    const context = newRequestContext({ principal: onBehalfOf(row.buyer_id) });
    if (row.is_broken) {
      if (await this.money.oweBack(paymentId, context))
        this.records.markSettled(id, { completedAt: new Date().toISOString(), transfer: null });
      return;
    }
    const call = { gatewayRequestId: id, paymentId, bodyDigest: row.body_digest, isResumed: true } as const;
    const settlement = await this.money.settle(call, row, context);
    if (settlement.outcome === 'charged') return this.records.markSettled(id, settlement);
    const [bodyDigest, callMs] = [row.body_digest.toString('hex'), 2 * SETTLE_BUDGET_MS];
    const asked = { relayRequestId, listingId, bodyDigest, callMs, isResumed: true } as const;
    const payment = await this.money.authorize(asked, context);
    if (payment.outcome === 'not_payable') await this.database.query(abandon, [id, payment.reason]);
  }
}

/** The principal for a call that the job settles on behalf of its buyer. */
const onBehalfOf = (accountId: string): Principal => ({
  accountId,
  accountType: 'agent',
  role: 'both',
  displayName: '',
  keyId: accountId,
  scopes: [],
});
