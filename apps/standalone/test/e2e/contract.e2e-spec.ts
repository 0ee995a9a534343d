import { ExactEvmScheme } from '@x402/evm/exact/client';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { CreatedListing, CreateListing, SubscriptionOffer } from '@market/sdk';
import { payFor, withRelayId } from '../support/buyer.js';
import { ACCESS_ROWS } from '../support/fuzz/access-rows.js';
import { AnswerCheck } from '../support/fuzz/answer-check.js';
import { Fixtures, signIn } from '../support/fuzz/fixtures.js';
import { liveProof, PROVABLE } from '../support/fuzz/live-proofs.js';
import { ApiDescription, type Operation } from '../support/fuzz/operations.js';
import { RawClient, type RawAnswer } from '../support/fuzz/raw-client.js';
import { acceptedOf } from '../support/subscriber.js';
import { inEachMode, stranger } from '../support/harness.js';

/** The changes that make an example valid in this marketplace. */
interface Live {
  /** Replaces the id in the path. */
  id?: string;
  /** Replaces members of the example. */
  body?: object;
  headers?: Record<string, string>;
  /** Required query parameters. */
  query?: string;
  /** The expected status, if it is not the first documented success. */
  status?: number;
}

type LiveCase = (fixtures: Fixtures, example: Record<string, unknown>) => Live | Promise<Live>;

const paymentOf = (fixtures: Fixtures, listing: { id: string }) =>
  fixtures.owner.market.request<SubscriptionOffer>('POST', '/payments', { body: { listing_id: listing.id } });
/** Creates a listing of the outsider, whose keys are not revoked by other tests. */
const onSale = (
  { outsider }: Fixtures,
  fields: Pick<CreateListing, 'pricing_model' | 'pricing_amount'>,
): Promise<CreatedListing> =>
  outsider.market.listings.create({
    name: 'On sale to the examples',
    description: 'What the examples of the document subscribe to.',
    ...fields,
  });
const subscribed = async (fixtures: Fixtures): Promise<Live> => {
  const body = { listing_id: (await onSale(fixtures, { pricing_model: 'free' })).id };
  return { id: (await fixtures.owner.market.request<{ id: string }>('POST', '/subscribe', { body })).id };
};

