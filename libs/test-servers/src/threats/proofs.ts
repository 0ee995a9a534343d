import { TEST_SIZE, type Counts } from './size.js';

/** A test, by its file and a part of its title. */
export interface Proof {
  kind: 'unit' | 'int' | 'e2e';
  file: string;
  title: string;
  /** Of those that do the more the larger the run is: how much, and of what. */
  counts?: Counts;
  of?: string;
  /** Of end-to-end tests: a small run is standalone, unless the threat is one to the processes of the distributed mode. */
  mode?: 'standalone' | 'distributed';
}

export interface Threat {
  threat: string;
  proofs: Proof[];
  /** Why no test here can prove it, or what of it. */
  notProvable?: string;
}

export const unit = (path: string, title: string): Proof => ({ kind: 'unit', file: `${path}.spec.ts`, title });
export const int = (path: string, title: string): Proof => {
  const [service, name] = path.split('/');
  const file = path.startsWith('libs/') ? path : `apps/${service}/test/integration/${name}`;
  return { kind: 'int', file: `${file}.int-spec.ts`, title };
};
export const e2e = (name: string, title: string, mode: Proof['mode'] = 'standalone'): Proof => ({
  kind: 'e2e',
  file: `apps/standalone/test/e2e/${name}.e2e-spec.ts`,
  title,
  mode,
});
/** `3/20/100 calls`: how many calls in a run of each size. */
const counted = (text: string, proof: Proof): Proof => {
  const [counts, ...of] = text.split(' ');
  const [ci, night, full] = counts!.split('/').map(Number) as [number, number, number];
  return { ...proof, counts: { ci, night, full }, of: of.join(' ') };
};

