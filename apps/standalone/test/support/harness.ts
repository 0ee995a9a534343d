import { evmWallet, Marketplace, type Registration, type Wallet } from '@market/sdk';

/** One running marketplace of the suite. */
export interface Harness {
  readonly mode: 'standalone' | 'distributed';
  readonly baseUrl: string;
  readonly databaseUrl: string;
}

/** Started by the global set-up: for each worker one in each mode, which all its files share. */
const started = JSON.parse(process.env.MARKET_E2E_HARNESSES ?? '[]') as Harness[];
if (started.length === 0)
  throw new Error('no marketplace runs; end-to-end specs run with jest -c .config/jest.e2e.mjs');
const modes = new Set(started.map(({ mode }) => mode)).size;
const harnesses = started.slice(-modes * Number(process.env.JEST_WORKER_ID)).slice(0, modes);

/** `describe` once for each mode the suite runs in. */
export const inEachMode = (title: string, suite: (harness: Harness) => void): void => {
  describe.each(harnesses.map((harness) => [harness.mode, harness] as const))(`${title}, %s`, (_mode, harness) =>
    suite(harness),
  );
};

/** `describe` in standalone mode only, for tests without services and for long tests of clients. */
export const inOneMode = (title: string, suite: (harness: Harness) => void): void => {
  const [harness] = harnesses as [Harness];
  (harness.mode === 'standalone' ? describe : describe.skip)(`${title}, ${harness.mode}`, () => suite(harness));
};

/** All cases in standalone and the first in distributed mode, for cases that differ in nothing that the bus carries. */
export const allInStandalone = <T>({ mode }: Harness, cases: readonly T[]): readonly T[] =>
  mode === 'standalone' ? cases : cases.slice(0, 1);

/** Runs one test in all modes at the same time, for tests that mostly wait. */
export const inAllModesAtOnce = (title: string, test: (harness: Harness) => Promise<void>, timeoutMs: number): void => {
  it(title, async () => void (await Promise.all(harnesses.map(test))), timeoutMs);
};

/** A registered agent with its own client. */
export interface Agent {
  readonly id: string;
  readonly wallet: Wallet;
  readonly market: Marketplace;
  readonly registration: Registration;
}

export async function registerAgent(
  { baseUrl }: Pick<Harness, 'baseUrl'>,
  { wallet = evmWallet(), displayName = 'An agent' }: { wallet?: Wallet; displayName?: string } = {},
): Promise<Agent> {
  const { marketplace, registration } = await new Marketplace({ baseUrl }).register(wallet, { displayName });
  return { id: registration.user_id, wallet, market: marketplace, registration };
}

/** A client without a key. */
export const stranger = ({ baseUrl }: Harness): Marketplace => new Marketplace({ baseUrl });
