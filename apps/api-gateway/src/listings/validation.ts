import { id, type OutputOf } from '@market/contracts';
import { searchNote, type getListing } from '@market/contracts/catalog';
import type { testEndpoint } from '@market/contracts/gateway';
import type { ExactTerms, PaymentRoute } from '@market/contracts/payments-ledger';
import { z } from 'zod';
import { bazaarResource } from '../x402/bazaar-resource.js';

const check = z.object({
  name: z.enum(['state', 'text', 'schema', 'wallet', 'payment', 'endpoint', 'quality', 'search']),
  status: z.enum(['ok', 'warning', 'failed', 'skipped']),
  message: z.string(),
  fix: z.string().nullable().describe('What to do about it; null where nothing is to be done.'),
});
type Check = z.output<typeof check>;

/** What a buyer and an indexer see of a listing, and what keeps them from it. */
export const validation = z.object({
  listing: z.object({ id, name: z.string(), slug: z.string() }),
  ok: z.boolean().describe('No check failed; warnings may remain.'),
  checks: z.array(check),
  search: z.object({
    q: z.string(),
    rank: z.number().int().nullable().describe('Its place among the first 100 that q finds, from 1.'),
    total: z.number().int(),
    lacks: z.array(z.string()).describe('Words of q that the listing has in no form.'),
    note: searchNote.optional(),
  }),
  discovery: bazaarResource.nullable().describe('Its entry in /discovery/resources; null where it has none.'),
});
export type Validation = z.output<typeof validation>;

type Detail = OutputOf<typeof getListing>;

export interface Findings {
  listing: Detail;
  /** The chains on which its seller would need a wallet; null if it can be paid. */
  missingWallet: string[] | null;
  terms: ExactTerms[];
  routes: PaymentRoute[];
  /** Null if no test was made. */
  test: OutputOf<typeof testEndpoint> | null;
  search: Validation['search'];
}

const MIN_DESCRIPTION = 120;
const MIN_TAGS = 3;
const MIN_SUCCESS = 0.9;

const ok = (message: string) => ({ status: 'ok' as const, message, fix: null });
const warning = (message: string, fix: string) => ({ status: 'warning' as const, message, fix });
const failed = (message: string, fix: string) => ({ status: 'failed' as const, message, fix });
const skipped = (message: string) => ({ status: 'skipped' as const, message, fix: null });

const PATCH = 'PATCH /listings/{listingId}';
const NOT_CALLED = 'Its calls do not go through the gateway';
const NOT_PER_CALL = 'Its calls are not paid one by one';

/** The checks in the order in which their faults are best mended. */
export function checksOf(findings: Findings): Check[] {
  const isPerCall = findings.listing.pricing_model === 'per_call';
  const isCalled = findings.listing.gateway_url !== undefined;
  return [
    { name: 'state', ...stateOf(findings.listing) },
    { name: 'text', ...textOf(findings.listing) },
    { name: 'schema', ...(isCalled ? schemaOf(findings.listing) : skipped(NOT_CALLED)) },
    { name: 'wallet', ...walletOf(findings) },
    { name: 'payment', ...(isPerCall ? paymentOf(findings) : skipped(NOT_PER_CALL)) },
    { name: 'endpoint', ...(isCalled ? endpointOf(findings) : skipped(NOT_CALLED)) },
    { name: 'quality', ...(isCalled ? qualityOf(findings.listing) : skipped(NOT_CALLED)) },
    { name: 'search', ...searchOf(findings) },
  ];
}

const stateOf = ({ status }: Detail) =>
  status === 'active'
    ? ok('It is active')
    : status === 'draft'
      ? failed('It is a draft, which only its owner sees', `${PATCH} with status: active`)
      : failed(
          'It is suspended, and nobody finds or buys it',
          `If you withdrew it: ${PATCH} with status: draft, then status: active. If its endpoint fails or fees are ` +
            'overdue, it comes back once that is mended; else ask the operator',
        );

function textOf({ description, tags, category_id }: Detail) {
  const wanting = [
    ...(description.length < MIN_DESCRIPTION ? [`a description of ${MIN_DESCRIPTION} characters or more`] : []),
    ...(tags.length < MIN_TAGS ? [`${MIN_TAGS} tags or more`] : []),
    ...(category_id === null ? ['a category'] : []),
  ];
  return wanting.length === 0
    ? ok('Name, description, tags and category say what it is found by')
    : warning(
        `It is found by few words: it lacks ${wanting.join(', ')}`,
        `${PATCH} with what it takes, what it gives and what it is good for, in the words of buyers`,
      );
}

