import { by, COUNTED, e2e, int, partly, unit, type Threat } from './proofs.js';

const IDEMPOTENCY = int('gateway/idempotency', 'is for one listing, one body and one route');
const OWN_CALL = int('gateway/paid-call', 'is for the buyer, the listing and the body it was quoted for');
const LIARS = int('payments-ledger/x402-rail', 'charges nothing on the word of a facilitator that');
const FACILITATORS = int('payments-ledger/hostile-facilitators', 'one transfer, and the other has the signature only');
const ON_CHAIN = int('payments-ledger/authorizations-on-chain', 'is settled by the transaction in which it brought');
const JOURNAL = 'payments-ledger/journal';

/** What could go wrong with money and payments, and the tests that show that it does not. */
export const MONEY: Record<string, Threat> = {
  M1: by('one paid call sent many times at once', COUNTED.crowd),
  M2: by('kill -9 anywhere in the paid call', COUNTED.kills, COUNTED.money, COUNTED.streams),
  M3: by('a crash between the answer of the seller and its storing', COUNTED.storing, COUNTED.chaos),
  M4: by('one Idempotency-Key for another body', COUNTED.meanings, IDEMPOTENCY),
  M5: by('the Idempotency-Key of another buyer', COUNTED.namespaces),
  M6: by('an Idempotency-Key whose request is under way', COUNTED.sameKey),
  M7: by('Redis is emptied while calls are paid', e2e('faults', 'Redis that is emptied all the time', 'distributed')),
  M8: by('another body on the paid retry', COUNTED.bodies, OWN_CALL),
  M9: by('the offer of another listing or buyer', OWN_CALL, COUNTED.pairs),
  M10: by('a price that changes between offer and call', COUNTED.prices),
  M11: by(
    'a listing that goes after payment',
    int('gateway/paid-call', 'after payment, and delivered when it is back'),
  ),
  M12: by('a seller that fails after payment', COUNTED.answers, COUNTED.chaos),
  M13: by('an outage of the payment provider taken for a failure', FACILITATORS, LIARS),
  M14: by(
    'a payment that stays unverified',
    int('payments-ledger/expiry', 'leaves the payment pending, neither a failure nor "not paid"'),
    int('payments-ledger/expiry', 'keeps an offer whose money is on its way until it has come'),
  ),
  M15: by(
    'slow settlements of one buyer starve others',
    int('payments-ledger/x402-rail', 'has so much work done for it and no more'),
    unit('apps/payments-ledger/src/rails/relay/request-budget', 'gives one buyer a quarter'),
  ),
  M16: by('fractions of a cent are lost', COUNTED.fees, COUNTED.postings),
  M17: by(
    'the books are unbalanced or rewritten',
    int(JOURNAL, 'takes no unbalanced transaction from the %s'),
    int(JOURNAL, 'lets nobody change, remove or empty %s'),
    int(JOURNAL, 'finds an amount that was changed in one posting'),
  ),
  M18: by('a payment without its two receipts', COUNTED.money),
  M19: by(
    'two subscriptions or reviews at once',
    COUNTED.subscribers,
    int('reputation/reviews', 'is written once, also by 64 at the same time'),
  ),
  M20: by('payments are verified out of order', COUNTED.subscriptionModel, COUNTED.paymentModel, COUNTED.states),
  M21: by(
    'a cache serves a paid answer to others',
    COUNTED.cached,
    int('api-gateway/headers', 'let nobody keep what a key has shown'),
  ),
  M22: by(
    'free listings sold per call, negative and huge prices',
    e2e('paid-call', 'refuses listings that are not per_call'),
    e2e('listings-fields', 'pricing_amount is US dollars with at most six decimals'),
  ),
  M23: by(
    'a route below its minimum is refused after the call',
    int('gateway/paid-call', 'refuses a route below its minimum without calling the seller'),
  ),
  M24: by('retired endpoints move money', e2e('payments', 'setup of stored funds is gone with any method')),
  P1: by('one transfer pays twice', int('payments-ledger/authorizations', 'pays one payment, ever: of 100 offers')),
  P2: by(
    'another token of the same name',
    unit('apps/payments-ledger/src/rails/x402/exact-payment', 'pays no other offer'),
  ),
  P3: by('an event that looks like a transfer', ON_CHAIN),
  P4: by(
    'a transaction that failed',
    LIARS,
    int('payments-ledger/authorizations-on-chain', 'is not settled by a plain transfer'),
  ),
  P5: by('a token that keeps a part', unit('apps/payments-ledger/src/rails/assets', 'asks on %s for the USDC')),
  P6: by(
    'a transaction that never becomes final',
    int('payments-ledger/solana-rail', 'knows for good that a transaction never came'),
    int('payments-ledger/settlement-lane', 'until it lacks a transaction for a minute, which is lost'),
  ),
  P7: partly(
    'nothing is charged before it is final, and a chain of tests undoes no final block',
    'the chain undoes a payment',
    e2e('payouts', 'that were undone by the chain post nothing'),
  ),
  P8: by(
    'the server of another chain',
    int('payments-ledger/authorizations-on-chain', 'serves another chain, or none is configured'),
  ),
  P9: by(
    'the payment of somebody else',
    int('payments-ledger/authorizations', 'opens nothing to a stranger who has seen it'),
  ),
  P10: by(
    'too little, too much, in parts, twice',
    COUNTED.paymentModel,
    int('payments-ledger/subscriptions', 'of two payments that were both made are one'),
  ),
  P11: by(
    'paid too late',
    e2e('paid-call', 'comes too late buys nothing'),
    int('payments-ledger/expiry', 'owes back the part that was paid'),
  ),
  P12: by('decimals and spellings of amounts', COUNTED.decimals, unit('libs/kernel/src/money', 'as decimal text')),
  P13: by(
    'memos that are copied, several transfers in one transaction',
    int('payments-ledger/solana-rail', 'refuses a transaction that pays another recipient'),
    int('payments-ledger/solana-rail', 'pays no other call of the same seller'),
  ),
  P14: by(
    'a transaction that is not final on Solana',
    int('payments-ledger/solana-node', 'first confirmed and 32 blocks later final'),
  ),
  P15: by('accounts that a server hides', int('payments-ledger/solana-rail', 'leaves open what it cannot know while')),
  P16: by(
    'RPC servers that lie or disagree',
    int('payments-ledger/authorizations-on-chain', 'is open where one of two servers'),
  ),
  P17: by(
    'other spellings of one transaction',
    int('payments-ledger/subscriptions', 'with the right scheme, network and transaction, in whatever case'),
  ),
  P18: by('a used authorization that does not revert', LIARS),
  P19: by(
    'forged callbacks of the provider',
    int('payments-ledger/relay-rail', 'that are forged change nothing, a thousand of them'),
  ),
  P20: by(
    'another rate or currency than was offered',
    int('payments-ledger/offers', 'keeps the price it was made with'),
    int('gateway/paid-call', 'takes the retry headers of its own offer, and no others'),
  ),
};