/** The tests that take their count from here, by `countOf`. */
export const COUNTED = {
  crowd: counted(
    '16/200/1000 calls × 64 connections',
    e2e('faults', 'a call is charged once and delivered once for 64 connections at once', 'distributed'),
  ),
  kills: counted('11/110/1000 kills', e2e('faults', 'kill -9 of anything in the middle of paid calls', 'distributed')),
  storing: counted(
    '20/200/500 crashes',
    e2e('faults', 'a process that dies between the answer of its seller and its storing'),
  ),
  commits: counted(
    '40/300/1000 commits',
    e2e('commits', 'are made once or not at all, and every call is delivered and charged once'),
  ),
  money: counted('150/1000/5000 steps', e2e('money', 'is where books, wallets and statements say')),
  streams: counted('24/200/1000 streams, files and jobs', e2e('stream-faults', 'killed', 'distributed')),
  chaos: counted('24/400/2000 calls × 12', int('gateway/chaos', 'end charged once with one answer for everyone')),
  paymentModel: counted(
    '60/2000/25000 sequences',
    int('payments-ledger/payment-model', 'is always where the model says'),
  ),
  subscriptionModel: counted(
    '40/1000/3000 sequences',
    int('payments-ledger/subscription-model', 'are always where the model says'),
  ),
  budgetModel: counted(
    '40/1000/10000 sequences',
    int('payments-ledger/budget-model', 'is what can be charged or was, and never more than allowed'),
  ),
  quotas: counted('40/1000/10000 sequences', int('payments-ledger/quotas', 'are as many as the model says')),
  states: counted(
    '5000/200000/1000000 steps',
    unit('apps/payments-ledger/src/payments/payment-state', 'moves a payment only as the table says'),
  ),
  fees: counted(
    '1000/200000/1000000 amounts',
    unit('libs/kernel/src/money', 'splits every gross amount into a fee and a net'),
  ),
  postings: counted(
    '5000/200000/1000000 prices',
    unit('apps/payments-ledger/src/journal/posting', 'balances for every price and fee'),
  ),
  decimals: counted('1000/100000/1000000 amounts', unit('libs/kernel/src/money', 'reads back every amount it writes')),
  meanings: counted('40/1000/10000 bodies', int('gateway/idempotency', 'knows a body by what it means')),
  namespaces: counted('5/200/2000 buyers', int('gateway/idempotency', 'the same key of another buyer is another call')),
  sameKey: counted(
    '1/50/500 keys × 32',
    int('libs/persistence/src/idempotency/idempotency', 'runs a command once when 32 requests with one key'),
  ),
  bodies: counted(
    '5000/100000/500000 bodies',
    unit('apps/gateway/src/canonical/body-digest', 'differs after any change of one character'),
  ),
  prices: counted(
    '1/200/2000 calls × 2',
    int('gateway/paid-call', 'keeps the quoted price whatever the listing costs'),
  ),
  subscribers: counted(
    '10/50/500 subscriptions × 64',
    int('payments-ledger/subscriptions', 'are one, of 64 asked for at once over two processes'),
  ),
  signers: counted('1/50/500 nonces × 64', int('identity/register', 'consumes a nonce once, whoever of 64')),
  registrations: counted(
    '1/50/200 wallets × 16',
    int('identity/register', 'gives one account and one key to a wallet that registers 16 times at once'),
  ),
  lastWallets: counted(
    '3/20/200 accounts × 64',
    int('identity/wallets', 'always leave one that can recover, under 64 changes at once'),
  ),
  flips: counted(
    '1/50/250 signatures',
    unit('apps/identity/src/wallets/ed25519-strict', 'refuses a flipped bit in any byte'),
  ),
  evmFlips: counted(
    '1/20/200 signatures',
    unit('apps/identity/src/wallets/evm-signature', 'refuses every flip of one bit'),
  ),
  malleable: counted('500/1000/10000 signatures', unit('apps/identity/src/wallets/ed25519-strict', 'refuses S + L')),
  rebinding: counted(
    '200/1000/10000 connections',
    unit('apps/gateway/src/egress/ssrf', 'resolves once per connection and never dials the second answer'),
  ),
  signedRequests: counted(
    '40/200/1000 requests',
    unit('apps/gateway/src/egress/sign-request', 'is broken by a change of any byte'),
  ),
  headerValues: counted(
    '1000/100000/1000000 values',
    unit('apps/gateway/src/egress/seller-auth-header', 'admits nothing that could end a header line'),
  ),
  deliveries: counted('20/500/2000 sequences', e2e('fuzz-deliveries', 'for a job counts once')),
  answers: counted(
    '20/2000/20000 answers',
    e2e('fuzz-deliveries', 'as an answer is delivered or not, is charged at most once'),
  ),
  fuzz: counted(
    '2000/50000/1000000 requests',
    e2e('fuzz', 'gets documented answers from every operation, and changes nothing where it is refused'),
  ),
  edgeFuzz: counted(
    '4000/100000/500000 requests',
    int('api-gateway/fuzz', 'odd requests in the envelope, none of them with 5xx'),
  ),
  events: counted(
    '1000/10000/100000 events × 3',
    int('libs/persistence/src/outbox/events', 'once in effect when delivered three times, shuffled'),
  ),
  garbage: counted(
    '8/3000/10000 messages',
    int('libs/messaging/src/nats/broker-faults', 'that carries garbage stops nobody'),
  ),
  rolls: counted(
    '1/5/20 restarts of each process',
    e2e('rolling', 'fails no request and calls no seller twice', 'distributed'),
  ),
  pairs: counted(
    '4/20/50 listings × 2 buyers',
    int('gateway/paid-call', 'buys no call of another listing at the same price, and none for another buyer'),
  ),
  cached: counted('25/200/500 answers', e2e('shared-cache', 'paid answers are given to those who bought them alone')),
  reads: counted(
    '1000/100000/1000000 texts',
    unit('libs/contracts/src/identity/credential-format', 'refuses arbitrary text'),
  ),
} satisfies Record<string, Proof>;

/** How much the test does in a run of this size. `TEST_COUNT` is for one test that is repeated. */
export const countOf = (name: keyof typeof COUNTED): number =>
  Number(process.env.TEST_COUNT ?? COUNTED[name].counts![TEST_SIZE]);

export const by = (threat: string, ...proofs: Proof[]): Threat => ({ threat, proofs });
export const partly = (notProvable: string, threat: string, ...proofs: Proof[]): Threat => ({
  threat,
  proofs,
  notProvable,
});