/** Creates the PAYMENT-SIGNATURE of an unknown wallet. */
async function signedFor({ shop, owner }: Fixtures, body: object): Promise<Record<string, string>> {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())));
  const asked = await fetch(new URL(`/api/v1/x402/${shop.slug}`, owner.market.baseUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return new x402HTTPClient(client).encodePaymentSignatureHeader(
    await client.createPaymentPayload(
      new x402HTTPClient(client).getPaymentRequiredResponse((name) => asked.headers.get(name), await asked.json()),
    ),
  );
}

/** Operations whose examples need more than an id of the caller and a fresh proof. */
const LIVE: Record<string, LiveCase> = {
  async createChallenge({ owner, merchant, human }, { purpose, claim_code }) {
    const { market, wallet, registration } = merchant;
    const asHuman = `Bearer ${human.token}`;
    if (claim_code)
      return {
        body: {
          wallet_address: wallet.address,
          claim_code: (await market.authorizedBy(asHuman).claimCode(merchant.id)).code,
        },
        headers: { authorization: registration.authorization_header },
      };
    return {
      body: { wallet_address: owner.wallet.address, ...(purpose === 'claim' ? { agent_id: owner.id } : {}) },
      ...(purpose === 'claim' ? { headers: { authorization: asHuman } } : {}),
    };
  },
  createClaimCode: ({ merchant }) => ({ id: merchant.id }),
  /** The agent of these requests is claimed. */
  agreeToClaim: () => ({ status: 409 }),
  /** No OpenID provider is configured here. */
  beginOidcSignIn: () => ({ status: 404 }),
  openOidcSession: () => ({ status: 404 }),
  updateBudget: ({ merchant }) => ({ headers: { authorization: merchant.registration.authorization_header } }),
  createListing: ({ sellerUrl }) => ({ body: { private_endpoint_url: sellerUrl } }),
  updateListing: async (fixtures) => ({ id: (await fixtures.perCallListing()).id }),
  updateEndpoint: ({ sellerUrl }) => ({ body: { private_endpoint_url: sellerUrl } }),
  executeCall: async ({ owner, shop }, example) => ({
    id: shop.id,
    headers: withRelayId(await payFor(owner, shop, example)),
  }),
  executeKeylessCall: async (fixtures, example) => ({
    id: fixtures.shop.id,
    headers: await signedFor(fixtures, example),
  }),
  showPrice: ({ shop }) => ({ id: shop.id, status: 402 }),
  getReceiptProof: ({ receiptId }) => ({ id: receiptId }),
  createReview: ({ shop }) => ({ id: shop.id }),
  subscribe: async (fixtures, { origin_currency: currency }) =>
    currency
      ? {
          body: { listing_id: (await onSale(fixtures, { pricing_model: 'monthly', pricing_amount: 5 })).id },
          status: 402,
        }
      : { body: { listing_id: (await onSale(fixtures, { pricing_model: 'free' })).id } },
  getSubscription: subscribed,
  cancelSubscription: subscribed,
  createPayment: async (fixtures) => ({
    body: { listing_id: (await onSale(fixtures, { pricing_model: 'yearly', pricing_amount: 50 })).id },
  }),
  async verifyPayment(fixtures, { payload }) {
    const { payment_id, requirements } = await paymentOf(
      fixtures,
      await onSale(fixtures, { pricing_model: 'monthly', pricing_amount: 5 }),
    );
    if (payload)
      return {
        body: {
          payment_id,
          relay_request_id: undefined,
          payload: { ...payload, accepted: acceptedOf({ requirements }) },
        },
      };
    await fixtures.owner.market.sandbox.pay(requirements.relayRequestId);
    return { body: { payment_id, relay_request_id: requirements.relayRequestId } };
  },
  getPayment: ({ offer }) => ({ id: offer.payment_id! }),
  /** The listing of the example may be one of another test. */
  validateListing: ({ perCall }) => ({ body: { listing: perCall.slug } }),
  searchAll: () => ({ query: '?q=a' }),
  /** No fees are due here. */
  payFees: () => ({ status: 409 }),
  /** No refund is due here. */
  confirmRefund: () => ({ status: 404 }),
  /** Relay is off here, because examples cannot be signed as Relay does. */
  handleRelayWebhook: () => ({ status: 404 }),
  deliverResult: () => ({ status: 404 }),
  deliverProgress: () => ({ status: 404 }),
  deliverFailure: () => ({ status: 404 }),
  cancelCall: ({ gatewayRequestId }) => ({ id: gatewayRequestId, status: 409 }),
};

inEachMode('the OpenAPI document', (harness) => {
  let description: ApiDescription;
  let check: AnswerCheck;
  let client: RawClient;
  let fixtures: Fixtures;

  beforeAll(async () => {
    description = await ApiDescription.read(harness);
    check = new AnswerCheck(description);
    client = new RawClient(harness);
    fixtures = await Fixtures.create(harness);
  }, 240_000);
  afterAll(async () => {
    client.close();
    await fixtures?.close();
  });

  const successOf = ({ answers }: Operation): number =>
    [...answers.keys()].find((status) => status === 200 || status === 201)!;

  async function authorizationOf({ id, access }: Operation): Promise<string | undefined> {
    if (access.credential === 'none') return undefined;
    if (ACCESS_ROWS[id]?.endsSession) return `Bearer ${(await signIn(harness)).token}`;
    return access.account_types.includes('agent')
      ? fixtures.owner.registration.authorization_header
      : `Bearer ${(access.operators ? fixtures.operator : fixtures.human).token}`;
  }

  /** @returns the answer, and its expected status. */
  async function asked(operation: Operation, example: object | undefined): Promise<[RawAnswer, number]> {
    const { id, method, path } = operation;
    const live = await LIVE[id]?.(fixtures, { ...example });
    const named = path.includes('{')
      ? path.replace(/\{\w+\}/, live?.id ?? (await ACCESS_ROWS[id]!.id!.own(fixtures)))
      : path;
    const target = `${named}${live?.query ?? ''}`;
    const authorization = await authorizationOf(operation);
    const proof = PROVABLE.includes(id) ? await liveProof(id, fixtures, harness) : {};
    const body = example && JSON.stringify({ ...example, ...proof, ...live?.body });
    const headers = {
      ...(authorization ? { authorization } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...live?.headers,
    };
    const answer = await client.send({ method, target: `/api/v1${target}`, headers, ...(body ? { body } : {}) });
    return [answer, live?.status ?? successOf(operation)];
  }

  it('gives examples of requests that a live marketplace answers as it documents, every operation at least once', async () => {
    const problems: string[] = [];
    for (const operation of description.operations) {
      for (const example of operation.body?.examples.length ? operation.body.examples : [undefined]) {
        const [answer, expected] = await asked(operation, example);
        if (answer.status !== expected)
          problems.push(
            `${operation.name} is answered ${answer.status}, not ${expected}: ${answer.text.slice(0, 300)}`,
          );
        problems.push(
          ...check.problemsOf(operation, operation.method, answer).map((problem) => `${operation.name}: ${problem}`),
        );
      }
    }
    expect(problems).toEqual([]);
  }, 240_000);
});

interface OpenApiJson {
  tags: { name: string }[];
  paths: Record<string, Record<string, { operationId?: string }>>;
  components: Record<string, object>;
}

inEachMode('the document', (harness) => {
  it('is served by area and without examples, too, each part complete in itself', async () => {
    const read = async (query: string) => {
      const { status, text } = await stranger(harness).send('GET', `/openapi.json${query}`);
      expect(status).toBe(200);
      return { text, document: JSON.parse(text) as OpenApiJson };
    };
    const whole = await read('');
    const operationsOf = ({ document }: typeof whole) =>
      Object.values(document.paths).flatMap((item) =>
        Object.values(item).flatMap(({ operationId }) => operationId ?? []),
      );
    const found: string[] = [];
    for (const { name } of whole.document.tags) {
      const part = await read(`?tag=${name}&examples=false`);
      for (const [, kind, part_] of part.text.matchAll(/"#\/components\/([^/"]+)\/([^/"]+)"/g))
        expect(part.document.components[kind!]).toHaveProperty([part_!]);
      expect(part.text.length).toBeLessThan(whole.text.length / 3);
      found.push(...operationsOf(part));
    }
    expect(found.toSorted()).toEqual(operationsOf(whole).toSorted());
    const unknown = await stranger(harness).send('GET', '/openapi.json?tag=None');
    expect([unknown.status, unknown.json]).toMatchObject([400, { error: { details: { reason: 'request_invalid' } } }]);
  });
});
