import { evmWallet, Marketplace, type Registration, type Wallet } from '@market/sdk';

/** One running marketplace of the suite. */
export interface World {
  readonly mode: 'standalone' | 'distributed';
  readonly baseUrl: string;
  readonly databaseUrl: string;
}

/** Started once for all files by the global set-up. */
const worlds = JSON.parse(process.env.MARKET_E2E_WORLDS ?? '[]') as World[];
if (worlds.length === 0) throw new Error('no marketplace runs; end-to-end specs run with jest -c .config/jest.e2e.mjs');

/** `describe` once for each mode the suite runs in. */
export const inEachMode = (title: string, suite: (world: World) => void): void => {
  describe.each(worlds.map((world) => [world.mode, world] as const))(`${title}, %s`, (_mode, world) => suite(world));
};

/** `describe` in standalone alone: what is no service's work, and what is at the buyer's end and takes long. */
export const inOneMode = (title: string, suite: (world: World) => void): void => {
  const [world] = worlds as [World];
  (world.mode === 'standalone' ? describe : describe.skip)(`${title}, ${world.mode}`, () => suite(world));
};

/** One test of every mode at the same time, for what mostly waits. */
export const inAllModesAtOnce = (title: string, test: (world: World) => Promise<void>, timeoutMs: number): void => {
  it(title, async () => void (await Promise.all(worlds.map(test))), timeoutMs);
};

/** A registered agent with its own client. */
export interface Agent {
  readonly id: string;
  readonly wallet: Wallet;
  readonly market: Marketplace;
  readonly registration: Registration;
}

export async function registerAgent(
  { baseUrl }: Pick<World, 'baseUrl'>,
  { wallet = evmWallet(), displayName = 'An agent' } = {},
): Promise<Agent> {
  const { marketplace, registration } = await new Marketplace({ baseUrl }).register(wallet, { displayName });
  return { id: registration.user_id, wallet, market: marketplace, registration };
}

/** A client without a key. */
export const stranger = ({ baseUrl }: World): Marketplace => new Marketplace({ baseUrl });
