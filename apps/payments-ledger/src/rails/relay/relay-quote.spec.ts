import { invariant } from '@market/kernel';
import type { paths } from '@relayprotocol/relay-sdk';
import { assetOf, type RelayAsset } from './relay-settings.js';
import { quoteRequest, QuoteTooExpensive, QuoteWithoutFee, readQuote, type QuoteTerms } from './relay-quote.js';

const place = (...[network, currency]: Parameters<typeof assetOf>): RelayAsset => {
  const found = assetOf(network, currency);
  invariant(found, 'the place is known');
  return found;
};
const PAYER = '0x1111111111111111111111111111111111111111';
const PAYOUT = '0xAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa';
const FEE = '0x2222222222222222222222222222222222222222';
const REQUEST_ID = `0x${'Ab'.repeat(32)}`;
const DEPOSIT = '0x3333333333333333333333333333333333333333';

type QuoteV2 = paths['/quote/v2']['post'];

/** An order of a quarter of a dollar, of which the seller gets 95 %. */
const terms = (changes: Partial<QuoteTerms> = {}): QuoteTerms => ({
  draft: { priceMicros: 250_000n, netMicros: 237_500n, feeBps: 500 },
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

/** Returns an answer as Relay's documentation and the types of its SDK define it, with the changes of a test. */
function answer(change: (document: Documented) => void = () => {}): unknown {
  const document: Documented = {
    steps: [
      {
        id: 'deposit',
        action: 'Confirm',
        description: 'Deposit',
        kind: 'transaction',
        requestId: REQUEST_ID,
        depositAddress: DEPOSIT,
        items: [],
      },
    ],
    fees: { app: { amount: '5000000000000' } },
    details: {
      recipient: PAYOUT.toLowerCase(),
      currencyIn: {
        currency: {
          chainId: 42161,
          address: '0x0000000000000000000000000000000000000000',
          symbol: 'ETH',
          decimals: 18,
        },
        amount: '95000000000000',
        amountFormatted: '0.000095',
        amountUsd: '0.285000',
      },
      currencyOut: {
        currency: { chainId: 8453, address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', symbol: 'USDC', decimals: 6 },
        amount: '237500',
        minimumAmount: '237500',
      },
    },
  } satisfies QuoteV2['responses']['200']['content']['application/json'];
  change(document);
  return document;
}
interface Money {
  currency: { chainId: number; address: string; symbol: string; decimals: number };
  amount: string;
  minimumAmount?: string;
  amountFormatted?: string;
  amountUsd?: string;
}
interface Documented {
  steps: {
    id: string;
    action: string;
    description: string;
    kind: string;
    requestId: string;
    depositAddress: string;
    items: never[];
  }[];
  fees?: { app?: { amount: string } };
  details: { recipient: string; currencyIn: Money; currencyOut: Money };
}

describe('a quote of Relay', () => {
  it('is asked for so that the seller gets its part to the last unit, and the buyer its money back', () => {
    const body: QuoteV2['requestBody']['content']['application/json'] = quoteRequest(terms());
    expect(body).toEqual({
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
    const offer = {
      relayRequestId: REQUEST_ID.toLowerCase(),
      depositAddress: DEPOSIT,
      amountBaseUnits: 95_000_000_000_000n,
    };
    expect(readQuote(answer(), terms())).toEqual(offer);
    expect(
      readQuote(
        answer((document) => delete document.fees),
        terms(),
      ),
    ).toEqual(offer);
    expect(
      readQuote(
        answer((document) => delete document.details.currencyOut.minimumAmount),
        terms(),
      ),
    ).toEqual(offer);
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
    ['far less to pay than the price', ({ details }) => (details.currencyIn.amountUsd = '0.124999')],
    ['no word of what is to be paid is worth', ({ details }) => delete details.currencyIn.amountUsd],
    ['a worth that is no number', ({ details }) => (details.currencyIn.amountUsd = '-0.285')],
    ['another currency to pay', ({ details }) => (details.currencyIn.currency.address = FEE)],
    ['another chain to pay on', ({ details }) => (details.currencyIn.currency.chainId = 8453)],
    ['other decimals', ({ details }) => (details.currencyIn.currency.decimals = 6)],
    ['another currency for the seller', ({ details }) => (details.currencyOut.currency.address = FEE)],
    ['less for the seller', ({ details }) => (details.currencyOut.amount = '237499')],
    ['more for the seller', ({ details }) => (details.currencyOut.amount = '237501')],
    ['an output that may be less', ({ details }) => (details.currencyOut.minimumAmount = '235000')],
    ['another seller', ({ details }) => (details.recipient = PAYER)],
  ])('is none with %s', (_name, change) => expect(() => readQuote(answer(change), terms())).toThrow());

  it.each([null, undefined, '', 'text', 7, [], {}, { steps: [] }, { steps: [{}], details: {} }])(
    'is none where it is not as documented: %j',
    (document) => expect(() => readQuote(document, terms())).toThrow('not as documented'),
  );

  it('is too dear beyond a tenth and the cost that is allowed, and not up to there', () => {
    const inEth = (amountUsd: string) => () =>
      readQuote(
        answer(({ details }) => (details.currencyIn.amountUsd = amountUsd)),
        terms(),
      );
    expect(inEth('0.375000999')().amountBaseUnits).toBe(95_000_000_000_000n);
    expect(inEth('0.375001')).toThrow(QuoteTooExpensive);
  });

  it('counts USDC as dollars, whatever Relay says it is worth', () => {
    const usdc = terms({ from: place('eip155:42161', 'USDC') });
    const paid = (amount: string) => () =>
      readQuote(
        answer(
          ({ details }) =>
            (details.currencyIn = {
              currency: { chainId: 42161, address: usdc.from.address.toLowerCase(), symbol: 'USDC', decimals: 6 },
              amount,
              amountUsd: '0.26',
            }),
        ),
        usdc,
      );
    expect(paid('375000')().amountBaseUnits).toBe(375_000n);
    expect(paid('375001')).toThrow(QuoteTooExpensive);
    expect(paid('124999')).toThrow('less than half');
  });

  it('is none where it takes no fee for the marketplace that has one', () => {
    const free = answer((document) => (document.fees = { app: { amount: '0' } }));
    expect(() => readQuote(free, terms())).toThrow(QuoteWithoutFee);
    expect(readQuote(free, terms({ draft: { ...terms().draft, feeBps: 0 } })).relayRequestId).toBe(
      REQUEST_ID.toLowerCase(),
    );
  });

  it('counts Solana addresses as they are spelled', () => {
    const solana = terms({ from: place('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', 'SOL') });
    const paid = (address: string, depositAddress: string) =>
      answer(({ steps, details }) => {
        steps[0]!.depositAddress = depositAddress;
        details.currencyIn = {
          currency: { chainId: 792_703_809, address, symbol: 'SOL', decimals: 9 },
          amount: '1800000',
          amountUsd: '0.27',
        };
      });
    const deposit = '6bY6zJpFzWjGhSkTnBZsVcXn1ZkHzT1XNSZQ6hQ4Qm8a';
    expect(readQuote(paid('11111111111111111111111111111111', deposit), solana).depositAddress).toBe(deposit);
    expect(() => readQuote(paid('11111111111111111111111111111111', DEPOSIT), solana)).toThrow('none of its chain');
  });
});
