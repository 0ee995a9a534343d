import {
  accountType,
  declareRefusal,
  scope,
  type AccountType,
  type RefusalDeclaration,
  type Scope,
} from '@market/contracts';
import { Refusal } from '@market/messaging';
import { z } from 'zod';
import { RATE_NAMES, type RateName } from './rate-limits.js';

/** One thing wrong with a request; `field` is a body path, a query parameter or a header. */
export interface FieldProblem {
  field: string;
  message: string;
}

const fieldProblems = z
  .array(z.object({ field: z.string(), message: z.string() }))
  .meta({ examples: [[{ field: 'name', message: 'must be text of 2 to 100 characters' }]] });

/** Refusals of the edge, before it sends a request to a service. */
export const edgeRefusals = {
  request_invalid: declareRefusal(
    'invalid',
    'The request is not valid; details.fields names every problem',
    z.object({ fields: fieldProblems }),
    { nextAction: 'fix_request' },
  ),
  body_malformed: declareRefusal(
    'invalid',
    'The request body cannot be read',
    z.object({ problem: z.string().meta({ examples: ['the body is not valid JSON'] }) }),
    { nextAction: 'fix_request' },
  ),
  request_malformed: declareRefusal(
    'invalid',
    'This is not a request the marketplace can read',
    z.object({ problem: z.string() }),
    { nextAction: 'fix_request' },
  ),
  /** The same for every invalid key, so that it reveals nothing. */
  unauthorized: declareRefusal(
    'unauthenticated',
    'Missing or invalid API key: send exactly one header "Authorization: Bearer am_k_…"; an agent without a key registers first',
    z.object({}),
    { nextAction: 'authenticate' },
  ),
  /** Agents authenticate with keys, humans with sessions. */
  wrong_account_type: declareRefusal(
    'forbidden',
    'This kind of account cannot use this operation; details.account_types names those that can',
    z.object({ account_types: z.array(accountType) }),
    { nextAction: 'authenticate' },
  ),
  operator_required: declareRefusal(
    'forbidden',
    'Only the operators of this marketplace use this operation, with a session of their own',
    z.object({}),
    { nextAction: 'contact_operator' },
  ),
  agent_id_of_another: declareRefusal(
    'forbidden',
    'agent_id names another agent than the one whose API key is sent; a key works for its own agent alone',
    z.object({}),
    { nextAction: 'fix_request' },
  ),
  cross_site_write: declareRefusal(
    'forbidden',
    "A session cookie changes things only from the marketplace's own pages: anything else sends the session token as a Bearer token",
    z.object({}),
    { nextAction: 'authenticate' },
  ),
  content_is_no_script: declareRefusal(
    'forbidden',
    'A page may run no file that a seller has answered with',
    z.object({}),
  ),
  length_missing: declareRefusal(
    'length-required',
    'A delivery says in Content-Length how many bytes it has',
    z.object({}),
  ),
  delivery_compressed: declareRefusal(
    'unsupported-type',
    'A delivery is sent as it is, without Content-Encoding',
    z.object({}),
  ),
  scope_missing: declareRefusal(
    'forbidden',
    'The API key lacks the scope this operation needs',
    z.object({ required_scope: scope }),
    { nextAction: 'create_key_with_scope' },
  ),
  rate_limited: declareRefusal(
    'rate-limited',
    'Too many requests: wait as long as Retry-After says; RateLimit-Policy names the rate',
    z.object({ rate: z.enum(RATE_NAMES), retry_after_seconds: z.int() }),
    { nextAction: 'retry_after_delay' },
  ),
  too_many_in_flight: declareRefusal(
    'rate-limited',
    'Too many calls of this account, wallet or address are under way at once',
    z.object({ limit: z.int().meta({ examples: [20] }), retry_after_seconds: z.int() }),
    { nextAction: 'retry_after_delay' },
  ),
  too_many_streams: declareRefusal(
    'rate-limited',
    'This account, or this call, has as many streams open as it may have',
    z.object({ limit: z.int(), retry_after_seconds: z.int() }),
    { nextAction: 'retry_after_delay' },
  ),
  call_loops: declareRefusal(
    'forbidden',
    'This request has passed through this marketplace already, or through too many others: the endpoint of the ' +
      'listing that was called leads back',
    z.object({}),
    { nextAction: 'choose_another_listing' },
  ),
  setup_retired: declareRefusal(
    'gone',
    'The marketplace keeps no buyer funds and no payment setup any more; pay per call through the gateway',
    z.object({ replacement: z.literal('POST /gateway/{listingId}') }),
    { nextAction: 'use_direct_gateway' },
  ),
};