const schemaOf = ({ input_schema, output_schema, example_outputs }: Detail) =>
  input_schema === null
    ? warning(
        'It does not say what to send, so agents have to guess and indexers show no input',
        `${PATCH} with input_schema and example_input`,
      )
    : output_schema === null && example_outputs.length === 0
      ? warning('It does not say what comes back', `${PATCH} with output_schema or example_outputs`)
      : ok('It says what to send and what comes back');

const walletOf = ({ missingWallet, listing }: Findings) =>
  missingWallet === null
    ? ok('Its seller can be paid')
    : listing.pricing_amount === 0
      ? skipped('It is free')
      : failed(
          `Its seller has no active wallet with the capability payout on ${missingWallet.join(' or ')}`,
          'POST /me/wallets',
        );

function paymentOf({ listing: { pricing_amount: price }, terms, routes }: Findings) {
  if (price === 0) return ok('It is free: a call is answered at once');
  const open = routes.filter(({ closed }) => closed === null);
  const taking = open.filter(({ minimum_usd }) => minimum_usd <= price);
  const ways = [...new Set(taking.map(({ currency, network }) => `${currency} on ${network}`))];
  if (ways.length === 0 && terms.length === 0) {
    const least = Math.min(...open.map(({ minimum_usd }) => minimum_usd));
    return open.length > 0
      ? failed(
          `No way to pay takes $${price}: every quote is refused`,
          `${PATCH} with pricing_amount: ${least} or more`,
        )
      : failed('No way to pay is open now', 'Wait, or ask the operator; GET /payment-routes says what is closed');
  }
  const signed = terms.map(({ network }) => network).join(', ');
  const paid = `Its 402 takes ${ways.length > 0 ? ways.join(', ') : 'no deposit'}`;
  return terms.length > 0
    ? ok(`${paid}, and signatures of x402 clients on ${signed}`)
    : warning(
        `${paid}, but no signature of an x402 client, so that it is not shown as payable to those`,
        'A higher price, or a wallet of yours on a chain that takes signatures; GET /payment-routes names them',
      );
}

function endpointOf({ test, listing: { endpoint_status: status } }: Findings) {
  if (status === 'paused')
    return failed(
      'Its endpoint is paused, so that no call is sold',
      'PUT /listings/{listingId}/endpoint with status: active',
    );
  if (test === null)
    return status === 'active'
      ? skipped('No test was made; its endpoint is active')
      : warning(
          `No test was made; its endpoint is ${status ?? 'missing'}`,
          'POST /listings/{listingId}/endpoint/test, at most ten times a minute',
        );
  if (test.success) return ok(`Its endpoint answered a signed test call in ${test.latency_ms} ms`);
  const fault = test.checks.find((each) => !each.ok);
  return failed(
    fault?.message ?? 'The test call failed',
    'Start the endpoint, or correct its URL with PUT /listings/{listingId}/endpoint; it has to verify the signature and ' +
      'answer 2xx with JSON within timeout_ms',
  );
}

function qualityOf({ quality }: Detail) {
  if (!quality || quality.success_rate_30d === null)
    return warning(
      'Nobody has called it and no test was counted yet, so it is left out where min_success is asked for',
      'A first buyer, or the next test of the marketplace, gives it a success rate',
    );
  const told = `${Math.round(quality.success_rate_30d * 100)} % of its calls in 30 days were delivered`;
  return quality.success_rate_30d < MIN_SUCCESS
    ? warning(
        told,
        'GET /listings/{listingId}/quality says on which days it failed; GET /gateway-requests?role=seller why',
      )
    : ok(told);
}

function searchOf({ search: { q, rank, total, lacks }, listing: { status } }: Findings) {
  if (status !== 'active') return skipped('Only active listings are found');
  const lacking = lacks.length > 0 ? `; it lacks ${lacks.map((word) => `"${word}"`).join(', ')}` : '';
  const fix =
    lacks.length > 0
      ? `${PATCH} with these words in name or tags, if they are true of it`
      : 'Say more plainly in name and tags what it does';
  if (rank === null)
    return failed(`It is not among the first ${Math.min(total, 100)} that "${q}" finds${lacking}`, fix);
  return rank <= 10
    ? ok(`It is number ${rank} of what "${q}" finds`)
    : warning(`It is number ${rank} of what "${q}" finds${lacking}`, fix);
}
