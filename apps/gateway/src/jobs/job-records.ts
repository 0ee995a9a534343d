import { executeCall, jobEnded, type OpenJob } from '@market/contracts/gateway';
import type { CallMoney } from '@market/contracts/payments-ledger';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher, Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const MAX_JOBS_OF_LISTING = 1_000;
const MAX_JOBS_OF_BUYER = 100;
const FULL_RETRY_SECONDS = 10;

/** A call that was delivered, broke off or was refunded meanwhile takes no job. */
const openCall = sql(
  'gateway-requests.open-job',
  `UPDATE gateway_requests SET job_until = $2 WHERE id = $1 AND billable IS NOT TRUE AND status <> 'refunded' AND NOT is_broken
   RETURNING id`,
);
/** A seller that is called again for a call, because its first answer was lost, takes the same job again. */
const insert = sql(
  'jobs.insert',
  `INSERT INTO jobs (call_id, listing_id, seller_id, file_types, is_held, deadline_at, estimated_at, status_url_sealed, due_at)
   VALUES ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 second', $8,
     CASE WHEN $8::bytea IS NOT NULL THEN now() + interval '2 seconds' END)
   ON CONFLICT (call_id) DO UPDATE SET is_held = excluded.is_held, deadline_at = excluded.deadline_at,
     status_url_sealed = excluded.status_url_sealed, due_at = excluded.due_at`,
);
const insertTest = sql(
  'jobs.insert-test',
  `INSERT INTO jobs (call_id, listing_id, seller_id, file_types, is_held, deadline_at) VALUES ($1, $2, $3, '{}', false, now())`,
);
/** SQL: asked again soon at first, and then less often; or when the seller expects to have it. */
export const RETRY_SECONDS = `CASE WHEN j.estimated_at > now() THEN least(60, ceil(extract(epoch FROM j.estimated_at - now())))
  ELSE least(10, greatest(1, ceil(extract(epoch FROM now() - j.accepted_at) / 5))) END::int`;
const OPEN_JOB = `SELECT j.call_id AS "requestId", g.relay_request_id AS "relayRequestId", j.percent, j.message, j.deadline_at,
   ${RETRY_SECONDS} AS "retryAfterSeconds" FROM gateway_requests g JOIN jobs j ON j.call_id = g.id`;
const findOpen = sql('jobs.find-open', `${OPEN_JOB} WHERE g.id = $1 AND g.job_until IS NOT NULL`);
const findOpenOfPayment = sql(
  'jobs.find-open-of-payment',
  `${OPEN_JOB} WHERE g.listing_id = $1 AND g.buyer_id = $2 AND g.relay_request_id = $3 AND g.job_until IS NOT NULL`,
);
/** The keys of an open job are kept for a day beyond its deadline. Now the day begins. */
const beginToForgetKeys = sql(
  'call-keys.begin-to-forget',
  `UPDATE call_keys k SET created_at = now() FROM jobs j
   WHERE j.call_id = $1 AND k.created_at = j.deadline_at AND k.gateway_request_id = j.call_id`,
);
const count = sql(
  'jobs.count',
  `SELECT (SELECT count(*) FROM gateway_requests WHERE listing_id = $1 AND job_until IS NOT NULL)::int AS listing,
     (SELECT count(*) FROM gateway_requests WHERE listing_id = $1 AND buyer_id = $2 AND job_until IS NOT NULL)::int AS buyer`,
);
const find = sql(
  'jobs.find',
  `SELECT j.call_id AS id, j.listing_id AS "listingId", j.seller_id AS "sellerId", j.file_types AS "fileTypes", j.is_held AS "isHeld",
     j.percent, j.refusals, j.status_url_sealed AS "statusUrlSealed", extract(epoch FROM now() - j.accepted_at)::float8 AS seconds,
     j.deadline_at <= now() AS "isOver", g.job_until IS NOT NULL AS "isOpen", coalesce(g.is_broken, false) AS "hasFailed",
     coalesce(g.billable, false) AS "isDelivered", g.content_type AS "contentType", encode(g.response_digest, 'hex') AS digest,
     g.buyer_id AS "buyerId", g.listing_name AS name, g.listing_slug AS slug, g.body_digest AS "bodyDigest", g.attempts,
     json_build_object('grossMicros', g.gross_micros::text, 'feeMicros', g.fee_micros::text, 'netMicros', g.net_micros::text,
       'feeBps', g.fee_bps, 'usage', g.usage) AS money,
     g.payment_id AS "paymentId", g.relay_request_id AS "relayRequestId", g.provider, g.scheme, g.network,
     g.transaction_hash AS "transactionHash"
   FROM jobs j LEFT JOIN gateway_requests g ON g.id = j.call_id WHERE j.call_id = $1`,
);

