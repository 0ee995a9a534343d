import fc from 'fast-check';
import type { Harness } from '../harness.js';
import { AnswerCheck, type Answers } from './answer-check.js';
import { Fixtures, signIn } from './fixtures.js';
import type { DatabaseWatch } from './database-digest.js';
import { fuzzPlans, type Actor, type Plan } from './fuzz-requests.js';
import { inParallel } from './in-parallel.js';
import { knownValues } from './known-values.js';
import { liveProof, PROVABLE } from './live-proofs.js';
import type { ApiDescription, Operation } from './operations.js';
import type { RawAnswer, RawClient, RawRequest } from './raw-client.js';

const CHUNK = 500;
/**
 * After this many requests, new fixtures are created, because operations have removed or changed parts of the old ones.
 */
const REQUESTS_PER_FIXTURES = 1_500;
/** The number of refused writes that are repeated between two digests of the database. */
const REPEAT_BATCH_SIZE = 1_000;
const MAX_REPORTED = 30;
/** The maximum duration of a request. A busy machine may exceed it once, but hardly twice in a row. */
const SLOW_MS = 5_000;
/** Endpoint tests and gateway calls depend on the seller's time. */
const WAITS_FOR_SELLER = ['testEndpoint', 'executeCall', 'executeKeylessCall'];

export interface FuzzSettings {
  seed: number;
  requests: number;
}

/** The number of answers by operation and status. */
export type Tally = Map<string, Map<number, number>>;

interface Sent {
  plan: Plan;
  number: number;
  request: RawRequest;
  answer: RawAnswer;
}

/** Sends the requests of `fuzzPlans` and collects what is wrong with their answers and with changes that refused writes left. */
export class FuzzRun {
  readonly tally: Tally = new Map();
  readonly problems: string[] = [];
  repeatedWrites = 0;
  private readonly check: AnswerCheck;
  private fixtures: Fixtures;

  constructor(
    private readonly harness: Harness,
    private readonly description: ApiDescription,
    private readonly firstFixtures: Fixtures,
    private readonly client: RawClient,
    private readonly watch: DatabaseWatch,
  ) {
    this.check = new AnswerCheck(description);
    this.fixtures = firstFixtures;
  }

  async run({ seed, requests }: FuzzSettings): Promise<void> {
    let plans = fuzzPlans(this.description, await knownValues(this.fixtures), PROVABLE);
    let refusedWrites: Sent[] = [];
    for (let first = 0; first < requests && this.problems.length < MAX_REPORTED; first += CHUNK) {
      if (first > 0 && first % REQUESTS_PER_FIXTURES === 0) {
        await this.recreate();
        plans = fuzzPlans(this.description, await knownValues(this.fixtures), PROVABLE);
      }
      const chunk = fc.sample(plans, { seed: seed + first, numRuns: Math.min(CHUNK, requests - first) });
      const sent = await inParallel(chunk, (plan, index) => this.send(plan, first + index));
      refusedWrites.push(...sent.filter(isRefusedWrite));
      const isLast = first + CHUNK >= requests;
      if (refusedWrites.length >= REPEAT_BATCH_SIZE || isLast) {
        for (const culprit of await this.changersAmong(refusedWrites)) this.problems.push(culprit);
        this.repeatedWrites += refusedWrites.length;
        refusedWrites = [];
      }
    }
    if (this.fixtures !== this.firstFixtures) await this.fixtures.close();
  }

  private async recreate(): Promise<void> {
    if (this.fixtures !== this.firstFixtures) await this.fixtures.close();
    this.fixtures = await Fixtures.create(this.harness);
  }

  private async send(plan: Plan, number: number): Promise<Sent> {
    const { operation, actor, isLive } = plan;
    const { headers, ...rest } = plan.request(isLive ? await liveProof(operation.id, this.fixtures, this.harness) : {});
    const request = { ...rest, headers: { ...(await this.credentialOf(actor, rest)), ...headers } };
    const answer = await this.client.send(request).catch((error: Error) => error);
    const sent = { plan, number, request, answer: answer as RawAnswer };
    if (answer instanceof Error) this.complain(sent, `there was no answer: ${answer.message}`);
    else await this.checkAnswer(sent);
    return sent;
  }

