import { isStreamType, type StoredContent, testEndpoint } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { Limits, type LimitRule } from '@market/limits';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, Idempotency } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ContentReceiver } from '../contents/content-receiver.js';
import { mayAnswerWithContent } from '../contents/contents.js';
import type { SellerOutcome } from '../egress/seller-outcome.js';
import { SignedRequests } from '../egress/signed-requests.js';
import { InputSchemas } from '../offerings/input-schemas.js';
import { JobRecords } from '../jobs/job-records.js';
import { Offerings } from '../offerings/offerings.js';
import { CallableEndpoints, jobDeadlineOf } from './callable-endpoints.js';
import { EndpointHealth } from './endpoint-health.js';
import { EndpointsRepository } from './endpoints.repository.js';

type Output = OutputOf<typeof testEndpoint>;
/** `isJob`: the seller has taken the test as a job. */
type Tested = SellerOutcome & { isJob?: true };

/** What answers a test is not kept. A file must be whole; of a stream the first event must come. */
const NOWHERE = { append: async () => undefined, remove: async () => undefined };
const TESTS: LimitRule = { name: 'endpoint-tests', points: 10, perSeconds: 60 };

/**
 * Sends a signed test request to an endpoint. The body is the one that the owner gives, which must be valid for the
 * listing, or else the example_input of the listing if there is one. The owner only gets a coarse reason for a failure,
 * so that the test cannot be used as a port scanner.
 */
@Injectable()
export class TestEndpoint {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly repository: EndpointsRepository,
    private readonly offerings: Offerings,
    private readonly inputSchemas: InputSchemas,
    private readonly endpoints: CallableEndpoints,
    private readonly sellers: SignedRequests,
    private readonly health: EndpointHealth,
    private readonly limits: Limits,
    private readonly jobs: JobRecords,
  ) {}

  @HandleRequest(testEndpoint)
  async execute(
    { listing_id: listingId, body }: InputOf<typeof testEndpoint>,
    context: RequestContext,
  ): Promise<Output> {
    const { seller_id: sellerId, max_request_bytes: maxBytes } = await this.repository.findOwn(
      this.database,
      listingId,
      context,
    );
    // A test is not taken back, so of two that run at the same time under one key, both are sent.
    const stored = await this.idempotency.replay(testEndpoint, context);
    if (stored) return stored;
    const givenBody = body && JSON.stringify(body);
    if (givenBody !== undefined) await this.checkBody(listingId, givenBody, maxBytes, context);
    await this.countTest(listingId);
    const tested = await this.test({ listingId, sellerId, givenBody }, context);
    if (!tested) throw refuse(testEndpoint, 'endpoint_not_found', {});
    const { requestId, outcome } = tested;
    const success = outcome.kind === 'answered';
    return this.idempotency.run(testEndpoint, context, async () => ({
      success,
      seller_status_code: outcome.statusCode,
      latency_ms: outcome.latencyMs,
      request_id: requestId,
      checks: checksOf(outcome, success),
      seller_response_json: outcome.json,
    }));
  }

  /** Sends a test and updates the endpoint's health. @returns undefined if the listing has no endpoint. */
  async test(
    { listingId, sellerId, givenBody }: { listingId: string; sellerId: string; givenBody?: string },
    context: RequestContext,
    signal?: AbortSignal,
  ): Promise<{ requestId: string; outcome: Tested } | null> {
    // The cached endpoint may be a second old, but the test must use the current configuration.
    this.endpoints.drop({ listingId });
    const target = await this.endpoints.find(listingId);
    if (!target) return null;
    const requestId = newId();
    const offering = await this.offerings.find(listingId, context);
    const rawBody =
      givenBody ??
      offering?.exampleInput ??
      JSON.stringify({ event: 'endpoint.test', listing_id: listingId, request_id: requestId });
    const timeoutMs = Math.max(1, Math.min(target.endpoint.timeoutMs, context.deadlineAt - Date.now() - 1_000));
    const parties = { callId: requestId, buyerId: sellerId, sellerId };
    const formats = offering?.formats;
    const { maxFileBytes, idleTimeoutMs, streamTimeoutMs } = target.endpoint;
    const firstEvent = new AbortController();
    const asked = { lockName: null, attempt: 1, idleTimeoutMs, streamTimeoutMs };
    const collect = async (): Promise<boolean> => (firstEvent.abort(), false);
    const receiver = mayAnswerWithContent(formats)
      ? new ContentReceiver(NOWHERE, parties, formats, maxFileBytes, { ...asked, collect, onOpen: () => undefined })
      : undefined;
    const until = AbortSignal.any([firstEvent.signal, ...(signal ? [signal] : [])]);
    const request = { requestId, event: 'endpoint.test', buyerId: sellerId, attempt: 1, rawBody, timeoutMs } as const;
    const jobDeadlineSeconds = jobDeadlineOf(target, Date.now());
    const sent = await this.sellers.send(target, { ...request, jobDeadlineSeconds, receiver, signal: until }, context);
    const contentType = receiver?.stream?.contentType;
    // A job that a test has begun is never delivered.
    if (sent.kind === 'accepted') await this.jobs.addTest(requestId, listingId, sellerId);
    const outcome: Tested =
      sent.kind === 'accepted'
        ? { ...sent, kind: 'answered', json: sent.json ?? 'null', isJob: true }
        : firstEvent.signal.aborted && contentType !== undefined
          ? { ...sent, kind: 'answered', statusCode: 200, json: null, content: streamOf(requestId, contentType) }
          : sent;
    // An aborted test says nothing about the seller.
    if (!signal?.aborted) await this.health.tested(target.endpoint, outcome, context);
    return { requestId, outcome };
  }

  private async checkBody(listingId: string, body: string, maxBytes: number, context: RequestContext): Promise<void> {
    if (Buffer.byteLength(body) > maxBytes)
      throw refuse(testEndpoint, 'request_body_too_large', { max_request_bytes: maxBytes });
    const offering = await this.offerings.find(listingId, context);
    const refused = offering && (await this.inputSchemas.refusalOf(offering, { body }, context));
    if (refused) throw refused;
  }

  private async countTest(listingId: string): Promise<void> {
    const { allowed, retryAfterSeconds } = await this.limits.consume(TESTS, listingId);
    if (!allowed) throw refuse(testEndpoint, 'too_many_tests', { retry_after_seconds: retryAfterSeconds });
  }
}

