import { invariant } from '@market/kernel';
import { placeOf, type RelayPlace } from './relay-settings.js';
import { quoteRequest, QuoteTooDear, QuoteWithoutFee, readQuote, type QuoteTerms } from './relay-quote.js';

const place = (...[network, currency]: Parameters<typeof placeOf>): RelayPlace => {
  const found = placeOf(network, currency);
  invariant(found, 'the place is known');
  return found;
};
const PAYER = '0x1111111111111111111111111111111111111111';
const PAYOUT = '0xAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa';
const FEE = '0x2222222222222222222222222222222222222222';
const REQUEST_ID = `0x${'Ab'.repeat(32)}`;
const DEPOSIT = '0x3333333333333333333333333333333333333333';

/** A quarter of a dollar at $3000 an ETH, of which the seller gets 95 %. */
const terms = (changes: Partial<QuoteTerms> = {}): QuoteTerms => ({
  draft: { priceMicros: 250_000n, netMicros: 237_500n, amountBaseUnits: 83_333_333_333_334n, feeBps: 500 },
  from: place('eip155:42161', 'ETH'),
  to: place('eip155:8453', 'USDC'),
  payer: PAYER,
  payout: PAYOUT,
  feeRecipient: FEE,
  referrer: 'market',
  ttlSeconds: 900,
  mostCostMicros: 100_000n,
  ...changes,
});

/** As Relay documents it; only what a test changes is different. */
function answer(change: (document: Documented) => void = () => {}): unknown {
  const document: Documented = {
    steps: [{ id: 'deposit', kind: 'transaction', requestId: REQUEST_ID, depositAddress: DEPOSIT, items: [] }],
    fees: { app: { amount: '5000000000000' } },
    details: {
      recipient: PAYOUT.toLowerCase(),
      currencyIn: { currency: { chainId: 42161, address: '0x0000000000000000000000000000000000000000', symbol: 'ETH', decimals: 18 }, amount: '95000000000000', amountFormatted: '0.000095' },
      currencyOut: { currency: { chainId: 8453, address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', symbol: 'USDC', decimals: 6 }, amount: '237500', minimumAmount: '237500' },
    },
  };
  change(document);
  return document;
}
interface Money {
  currency: { chainId: number; address: string; symbol: string; decimals: number };
  amount: string;
  minimumAmount?: string;
  amountFormatted?: string;
}
interface Documented {
  steps: { id: string; kind: string; requestId: string; depositAddress: string; items: [] }[];
  fees?: { app?: { amount: string } };
  details: { recipient: string; currencyIn: Money; currencyOut: Money };
}

describe('a quote of Relay', () => {
  it('is asked for so that the seller gets its part to the last unit, and the buyer its money back', () => {
    expect(quoteRequest(terms())).toEqual({
      user: PAYER,
      recipient: PAYOUT,
      refundTo: PAYER,
      originChainId: 42161,
      originCurrency: '0x0000000000000000000000000000000000000000',
      destinationChainId: 8453,
      destinationCurrency: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      tradeType: 'EXACT_OUTPUT',
      amount: '237500',
      useDepositAddress: true,
      strict: true,
      appFees: [{ recipient: FEE, fee: '500' }],
      referrer: 'market',
      ttl: 900,
    });
    expect(quoteRequest(terms({ draft: { ...terms().draft, feeBps: 0 } }))).not.toHaveProperty('appFees');
  });

  it('is the offer it names where everything is as it was asked for', () => {
    const offer = { relayRequestId: REQUEST_ID.toLowerCase(), depositAddress: DEPOSIT, amountBaseUnits: 95_000_000_000_000n };
    expect(readQuote(answer(), terms())).toEqual(offer);
    expect(readQuote(answer((document) => delete document.fees), terms())).toEqual(offer);
    expect(readQuote(answer((document) => delete document.details.currencyOut.minimumAmount), terms())).toEqual(offer);
  });

  it.each<[string, (document: Documented) => void]>([
    ['a second step', ({ steps }) => steps.push(steps[0]!)],
    ['no step', (document) => (document.steps = [])],
    ['a transaction to sign', ({ steps }) => (steps[0]!.id = 'approve')],
    ['an id that is none', ({ steps }) => (steps[0]!.requestId = '0x12')],
    ['an address of another chain', ({ steps }) => (steps[0]!.depositAddress = '11111111111111111111111111111111')],
    ['a fraction to pay', ({ details }) => (details.currencyIn.amount = '95000000000000.5')],
    ['a number in scientific notation', ({ details }) => (details.currencyIn.amount = '9.5e13')],
    ['nothing to pay', ({ details }) => (details.currencyIn.amount = '0')],
    ['far less to pay than the price', ({ details }) => (details.currencyIn.amount = '41666666666666')],
    ['another currency to pay', ({ details }) => (details.currencyIn.currency.address = FEE)],
    ['another chain to pay on', ({ details }) => (details.currencyIn.currency.chainId = 8453)],
    ['other decimals', ({ details }) => (details.currencyIn.currency.decimals = 6)],
    ['another currency for the seller', ({ details }) => (details.currencyOut.currency.address = FEE)],
    ['less for the seller', ({ details }) => (details.currencyOut.amount = '237499')],
    ['more for the seller', ({ details }) => (details.currencyOut.amount = '237501')],
    ['an output that may be less', ({ details }) => (details.currencyOut.minimumAmount = '235000')],
    ['another seller', ({ details }) => (details.recipient = PAYER)],
  ])('is none with %s', (_name, change) => expect(() => readQuote(answer(change), terms())).toThrow());

  it.each([null, undefined, '', 'text', 7, [], {}, { steps: [] }, { steps: [{}], details: {} }])('is none where it is not as documented: %j', (document) => expect(() => readQuote(document, terms())).toThrow('not as documented'));

  it('is too dear beyond a tenth and the cost that is allowed, and not up to there', () => {
    const most = (83_333_333_333_334n * 11n) / 10n + (83_333_333_333_334n * 100_000n) / 250_000n;
    const at = (amount: bigint) => () => readQuote(answer(({ details }) => (details.currencyIn.amount = amount.toString())), terms());
    expect(at(most)().amountBaseUnits).toBe(most);
    expect(at(most + 1n)).toThrow(QuoteTooDear);
  });

  it('is none where it takes no fee for the marketplace that has one', () => {
    const free = answer((document) => (document.fees = { app: { amount: '0' } }));
    expect(() => readQuote(free, terms())).toThrow(QuoteWithoutFee);
    expect(readQuote(free, terms({ draft: { ...terms().draft, feeBps: 0 } })).relayRequestId).toBe(REQUEST_ID.toLowerCase());
  });

  it('counts Solana addresses as they are spelled', () => {
    const solana = terms({ from: place('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', 'SOL'), draft: { ...terms().draft, amountBaseUnits: 1_666_667n } });
    const paid = (address: string, depositAddress: string) =>
      answer(({ steps, details }) => {
        steps[0]!.depositAddress = depositAddress;
        details.currencyIn = { currency: { chainId: 792_703_809, address, symbol: 'SOL', decimals: 9 }, amount: '1800000' };
      });
    const deposit = '6bY6zJpFzWjGhSkTnBZsVcXn1ZkHzT1XNSZQ6hQ4Qm8a';
    expect(readQuote(paid('11111111111111111111111111111111', deposit), solana).depositAddress).toBe(deposit);
    expect(() => readQuote(paid('11111111111111111111111111111111', DEPOSIT), solana)).toThrow('none of its chain');
  });
});
