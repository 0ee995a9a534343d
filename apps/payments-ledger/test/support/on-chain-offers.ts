import { Refusal } from '@market/messaging';
import { eventually } from '@market/testing';
import { newOrder, type LedgerWorld, type Offered, type Order } from './ledger-world.js';

type Adjustment = [reason: string, micros: string];

/** What tests do with offers that a chain pays, whichever it is. */
export interface OnChainOffers {
  /** Makes the time of offers be over, and waits until it has ended them. */
  end(...offers: Offered[]): Promise<void>;
  /** Has the rail of these offers asked again, and waits until it was. */
  lookAgain(...offers: Offered[]): Promise<void>;
  outcomeOf(order: Order, offered: Offered): Promise<string>;
  /** Micros that the books owe back for a payment, each adjustment with its reason. */
  owed(offered: Offered): Promise<Adjustment[]>;
  /** The same of many, in their order. */
  owedForEach(offers: Offered[]): Promise<Adjustment[][]>;
}

export function onChainOffers(ledger: LedgerWorld): OnChainOffers {
  const set = (change: string, offers: Offered[]): Promise<unknown> => ledger.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = ANY($1)`, [offers.map(({ offer }) => offer.payment_id)]);
  const count = async (condition: string, offers: Offered[]): Promise<number> => (await ledger.db.inspect(`SELECT 1 FROM payments_ledger.payments WHERE ${condition} AND id = ANY($1)`, [offers.map(({ offer }) => offer.payment_id)])).length;
  const owedForEach: OnChainOffers['owedForEach'] = async (offers) => {
    const rows = await ledger.db.inspect<{ payment_id: string; reason: string; micros: string }>(
      `SELECT t.payment_id, t.reason, o.amount_micros::text AS micros FROM payments_ledger.journal_transactions t JOIN payments_ledger.postings o ON o.transaction_id = t.id
       WHERE t.payment_id = ANY($1) AND o.type = 'adjustment' AND o.direction = 'credit' ORDER BY t.sequence`,
      [offers.map(({ offer }) => offer.payment_id)],
    );
    return offers.map(({ offer }) => rows.filter(({ payment_id }) => payment_id === offer.payment_id).map(({ reason, micros }) => [reason, micros]));
  };
  const outcomeOf: OnChainOffers['outcomeOf'] = async (order, offered) => {
    try {
      return (await ledger.claim(order, offered)).outcome;
    } catch (error) {
      // Many claims at once may take a slow machine longer than a request may: it says to try again, and buyers do.
      if (error instanceof Refusal && error.reason === 'deadline_exceeded') return outcomeOf(order, offered);
      throw error;
    }
  };
  return {
    async end(...offers) {
      await set("expires_at = now() - interval '1 second'", offers);
      await eventually(async () => expect(await count(`state IN ('pending', 'underpaid')`, offers)).toBe(0), { withinMs: 20_000 });
    },
    async lookAgain(...offers) {
      await set('look_again_at = now()', offers);
      // A look that has begun is noted for five minutes later, counted from a moment that may be after that of this question; one that has ended for any other time.
      await eventually(async () => expect(await count(`(look_again_at <= now() OR look_again_at BETWEEN now() + interval '4 minutes' AND now() + interval '5 minutes 10 seconds')`, offers)).toBe(0), { withinMs: 20_000 });
    },
    outcomeOf,
    owed: async (offered) => (await owedForEach([offered]))[0]!,
    owedForEach,
  };
}

export interface Sale<Address extends string> {
  order: Order;
  offered: Offered;
  address: Address;
  price: bigint;
}

interface SalesWorld extends OnChainOffers {
  ledger: LedgerWorld;
}

/**
 * What the corpora of fake payments do with many offers at once, whichever chain pays them.
 * @param worldOf is asked each time, since tests name it before it stands.
 */
export function salesOn<Address extends string>(worldOf: () => SalesWorld, onChain: () => { originChainId: string }) {
  /** What differs of something asked of each. */
  const different = async (sales: Sale<Address>[], ask: (sale: Sale<Address>) => Promise<string>): Promise<string[]> => [...new Set(await Promise.all(sales.map(ask)))];
  const outcomes = (sales: Sale<Address>[]): Promise<string[]> => different(sales, ({ order, offered }) => worldOf().outcomeOf(order, offered));
  const states = (sales: Sale<Address>[]): Promise<string[]> => different(sales, ({ offered }) => worldOf().ledger.stateOf(offered.offer.payment_id));
  return {
    outcomes,
    states,
    sell: (count: number, currency: 'USDC' | 'ETH' | 'SOL' = 'USDC', changes: (n: number) => Partial<Order> = () => ({})): Promise<Sale<Address>[]> =>
      Promise.all(
        Array.from({ length: count }, async (_, n) => {
          const order = newOrder(changes(n));
          const offered = await worldOf().ledger.quote(order, { ...onChain(), originCurrency: currency });
          const { depositAddress, amount_base_units } = offered.offer.requirements;
          return { order, offered, address: depositAddress as Address, price: BigInt(amount_base_units) };
        }),
      ),
    /** What differs of what is owed back for each. */
    owed: async (sales: Sale<Address>[]): Promise<unknown[]> => [...new Set((await worldOf().owedForEach(sales.map(({ offered }) => offered))).map((each) => JSON.stringify(each)))].map((each) => JSON.parse(each) as unknown),
    async expectNothing(sales: Sale<Address>[]): Promise<void> {
      expect(await outcomes(sales)).toEqual(['pending']);
      await worldOf().end(...sales.map(({ offered }) => offered));
      expect(await states(sales)).toEqual(['expired']);
    },
  };
}

/** How many offers each case of the corpora of fake payments is tried against; 100 in the full run. */
export const OFFERS_A_CASE = Number(process.env.FAKE_OFFERS ?? 5);