  private async checkAnswer(sent: Sent): Promise<void> {
    const { plan, request, answer } = sent;
    const reached = operationAt(this.description, request) ?? pageAt(request);
    for (const problem of this.check.problemsOf(reached, request.method, answer, Object.values(this.fixtures.keys)))
      this.complain(sent, problem);
    if (answer.tookMs > SLOW_MS && !WAITS_FOR_SELLER.includes(plan.operation.id)) {
      const repeated = await this.client.send(request).catch(() => ({ tookMs: Infinity }));
      if (repeated.tookMs > SLOW_MS) this.complain(sent, `it took ${Math.round(answer.tookMs)} ms, and as long again`);
    }
    const statuses = this.tally.get(plan.operation.name) ?? new Map<number, number>();
    this.tally.set(plan.operation.name, statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1));
  }

  /** Returns a credential; for signing out, that of a session that no other request uses. */
  private async credentialOf(
    actor: Actor,
    request: Pick<RawRequest, 'method' | 'target'>,
  ): Promise<Record<string, string>> {
    if (actor === 'anonymous') return {};
    if (actor === 'agent') return { authorization: `Bearer ${this.fixtures.keys.all}` };
    const reached = operationAt(this.description, request);
    if (reached?.access.operators) return { authorization: `Bearer ${this.fixtures.operator.token}` };
    return {
      authorization: `Bearer ${reached?.id === 'closeSession' ? (await signIn(this.harness)).token : this.fixtures.human.token}`,
    };
  }

  /** @returns a problem for each refused request that changed something. */
  private async changersAmong(writes: Sent[]): Promise<string[]> {
    const accepted = new Set<Sent>();
    const changed = await this.watch.changedBy(() =>
      inParallel(writes, async (write) => {
        if ((await this.client.send(write.request)).status < 400) accepted.add(write);
      }),
    );
    if (changed.length === 0) return [];
    // If a repeated request is accepted, it may change anything, so it is excluded.
    if (accepted.size > 0) return this.changersAmong(writes.filter((write) => !accepted.has(write)));
    if (writes.length === 1) return [told(writes[0]!, `is refused and changes ${changed.join(', ')}`)];
    const half = Math.ceil(writes.length / 2);
    return [...(await this.changersAmong(writes.slice(0, half))), ...(await this.changersAmong(writes.slice(half)))];
  }

  private complain(sent: Sent, problem: string): void {
    this.problems.push(told(sent, problem));
  }
}

/** A 402 is excluded, because it stores an offer. */
const isRefusedWrite = ({ request, answer }: Sent): boolean =>
  !['GET', 'HEAD', 'OPTIONS'].includes(request.method) && answer.status >= 400 && answer.status !== 402;

/** The operation that a request is routed to; undefined if it cannot be determined. */
function operationAt(
  { operations }: ApiDescription,
  { method, target }: Pick<RawRequest, 'method' | 'target'>,
): Operation | undefined {
  const path = decoded(target.split(/[?#]/)[0]!);
  if (path === undefined) return undefined;
  const candidates = operations.filter(
    (operation) =>
      operation.method === (method === 'HEAD' ? 'GET' : method) &&
      new RegExp(`^/api/v1${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]{0,200}')}$`, 'su').test(
        path,
      ),
  );
  // A literal path takes precedence over one with a parameter.
  return candidates.sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0];
}

/** The console's pages whose path is that of an operation without the prefix of the interface. */
const CONSOLE_PAGE: Answers = {
  id: 'consolePage',
  name: "the console's page",
  answers: new Map([[200, { 'text/html': {} }]]),
};

function pageAt({ method, target }: Pick<RawRequest, 'method' | 'target'>): Answers | undefined {
  const isPage = ['GET', 'HEAD'].includes(method) && /^\/(agents|listings)\/[^/]+$/.test(target.split('?')[0]!);
  return isPage ? CONSOLE_PAGE : undefined;
}

/** Decodes a path like a router: an encoded slash stays within its segment. */
function decoded(path: string): string | undefined {
  try {
    return path
      .split('/')
      .map((segment) => decodeURIComponent(segment).replaceAll('/', '\u2044'))
      .join('/');
  } catch {
    return undefined;
  }
}

function told({ plan, number, request, answer }: Sent, problem: string): string {
  const { method, target, headers, body } = request;
  const shown = body === undefined ? '' : ` ${Buffer.from(body).toString().slice(0, 600)}`;
  const { authorization: _secret, ...others } = headers;
  return (
    `#${number} ${plan.operation.id} as ${plan.actor} (${plan.done.join(', ') || 'as described'}): ${problem}\n` +
    `    ${method} ${target.slice(0, 300)} ${JSON.stringify(others).slice(0, 400)}${shown}\n` +
    `    -> ${answer.status ?? ''} ${answer.text?.slice(0, 400) ?? ''}`
  );
}