/** A call as it was taken, and what became of it. A test of an endpoint is no call: such a job was never open. */
export interface Job {
  id: string;
  listingId: string;
  sellerId: string;
  /** The media types of files that it may be delivered as. */
  fileTypes: string[];
  /** Whether a signature pays for it at its delivery, so that nothing is paid before. */
  isHeld: boolean;
  percent: number | null;
  /** How often in a row its status_url has answered that there is no such job. */
  refusals: number;
  statusUrlSealed: Buffer | null;
  /** Since it was taken. */
  seconds: number;
  isOver: boolean;
  isOpen: boolean;
  isDelivered: boolean;
  hasFailed: boolean;
  /** Of what was delivered; null if that is JSON. */
  contentType: string | null;
  digest: string | null;
  buyerId: string;
  name: string;
  slug: string;
  bodyDigest: Buffer;
  attempts: number;
  money: CallMoney;
  paymentId: string | null;
  relayRequestId: string | null;
  provider: string | null;
  scheme: string | null;
  network: string | null;
  transactionHash: string | null;
}

/** The parties of a call. */
interface Parties {
  id: string;
  buyerId: string;
  listing: { listingId: string; sellerId: string };
}

export interface AcceptedJob {
  fileTypes: string[];
  isHeld: boolean;
  deadline: Date;
  estimatedSeconds: number | null;
  statusUrl: string | null;
}

type OpenRow = Omit<OpenJob, 'deadline'> & { deadline_at: Date };

/** The jobs that sellers have taken. */
@Injectable()
export class JobRecords {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly outbox: Outbox,
  ) {}

  /** @returns false if the call has ended already. */
  async open(tx: Tx, { id, listing }: Parties, job: AcceptedJob): Promise<boolean> {
    if ((await tx.query(openCall, [id, job.deadline])).length === 0) return false;
    await tx.query(insert, [
      id,
      listing.listingId,
      listing.sellerId,
      job.fileTypes,
      job.isHeld,
      job.deadline,
      job.estimatedSeconds,
      job.statusUrl && this.cipher.encrypt(job.statusUrl, sealedFor(id)),
    ]);
    return true;
  }

  /** Remembers the job of a test, so that what its seller delivers is told that it has ended. */
  async addTest(requestId: string, listingId: string, sellerId: string): Promise<void> {
    await this.database.query(insertTest, [requestId, listingId, sellerId]);
  }

  async find(id: string): Promise<Job | null> {
    const [job] = await this.database.query<Job>(find, [id]);
    return job ?? null;
  }

  statusUrlOf({ id, statusUrlSealed }: Job): string | null {
    return statusUrlSealed && this.cipher.decrypt(statusUrlSealed, sealedFor(id));
  }

  async findOpen(callId: string): Promise<OpenJob | null> {
    return toOpenJob(await this.database.query<OpenRow>(findOpen, [callId]));
  }

  async findOpenOfPayment(listingId: string, buyerId: string, relayRequestId: string): Promise<OpenJob | null> {
    return toOpenJob(await this.database.query<OpenRow>(findOpenOfPayment, [listingId, buyerId, relayRequestId]));
  }

  /** @throws Refusal `too_many_jobs`. Calls that are under way may still exceed the limit. */
  async assertRoom(listingId: string, buyerId: string): Promise<void> {
    const [open] = await this.database.query<{ listing: number; buyer: number }>(count, [listingId, buyerId]);
    const limit =
      open!.buyer >= MAX_JOBS_OF_BUYER
        ? MAX_JOBS_OF_BUYER
        : open!.listing >= MAX_JOBS_OF_LISTING
          ? MAX_JOBS_OF_LISTING
          : null;
    if (limit !== null) throw refuse(executeCall, 'too_many_jobs', { limit, retry_after_seconds: FULL_RETRY_SECONDS });
  }

  /** In the transaction that ends the call. @param reason why it failed; null if it was delivered. */
  tellEnd(tx: Tx, { id, buyerId, listing }: Parties, reason: string | null, context: RequestContext): void {
    const at = new Date().toISOString();
    tx.send(beginToForgetKeys, [id]);
    this.outbox.add(tx, jobEnded, { requestId: id, buyerId, listingId: listing.listingId, reason, at }, context);
  }
}

const toOpenJob = ([row]: OpenRow[]): OpenJob | null => {
  if (!row) return null;
  const { deadline_at, ...job } = row;
  return { ...job, deadline: deadline_at.toISOString() };
};

const sealedFor = (id: string): string => `jobs|status_url_sealed|${id}`;