const streamOf = (id: string, contentType: string): StoredContent => ({ id, contentType, size: 0, sha256: '' });

function checksOf(outcome: Tested, success: boolean): Output['checks'] {
  const failed = outcome.kind === 'failed' ? outcome.reason : null;
  const reached = failed !== 'unreachable' && failed !== 'forbidden_address';
  const checks = [
    {
      name: 'reachable',
      ok: reached,
      message: reached ? 'The endpoint was reached' : 'The endpoint could not be reached',
    },
  ];
  if (!reached) return checks;
  checks.push({
    name: 'in_time',
    ok: failed !== 'timeout',
    message: failed === 'timeout' ? 'No complete answer came within timeout_ms' : `Answered in ${outcome.latencyMs} ms`,
  });
  if (failed === 'timeout') return checks;
  const isJson = outcome.json !== null;
  const content = outcome.kind === 'answered' ? outcome.content : undefined;
  checks.push(
    outcome.isJob
      ? { name: 'job', ok: true, message: 'The endpoint has taken the test as a job' }
      : content
        ? contentCheckOf(content)
        : {
            name: 'json',
            ok: isJson,
            message: isJson ? 'The answer is JSON within the limits' : `The answer is not usable: ${failed}`,
          },
  );
  checks.push({
    name: 'status',
    ok: success,
    message: success ? 'The answer has a 2xx status' : 'The answer does not have a 2xx status',
  });
  return checks;
}

const contentCheckOf = ({ contentType, size }: StoredContent): Output['checks'][number] =>
  isStreamType(contentType)
    ? { name: 'stream', ok: true, message: `The first event of a stream has come, ${contentType}` }
    : { name: 'file', ok: true, message: `The answer is a whole file of ${size} bytes, ${contentType}` };
