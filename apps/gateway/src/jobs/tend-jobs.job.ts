import { newRequestContext, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { Contents } from '../contents/contents.js';
import { isDefinite, type SellerReply } from '../egress/seller-outcome.js';
import { SignedRequests } from '../egress/signed-requests.js';
import { CallableEndpoints } from '../endpoints/callable-endpoints.js';
import { EndJob, failureOf, latencyOf } from './end-job.js';
import { JobRecords, type Job } from './job-records.js';

const BATCH_SIZE = 50;
const ASK_SECONDS = 5;
const MAX_ASK_SECONDS = 60;
const TOLD_TIMEOUT_MS = 10_000;
const TELL_AGAIN_SECONDS = 30;

const overdue = sql(
  'gateway-requests.overdue-jobs',
  `SELECT id FROM gateway_requests WHERE job_until <= now() ORDER BY job_until LIMIT ${BATCH_SIZE}`,
);
/** Another process does the same after this time, if this one dies. */
const take = (name: string, column: string): ReturnType<typeof sql> =>
  sql(
    `jobs.take-${name}`,
    `UPDATE jobs SET ${column} = now() + interval '150 seconds' WHERE call_id IN (
       SELECT call_id FROM jobs WHERE ${column} <= now() ORDER BY ${column} LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
     RETURNING call_id AS id`,
  );
const due = take('due', 'due_at');
const toCancel = take('to-cancel', 'cancel_due_at');
const askAgain = sql(
  'jobs.ask-again',
  `UPDATE jobs SET due_at = now() + $2 * interval '1 second', refusals = $3 WHERE call_id = $1`,
);
const askNoMore = sql('jobs.ask-no-more', 'UPDATE jobs SET due_at = NULL WHERE call_id = $1');
const told = sql('jobs.told', `UPDATE jobs SET cancel_due_at = now() + $2 * interval '1 second' WHERE call_id = $1`);

/**
 * Ends the jobs whose time is over, asks the sellers that gave an address for it whether they have done theirs, and tells
 * sellers that a buyer asks to cancel. Several replicas may run it at once.
 */
@Injectable()
export class TendJobs implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('TendJobs');
  private readonly tending = new Set<Promise<void>>();
  private readonly stop = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly records: JobRecords,
    private readonly endJob: EndJob,
    private readonly endpoints: CallableEndpoints,
    private readonly sellers: SignedRequests,
    private readonly contents: Contents,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  onApplicationBootstrap(): void {
    const every = (name: string, statement: typeof overdue, tend: (job: Job) => Promise<unknown>): void =>
      this.jobs.every(name, this.config.resumeIntervalMs, () => this.run(statement, tend));
    every('end-overdue-jobs', overdue, (job) => this.end(job));
    every('ask-for-jobs', due, (job) => this.ask(job));
    every('tell-of-cancelled-jobs', toCancel, (job) => this.tell(job));
  }

  /** Those who are asked now are asked again by another process. */
  async onModuleDestroy(): Promise<void> {
    this.stop.abort();
    await Promise.all(this.tending);
  }

  /** Sellers are not waited for, so that one that is slow to answer delays no other. */
  private async run(statement: typeof overdue, tend: (job: Job) => Promise<unknown>): Promise<void> {
    const rows = await this.database.query<{ id: string }>(statement);
    const tended = rows.map(({ id }) => {
      const one = this.tend(id, tend).finally(() => this.tending.delete(one));
      this.tending.add(one);
      return one;
    });
    if (statement === overdue) await Promise.all(tended);
  }

  private async tend(id: string, tend: (job: Job) => Promise<unknown>): Promise<void> {
    try {
      const job = await this.records.find(id);
      if (job) await tend(job);
    } catch (error) {
      this.logger.warn(`a job is tended later: ${String(error)}`);
    }
  }

  private end(job: Job): Promise<boolean> {
    return this.endJob.execute(job, failureOf(job, 'deadline', null), newRequestContext());
  }

  /** What the seller answers is what it would have answered to the call, or that it is not done. */
  private async ask(job: Job): Promise<void> {
    const url = this.records.statusUrlOf(job);
    const target = await this.endpoints.find(job.listingId);
    if (!job.isOpen || url === null || !target) return void (await this.database.query(askNoMore, [job.id]));
    const context = newRequestContext({ budgetMs: 2 * target.endpoint.timeoutMs });
    const { maxFileBytes, timeoutMs } = target.endpoint;
    const owner = { callId: job.id, buyerId: job.buyerId, sellerId: job.sellerId };
    const receiver =
      job.fileTypes.length > 0 && maxFileBytes > 0
        ? this.contents.fileReceiver(owner, job.fileTypes, target)
        : undefined;
    const { signal } = this.stop;
    const asked = { ...askedOf(job), event: 'gateway.job_status', rawBody: '', timeoutMs, receiver, signal } as const;
    const reply = await this.sellers.send({ ...target, url }, asked, context);
    const isTaken = await this.take(job, reply, context);
    if (!isTaken) await receiver?.discard();
  }

  /** @returns whether the job has ended by this reply. */
  private async take(job: Job, reply: SellerReply, context: RequestContext): Promise<boolean> {
    if (reply.kind === 'answered')
      return this.endJob.execute(job, { ...reply, statusCode: 200, latencyMs: latencyOf(job) }, context);
    const isRefused = reply.kind === 'failed' && isDefinite(reply);
    if (isRefused && job.refusals > 0) {
      const words = `the status_url answered ${reply.statusCode}`;
      return this.endJob.execute(job, failureOf(job, 'job_failed', words), context);
    }
    const seconds = (reply.kind === 'accepted' && reply.retryAfter) || ASK_SECONDS;
    await this.database.query(askAgain, [job.id, Math.min(seconds, MAX_ASK_SECONDS), isRefused ? 1 : 0]);
    return false;
  }

  /** The seller is told until it has heard. */
  private async tell(job: Job): Promise<void> {
    const target = job.isOpen ? await this.endpoints.find(job.listingId) : null;
    if (!target) return void (await this.database.query(told, [job.id, null]));
    const rawBody = JSON.stringify({ event: 'gateway.cancel', request_id: job.id });
    const message = { ...askedOf(job), event: 'gateway.cancel', rawBody, signal: this.stop.signal } as const;
    const context = newRequestContext({ budgetMs: 2 * TOLD_TIMEOUT_MS });
    const reply = await this.sellers.send(target, { ...message, timeoutMs: TOLD_TIMEOUT_MS }, context);
    const hasHeard = reply.kind !== 'failed' || reply.contact === 'answered';
    await this.database.query(told, [job.id, hasHeard ? null : TELL_AGAIN_SECONDS]);
  }
}

const askedOf = ({ id, buyerId }: Job) => ({ requestId: id, buyerId, attempt: 1 });
