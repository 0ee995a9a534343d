import {
  evmWallet,
  type HttpAnswer,
  type Marketplace,
  type Method,
  type Recovery,
  type RequestOptions,
} from '@market/sdk';
import { eventually } from '@market/testing';
import { randomUUID } from 'node:crypto';
import { OpenApiDocument } from '../../../../api-gateway/test/support/openapi-document.js';
import { bodyOf } from '../buyer.js';
import { registerAgent, stranger, type Agent, type Harness } from '../harness.js';
import { openShop, type Shop } from '../seller.js';

/** A request as its client would write it down. */
export interface Sent extends Pick<RequestOptions, 'rawBody'> {
  by: Marketplace;
  /** A function where each attempt needs a body of its own, because a proof is good for one. */
  body?: unknown;
  method: Method;
  path: string;
  headers?: Record<string, string>;
}

interface ApiError {
  code: string;
  message: string;
  details?: Record<string, unknown> & { reason?: string };
  recovery: Recovery & { use_new_idempotency_key?: boolean };
}

type Change = Partial<Sent> | void;

export interface Walk {
  /** The request that is refused. */
  request: Sent;
  /**
   * Does what `recovery.next_action` says, as GET /recovery-actions explains it, and returns what it changes in the
   * request. If it is absent, the same request is repeated.
   */
  follow?(error: Required<ApiError>, answer: HttpAnswer): Change | Promise<Change>;
  /** What is checked of the answer to the repeated request, beside its success. */
  check?(answer: HttpAnswer): void | Promise<void>;
  /** For `do_not_retry`: the request gets this refusal again, or the one of `then`, and `instead` is what can be done. */
  instead?(): Promise<unknown>;
  then?: string;
}

/** By reason and action, as in `listing_mismatch fix_request`. */
export type Rows = Record<string, (world: World) => Promise<Walk>>;

/** Whoever the rows need. Each row makes its own buyers and sellers, unless it changes nothing of them. */
export class World {
  readonly anyone: Marketplace;
  private readonly shops: Shop[] = [];
  private common: Promise<{ seller: Agent; shop: Shop }> | undefined;

  constructor(readonly harness: Harness) {
    this.anyone = stranger(harness);
  }

  agent = (): Promise<Agent> => registerAgent(this.harness);

  human = async (): Promise<{ market: Marketplace; id: string }> => {
    const { marketplace, session } = await this.anyone.signIn(evmWallet());
    return { market: marketplace, id: session.account.id };
  };

  /** A shop of $0.25 a call that no row changes. */
  shop(): Promise<{ seller: Agent; shop: Shop }> {
    return (this.common ??= this.agent().then(async (seller) => ({ seller, shop: await this.open(seller) })));
  }

  async open(...args: Parameters<typeof openShop>): Promise<Shop> {
    const shop = await openShop(...args);
    this.shops.push(shop);
    return shop;
  }

  async close(): Promise<void> {
    await Promise.all(this.shops.map((shop) => shop.close()));
  }
}

const WITHIN = { withinMs: 20_000, everyMs: 100 };
/** Operations that take an Idempotency-Key are sent with one, as careful clients do. */
const KEYED: readonly Method[] = ['POST', 'PATCH', 'PUT'];

/** The next actions of a call that was not delivered: its 200 says one, which the document leaves open. */
const UNDELIVERED = [
  '200 seller_error retry_same_request',
  '200 seller_error retry_after_delay',
  '200 seller_error request_new_payment_requirements',
  '200 seller_refused fix_request',
  '200 seller_refused choose_another_listing',
];

interface Undone {
  reason?: string;
  code?: string;
  message?: string;
  billable?: boolean;
  error?: { reason: string; message: string };
  recovery?: Recovery;
}

/**
 * What an answer says is still to be done, as an error: that of a refusal, or that of a 202, or of a 200 whose call was
 * not delivered.
 */
function undoneIn(answer: HttpAnswer): Required<ApiError> | undefined {
  const { error, data } = bodyOf(answer) as { error?: Required<ApiError>; data?: Undone };
  if (error || !data?.recovery) return error;
  const { reason = data.error!.reason, message = data.error!.message, recovery } = data;
  return { code: String(answer.status), message, details: { reason }, recovery };
}