/** The same where humans alone are let in. */
export const sessionMissing: typeof edgeRefusals.unauthorized = {
  ...edgeRefusals.unauthorized,
  message:
    'Missing or invalid session: sign in with POST /auth/session and send exactly one header "Authorization: Bearer am_s_…"',
};

type WrongAccountType = typeof edgeRefusals.wrong_account_type;

/** The refusal of a session that may act for an agent and names none. */
export const agentIdMissing: WrongAccountType = {
  ...edgeRefusals.wrong_account_type,
  message: 'A session uses this operation for an agent that its human has claimed: send agent_id',
  recovery: { nextAction: 'send_agent_id' },
};

const refusal = <D extends z.ZodType>(
  reason: keyof typeof edgeRefusals,
  declaration: RefusalDeclaration<D>,
  details: z.output<D>,
): Refusal => new Refusal(reason, declaration, details as Record<string, unknown>);

export const requestInvalid = (fields: FieldProblem[]): Refusal =>
  refusal('request_invalid', edgeRefusals.request_invalid, { fields });
export const bodyMalformed = (problem: string): Refusal =>
  refusal('body_malformed', edgeRefusals.body_malformed, { problem });
export const requestMalformed = (problem: string): Refusal =>
  refusal('request_malformed', edgeRefusals.request_malformed, { problem });
export const unauthorized = (accounts: readonly AccountType[] = ['agent']): Refusal =>
  refusal('unauthorized', accounts.includes('agent') ? edgeRefusals.unauthorized : sessionMissing, {});
export const wrongAccountType = (accounts: readonly AccountType[], declaration: WrongAccountType): Refusal =>
  refusal('wrong_account_type', declaration, { account_types: [...accounts] });
export const agentIdOfAnother = (): Refusal => refusal('agent_id_of_another', edgeRefusals.agent_id_of_another, {});
export const operatorRequired = (): Refusal => refusal('operator_required', edgeRefusals.operator_required, {});
export const crossSiteWrite = (): Refusal => refusal('cross_site_write', edgeRefusals.cross_site_write, {});
export const scopeMissing = (required: Scope): Refusal =>
  refusal('scope_missing', edgeRefusals.scope_missing, { required_scope: required });
export const rateLimited = (rate: RateName, retryAfterSeconds: number): Refusal =>
  refusal('rate_limited', edgeRefusals.rate_limited, { rate, retry_after_seconds: retryAfterSeconds });
/** The time is a guess, because a call in flight may end at any moment. */
export const tooManyInFlight = (limit: number): Refusal =>
  refusal('too_many_in_flight', edgeRefusals.too_many_in_flight, { limit, retry_after_seconds: 1 });
/** The time is a guess, because a stream ends when its client closes it. */
export const tooManyStreams = (limit: number): Refusal =>
  refusal('too_many_streams', edgeRefusals.too_many_streams, { limit, retry_after_seconds: 1 });
export const callLoops = (): Refusal => refusal('call_loops', edgeRefusals.call_loops, {});
export const setupRetired = (): Refusal =>
  refusal('setup_retired', edgeRefusals.setup_retired, { replacement: 'POST /gateway/{listingId}' });
export const lengthMissing = (): Refusal => refusal('length_missing', edgeRefusals.length_missing, {});
export const deliveryCompressed = (): Refusal => refusal('delivery_compressed', edgeRefusals.delivery_compressed, {});
export const contentIsNoScript = (): Refusal => refusal('content_is_no_script', edgeRefusals.content_is_no_script, {});
