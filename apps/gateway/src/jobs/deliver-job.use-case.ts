import type { InputOf, OutputOf } from '@market/contracts';
import { text } from '@market/contracts';
import {
  addDeliveryPiece,
  deliverJob,
  isDeliveryOf,
  jobProgressed,
  JSON_TYPE,
  MAX_FAILURE_REASON,
  MAX_PROGRESS_MESSAGE,
  mediaTypeOf,
  openDelivery,
  unitsOfDelivery,
} from '@market/contracts/gateway';
import { hiddenCharacterOf, newId } from '@market/kernel';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { isUtf8 } from 'node:buffer';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { parseJson, readBody } from '../canonical/parse-json.js';
import { Contents } from '../contents/contents.js';
import type { SellerAnswered } from '../egress/seller-outcome.js';
import { signingKey } from '../egress/signing-secret.js';
import { CallableEndpoints, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { EndJob, failureOf, latencyOf } from './end-job.js';
import { JobRecords, type Job } from './job-records.js';

type Input = InputOf<typeof deliverJob>;
type Output = OutputOf<typeof deliverJob>;

/** Of progress or a failure. */
const MAX_WORDS_BYTES = 4_096;
/** A seller that has done a job at once may deliver before its answer to the call is stored. */
const UNKNOWN_PAUSES_MS = [50, 100, 250, 500];
/** The ids of calls are of version 7; one of another was made up. */
const VERSION_DIGIT = 14;

const plain = (minLength: number, maxLength: number) =>
  text(minLength, maxLength).refine((said) => hiddenCharacterOf(said, { lines: true }) === undefined, {
    error: 'has a character that cannot be seen',
  });
const progress = z.object({
  percent: z.number().min(0).max(100).optional(),
  message: plain(0, MAX_PROGRESS_MESSAGE).optional(),
});
const failure = z.object({ reason: plain(1, MAX_FAILURE_REASON).optional() });

/** One progress a second is stored, and one event in ten seconds is told. */
const storeProgress = sql(
  'jobs.store-progress',
  `UPDATE jobs SET percent = coalesce($2, percent), message = coalesce($3, message), progress_at = now(),
     told_at = CASE WHEN told_at > now() - interval '10 seconds' THEN told_at ELSE now() END
   WHERE call_id = $1 AND (progress_at IS NULL OR progress_at <= now() - interval '1 second')
   RETURNING percent, message, told_at = now() AS "isTold"`,
);

/**
 * Takes what a seller delivers for a job: progress, the answer, or that there will be none. Its signature is that of our
 * own requests to the endpoint, by any secret that is valid now; nothing but the signature is looked at before that holds.
 */
@Injectable()
export class DeliverJob {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly jobs: JobRecords,
    private readonly endpoints: CallableEndpoints,
    private readonly contents: Contents,
    private readonly endJob: EndJob,
  ) {}

  @HandleRequest(openDelivery)
  async open({ requestId, kind }: InputOf<typeof openDelivery>): Promise<OutputOf<typeof openDelivery>> {
    for (const pause of [...(requestId[VERSION_DIGIT] === '7' ? UNKNOWN_PAUSES_MS : []), null]) {
      const { job, target } = (await this.find(requestId)) ?? {};
      if (job && target) return { maxBytes: kind === 'result' ? maxBytesOf(job, target) : MAX_WORDS_BYTES };
      if (pause !== null) await delay(pause);
    }
    throw refuse(openDelivery, 'job_not_found', {});
  }

  @HandleRequest(addDeliveryPiece)
  async addPiece({
    requestId,
    contentId,
    offset,
    base64,
  }: InputOf<typeof addDeliveryPiece>): Promise<Record<string, never>> {
    const { job } = (await this.find(requestId)) ?? {};
    if (!job) throw refuse(addDeliveryPiece, 'job_not_found', {});
    await this.contents.append({ ...ownerOf(job), contentId, startsAt: offset, bytes: Buffer.from(base64, 'base64') });
    return {};
  }

  @HandleRequest(deliverJob)
  async execute(input: Input, context: RequestContext): Promise<Output> {
    const { body, kind } = input;
    let isStored = false;
    try {
      const { job, target } = (await this.find(input.requestId)) ?? {};
      if (!job || !target) throw refuse(deliverJob, 'job_not_found', {});
      const digest = await this.digestOfSigned(input, target);
      if (digest === null) throw refuse(deliverJob, 'delivery_unsigned', {});
      if (kind === 'progress') return await this.progress(job, await this.wordsOf(input, progress), context);
      if (kind === 'failed') return await this.fail(job, await this.wordsOf(input, failure), context);
      const type =
        input.contentType === '' || JSON_TYPE.test(mediaTypeOf(input.contentType)) ? null : input.contentType;
      if (!isOpen(job)) return endedWith(job, type, digest);
      const answered = await this.answerOf(job, target, input, type, digest);
      const isFirst = await this.endJob.execute(job, answered, context);
      isStored = isFirst && answered.content !== undefined;
      if (isFirst) return { status: 'delivered' };
      if (answered.content) await this.contents.remove(answered.content.id);
      return endedWith((await this.jobs.find(job.id)) ?? job, type, digest);
    } finally {
      // Of JSON only the text is kept.
      if ('contentId' in body && !isStored) await this.contents.remove(body.contentId);
    }
  }

  private async progress(
    job: Job,
    { percent, message }: z.output<typeof progress>,
    context: RequestContext,
  ): Promise<Output> {
    if (!isOpen(job)) throw refuse(deliverJob, 'job_ended', {});
    if (percent !== undefined && percent < (job.percent ?? 0))
      throw refuse(deliverJob, 'delivery_refused', { problem: 'percent is below the last one' });
    await this.database.transaction(async (tx) => {
      type Stored = { percent: number | null; message: string | null; isTold: boolean };
      const [stored] = await tx.query<Stored>(storeProgress, [job.id, percent, message]);
      if (!stored) throw refuse(deliverJob, 'progress_too_often', { retry_after_seconds: 1 });
      const { isTold, ...said } = stored;
      const about = { requestId: job.id, buyerId: job.buyerId, listingId: job.listingId, at: new Date().toISOString() };
      if (isTold) this.outbox.add(tx, jobProgressed, { ...about, ...said }, context);
    });
    return { status: 'working' };
  }

  private async fail(job: Job, { reason }: z.output<typeof failure>, context: RequestContext): Promise<Output> {
    const failed = failureOf(job, 'job_failed', reason ?? null);
    if (!isOpen(job) || !(await this.endJob.execute(job, failed, context))) throw refuse(deliverJob, 'job_ended', {});
    return { status: 'failed' };
  }

  /** @param type null for JSON. @throws Refusal `result_refused`. */
  private async answerOf(
    job: Job,
    { endpoint }: CallableEndpoint,
    { requestId, kind, body, signed }: Input,
    type: string | null,
    sha256: string,
  ): Promise<SellerAnswered> {
    const size = 'size' in body ? body.size : Buffer.byteLength(body.base64, 'base64');
    const units = unitsOfDelivery({ requestId, kind }, signed);
    const answered = { kind: 'answered', statusCode: 200, latencyMs: latencyOf(job), units } as const;
    if (size === 0) throw refuse(deliverJob, 'result_refused', { problem: 'it is empty' });
    if (job.money.usage && units === undefined)
      throw refuse(deliverJob, 'result_refused', {
        problem: 'webhook-id does not end with the units that the call used',
      });
    if (type === null) {
      if (size > endpoint.maxResponseBytes) throw refuse(deliverJob, 'result_refused', { problem: 'too_large' });
      const bytes = await this.read(body);
      const json = bytes.toString('utf8');
      const problem = isUtf8(bytes) ? parseJson(json) : { problem: 'not_utf8' };
      if ('problem' in problem) throw refuse(deliverJob, 'result_refused', { problem: problem.problem });
      return { ...answered, json };
    }
    if (!job.fileTypes.includes(mediaTypeOf(type)))
      throw refuse(deliverJob, 'result_refused', { problem: "the listing's formats do not name this Content-Type" });
    if ('contentId' in body)
      return { ...answered, json: null, content: { id: body.contentId, contentType: type, size, sha256 } };
    const id = newId();
    await this.contents.append({ ...ownerOf(job), contentId: id, startsAt: 0, bytes: await this.read(body) });
    return { ...answered, json: null, content: { id, contentType: type, size, sha256 } };
  }

  /** The digest of what was signed, in hex; null if the signature does not hold. */
  private async digestOfSigned(
    { requestId, kind, signed, body }: Input,
    target: CallableEndpoint,
  ): Promise<string | null> {
    if (!isDeliveryOf({ requestId, kind }, signed)) return null;
    const hash = createHash('sha256');
    const macs = target.secrets.map((secret) =>
      createHmac('sha256', signingKey(secret)).update(`${signed.id}.${signed.timestamp}.`),
    );
    for await (const piece of this.pieces(body)) for (const each of [hash, ...macs]) each.update(piece);
    const given = signed.signature.split(' ').filter((each) => each.startsWith('v1,'));
    const signatures = given.map((each) => Buffer.from(each.slice(3), 'base64'));
    const isSigned = macs
      .map((mac) => mac.digest())
      .some((mac) => signatures.some((each) => each.length === mac.length && timingSafeEqual(each, mac)));
    return isSigned ? hash.digest('hex') : null;
  }

  /** @throws Refusal `delivery_refused`. */
  private async wordsOf<Words>({ body }: Input, schema: z.ZodType<Words>): Promise<Words> {
    const bytes = await this.read(body);
    const read: { value: object } | { problem: string } =
      bytes.length === 0 ? { value: {} } : isUtf8(bytes) ? readBody(bytes.toString('utf8')) : { problem: 'not_utf8' };
    if ('problem' in read) throw refuse(deliverJob, 'delivery_refused', { problem: read.problem });
    const words = schema.safeParse(read.value);
    if (words.success) return words.data;
    const { path, message } = words.error.issues[0]!;
    throw refuse(deliverJob, 'delivery_refused', { problem: `${path.join('.')}: ${message}` });
  }

  private async read(body: Input['body']): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(body)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  private async *pieces(body: Input['body']): AsyncGenerator<Buffer, void> {
    if ('base64' in body) return yield Buffer.from(body.base64, 'base64');
    for (let offset = 0; offset < body.size;) {
      const piece = await this.contents.read(body.contentId, offset);
      if (piece.length === 0) return;
      offset += piece.length;
      yield piece;
    }
  }

  private async find(requestId: string): Promise<{ job: Job; target: CallableEndpoint | null } | null> {
    const job = await this.jobs.find(requestId);
    return job && { job, target: await this.endpoints.find(job.listingId) };
  }
}

/** A job whose time is over ends at once. */
const isOpen = (job: Job): boolean => job.isOpen && !job.isOver;

/** The same answer once more is no mistake: the first word of it may have been lost. @throws Refusal `job_ended`. */
function endedWith(job: Job, type: string | null, digest: string): Output {
  if (job.isDelivered && job.digest === digest && job.contentType === type)
    return { status: 'delivered', duplicate: true };
  throw refuse(deliverJob, 'job_ended', {});
}

const maxBytesOf = ({ fileTypes }: Job, { endpoint }: CallableEndpoint): number =>
  fileTypes.length > 0 ? Math.max(endpoint.maxFileBytes, endpoint.maxResponseBytes) : endpoint.maxResponseBytes;

const ownerOf = ({ id, buyerId, sellerId }: Job): { callId: string; buyerId: string; sellerId: string } => ({
  callId: id,
  // The job of a test has no buyer, and is told below that it has ended.
  buyerId: buyerId ?? sellerId,
  sellerId,
});
