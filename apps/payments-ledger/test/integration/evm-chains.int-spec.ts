import { ExactEvmScheme } from '@x402/evm/exact/client';
import type { Address } from 'viem';
import { startEvmLedger, type EvmLedger } from '../support/evm-ledger.js';
import { startEvmWorld, type EvmWorld } from '../support/evm-world.js';
import { asClaimed, newOrder, type Offered, type Order } from '../support/ledger-world.js';

const [FIRST, SECOND] = ['31337', '31338'];

/** Two chains on which the same address is USDC, and the same addresses take deposits: only the chain tells payments apart. */
describe('two EVM chains at once', () => {
  let world: EvmLedger;
  let second: EvmWorld;
  const chainOf = (id: string): EvmWorld => (id === FIRST ? world.chain : second);

  beforeAll(async () => {
    second = await startEvmWorld(Number(SECOND));
    world = await startEvmLedger({ otherChains: [second] });
    // The first contract of the same deployer.
    expect(await second.deploy('SignedToken')).toBe(world.usdc);
    await second.mint(world.usdc, second.payer, 10n ** 15n);
    await second.node.mine(2);
  }, 60_000);
  afterEach(() => world.ledger.reconcile());
  afterAll(async () => {
    await world.stop();
    await second.stop();
  });

  const sell = async (originChainId: string, originCurrency: 'USDC' | 'ETH' = 'USDC'): Promise<{ order: Order; offered: Offered; to: Address; price: bigint }> => {
    const order = newOrder();
    const offered = await world.ledger.quote(order, { originChainId, originCurrency });
    const { depositAddress, amount_base_units, network } = offered.offer.requirements;
    expect(network).toBe(`eip155:${originChainId}`);
    return { order, offered, to: depositAddress as Address, price: BigInt(amount_base_units) };
  };
  const signed = async ({ offered: { offer } }: { offered: Offered }, network = offer.x402!.network): Promise<string> => {
    const { payload } = await new ExactEvmScheme(world.chain.payerAccount as never).createPaymentPayload(2, { ...offer.x402!, network } as never);
    return JSON.stringify({ x402Version: 2, accepted: offer.x402, payload });
  };

  it.each([
    [FIRST, SECOND, 'USDC'],
    [SECOND, FIRST, 'USDC'],
    [FIRST, SECOND, 'ETH'],
    [SECOND, FIRST, 'ETH'],
  ] as const)('an offer on chain %s is not paid on chain %s, and is paid on its own in %s', async (own, other, currency) => {
    const { order, offered, to, price } = await sell(own, currency);
    const send = (chain: EvmWorld) => (currency === 'USDC' ? chain.sendToken(world.usdc, to, price) : chain.sendCoin(to, price));
    await send(chainOf(other));
    await chainOf(other).node.mine(2);
    expect(await world.outcomeOf(order, offered)).toBe('pending');
    const hash = await send(chainOf(own));
    await chainOf(own).node.mine(2);
    expect(asClaimed(await world.ledger.claim(order, offered)).transactionHash).toBe(hash);
  });

  it('a signature for one chain pays no offer of the other', async () => {
    const [here, there] = [await sell(FIRST), await sell(SECOND)];
    const astray = await signed(here, `eip155:${SECOND}`);
    expect(await world.ledger.claim(here.order, here.offered, { authorization: astray })).toMatchObject({ outcome: 'rejected', reason: 'invalid_exact_evm_signature' });
    for (const sale of [here, there]) {
      const claim = asClaimed(await world.ledger.claim(sale.order, sale.offered, { authorization: await signed(sale) }));
      const { transfer } = await world.ledger.settle(claim);
      expect(transfer).toMatchObject({ network: sale.offered.offer.requirements.network });
      expect(await chainOf(sale === here ? FIRST : SECOND).balanceOf(world.usdc, sale.to)).toBe(sale.price);
    }
  });

  it('the loss of one leaves the other in use', async () => {
    const [here, there] = [await sell(FIRST), await sell(SECOND)];
    await second.stop();
    await world.chain.sendToken(world.usdc, here.to, here.price);
    await world.chain.node.mine(2);
    expect(await world.outcomeOf(here.order, here.offered)).toBe('claimed');
    expect(await world.outcomeOf(there.order, there.offered)).toBe('pending');
  });
});