const send = async ({ by, method, path, body, ...options }: Sent): Promise<HttpAnswer> =>
  by.send(method, path, { ...options, body: typeof body === 'function' ? await (body as () => unknown)() : body });
const keyOf = ({ code, details }: ApiError, next = 'none'): string =>
  `${/^2/.test(code) ? `${code} ` : ''}${details?.reason ?? code} ${next}`;

const without = (headers: Record<string, string>, names: readonly string[] = []): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !names.some((other) => other.toLowerCase() === name.toLowerCase())),
  );

/**
 * Sends a request that is refused and does what the refusal says: sends again what `keep` names, leaves out what `drop`
 * names, sends a new Idempotency-Key only if it is told to, waits as long as Retry-After says, and changes what the row
 * changes for the action.
 */
export async function walk(key: string, { request, follow, check, instead, then = key }: Walk): Promise<void> {
  const sent: Sent = {
    ...request,
    headers: { ...(KEYED.includes(request.method) && { 'Idempotency-Key': randomUUID() }), ...request.headers },
  };
  // What a refusal depends on may be cached for some seconds.
  const refused = await eventually(async () => {
    const answer = await send(sent);
    const error = undoneIn(answer);
    expect({ status: answer.status, key: error && keyOf(error, error.recovery?.next_action) }).toMatchObject({ key });
    return answer;
  }, WITHIN);
  const error = undoneIn(refused)!;
  if (instead) {
    const again = bodyOf(await send(sent)).error as ApiError;
    expect(keyOf(again, again.recovery.next_action)).toBe(then);
    await instead();
    return;
  }
  const { keep = [], drop, use_new_idempotency_key: isNewKey, next_action: action } = error.recovery;
  const waits = action === 'retry_after_delay' && refused.status > 409;
  if (waits) expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  const { headers: changed, ...change } = (await follow?.(error, refused)) ?? {};
  const headers: Record<string, string> = {
    ...without(sent.headers!, drop),
    ...(isNewKey && { 'Idempotency-Key': randomUUID() }),
    ...changed,
  };
  // What is to be kept must have been there to be kept, where the request had it.
  for (const name of keep)
    expect(Object.keys(without(sent.headers!, [name])).length - Object.keys(without(headers, [name])).length).toBe(
      Object.keys(sent.headers!).length - Object.keys(headers).length,
    );
  const answer = await eventually(async () => {
    const next = await send({ ...sent, ...change, headers });
    // A call that is not paid yet succeeds by being told its price.
    const isPriced = next.status === 402 && bodyOf(next).data !== undefined;
    expect([key, (next.status < 300 && undoneIn(next) === undefined) || isPriced || next.text]).toEqual([key, true]);
    return next;
  }, WITHIN);
  await check?.(answer);
}

interface Pending {
  $ref?: string;
  oneOf?: Pending[];
  properties?: { reason?: { enum: string[] } };
}

/**
 * Every reason with its action that the OpenAPI document gives an example of, every reason that a 202 may have, and
 * every action of a call that was not delivered.
 */
export async function declaredRecoveries(anyone: Marketplace): Promise<string[]> {
  const found = new Set<string>(UNDELIVERED);
  const look = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { success, error } = node as { success?: unknown; error?: ApiError };
    if (success === false && error) found.add(keyOf(error, error.recovery?.next_action));
    Object.values(node).forEach(look);
  };
  const { json } = await anyone.send('GET', '/openapi.json');
  look(json);
  const { operations, document } = new OpenApiDocument(json);
  for (const { responses } of operations) {
    const { schema, example } = responses['202']?.content?.['application/json'] ?? {};
    if (!schema) continue;
    const { data } = (schema as { properties: { data: Pending } }).properties;
    const { recovery } = (example as { data: { recovery?: Recovery } }).data;
    const resolve = (form: Pending): Pending =>
      form.$ref ? (document.components.schemas[form.$ref.split('/').at(-1)!] as Pending) : form;
    for (const form of resolve(data).oneOf ?? [data])
      for (const reason of resolve(form).properties?.reason?.enum ?? [])
        found.add(`202 ${reason} ${recovery!.next_action}`);
  }
  return [...found].sort();
}
