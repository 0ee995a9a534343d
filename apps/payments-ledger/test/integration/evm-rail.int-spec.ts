import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HDKey } from 'viem/accounts';
import type { Address } from 'viem';
import type { WatchedOffer } from '../../src/rails/payment-rail.js';
import { EvmRail, type EvmRailSettings } from '../../src/rails/evm/evm.rail.js';
import { startEvmWorld, type EvmWorld } from '../support/evm-world.js';

const XPUB = HDKey.fromMasterSeed(Buffer.alloc(32, 9)).publicExtendedKey;
const PRICE = 250_000n;

describe('the EVM rail on a real chain', () => {
  let world: EvmWorld;
  let usdc: Address;

  beforeAll(async () => {
    world = await startEvmWorld();
    usdc = await world.deploy('Token');
    await world.mint(usdc, world.payer, 10n ** 12n);
    await world.node.mine(2);
  });
  afterAll(() => world.stop());

  const railOf = (changes: Partial<EvmRailSettings> & { rpcUrls?: string[]; token?: Address; chainId?: number } = {}): EvmRail =>
    new EvmRail({
      extendedPublicKey: XPUB,
      chains: [{ network: `eip155:${changes.chainId ?? 31_337}`, chainId: changes.chainId ?? 31_337, rpcUrls: changes.rpcUrls ?? [world.node.url], usdc: changes.token ?? usdc, takesEth: true }],
      minimumMicros: { USDC: 100_000n, ETH: 100_000n },
      safeUpToMicros: 0n,
      requestTimeoutMs: 2_000,
      maxHeadAgeSeconds: 600,
      ...changes,
    });
  const offerOn = (rail: EvmRail, currency: 'USDC' | 'ETH', network = 'eip155:31337'): WatchedOffer & { depositAddress: Address } => {
    const relayRequestId = `0x${randomBytes(32).toString('hex')}`;
    return {
      paymentId: relayRequestId,
      relayRequestId,
      route: { currency, network },
      amountBaseUnits: PRICE,
      priceMicros: PRICE,
      depositAddress: rail.open({ relayRequestId }).depositAddress as Address,
      reference: null,
      createdAt: new Date(),
    };
  };
  const final = () => world.node.mine(2);
  const NOTHING = { receivedBaseUnits: 0n, arriving: false, transactionHash: null };

  it('offers what each chain carries, at the least prices configured', () => {
    expect(railOf().routes()).toEqual([
      { currency: 'USDC', network: 'eip155:31337', decimals: 6, scheme: 'deposit', minimumMicros: 100_000n },
      { currency: 'ETH', network: 'eip155:31337', decimals: 18, scheme: 'deposit', minimumMicros: 100_000n },
    ]);
  });

  it.each(['USDC', 'ETH'] as const)('sees %s arrive, first on its way, then final, with its transaction', async (currency) => {
    const rail = railOf();
    const offer = offerOn(rail, currency);
    expect(await rail.observe(offer)).toEqual(NOTHING);
    const hash = currency === 'USDC' ? await world.sendToken(usdc, offer.depositAddress, PRICE) : await world.sendCoin(offer.depositAddress, PRICE);
    expect(await rail.observe(offer)).toEqual({ ...NOTHING, arriving: true });
    await final();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: hash });
    await world.node.mine(300);
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: hash });
  });

  it.each(['USDC', 'ETH'] as const)('adds part payments of %s, and what is too much', async (currency) => {
    const rail = railOf();
    const offer = offerOn(rail, currency);
    const send = (value: bigint) => (currency === 'USDC' ? world.sendToken(usdc, offer.depositAddress, value) : world.sendCoin(offer.depositAddress, value));
    await send(PRICE - 1n);
    await final();
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE - 1n, arriving: false });
    const second = await send(3n);
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE - 1n, arriving: true });
    await final();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE + 2n, arriving: false, transactionHash: second });
  });

  it('counts coin that a contract paid, though no transaction of the block names the receiver', async () => {
    const rail = railOf();
    const offer = offerOn(rail, 'ETH');
    const payer = await world.deploy('Payer');
    await world.payThrough(payer, offer.depositAddress, PRICE);
    await final();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: null });
  });

  it('takes one contract for USDC, whatever another calls itself', async () => {
    const rail = railOf();
    const offer = offerOn(rail, 'USDC');
    const impostor = await world.deploy('Token');
    await world.mint(impostor, offer.depositAddress, PRICE);
    await final();
    expect(await rail.observe(offer)).toEqual(NOTHING);
  });

  it.each([
    ['moves less than it logs', 'FeeToken', PRICE - PRICE / 10n],
    ['logs what it did not move', 'LyingToken', 0n],
    ['says no without reverting', 'RefusingToken', 0n],
  ] as const)('believes a token that %s only as far as log and balance agree', async (_what, contract, expected) => {
    const token = await world.deploy(contract);
    await world.mint(token, world.payer, PRICE);
    const rail = railOf({ token });
    const offer = offerOn(rail, 'USDC');
    await world.sendToken(token, offer.depositAddress, PRICE);
    await final();
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: expected, arriving: false });
  });

  it('forgets a payment that a reorganisation took back, and finds it in its new place', async () => {
    const rail = railOf();
    const offer = offerOn(rail, 'USDC');
    const before = await world.node.request<string>('evm_snapshot');
    await world.sendToken(usdc, offer.depositAddress, PRICE);
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: 0n, arriving: true });
    await world.node.request('evm_revert', [before]);
    await world.node.mine(3);
    expect(await rail.observe(offer)).toEqual(NOTHING);
    const replacement = await world.sendToken(usdc, offer.depositAddress, PRICE);
    await final();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: replacement });
  });

  it('believes small prices earlier where the operator said so', async () => {
    const rail = railOf({ safeUpToMicros: PRICE });
    const [small, large] = [offerOn(rail, 'USDC'), { ...offerOn(rail, 'USDC'), priceMicros: PRICE + 1n }];
    for (const { depositAddress } of [small, large]) await world.sendToken(usdc, depositAddress, PRICE);
    await world.node.mine(1);
    expect(await rail.observe(small)).toMatchObject({ receivedBaseUnits: PRICE });
    expect(await rail.observe(large)).toMatchObject({ receivedBaseUnits: 0n, arriving: true });
  });

  describe('does not know, rather than guess,', () => {
    it('where the server serves another chain', async () => {
      const rail = railOf({ chainId: 8453 });
      await expect(rail.observe(offerOn(rail, 'USDC', 'eip155:8453'))).rejects.toThrow('serves chain 31337');
    });

    it('where the server does not answer', async () => {
      const rail = railOf({ rpcUrls: ['http://127.0.0.1:9'] });
      await expect(rail.observe(offerOn(rail, 'ETH'))).rejects.toThrow();
    });

    it('where the server stands still', async () => {
      await world.node.mine(1);
      const rail = railOf({ maxHeadAgeSeconds: -1 });
      await expect(rail.observe(offerOn(rail, 'ETH'))).rejects.toThrow('stands still');
    });

    it('of coin at an address that was swept', async () => {
      const rail = railOf();
      const offer = offerOn(rail, 'ETH');
      await world.sendCoin(offer.depositAddress, PRICE);
      await world.node.request('anvil_setNonce', [offer.depositAddress, '0x1']);
      await final();
      await expect(rail.observe(offer)).rejects.toThrow('swept');
    });

    it('where one of two servers lies or has another history', async () => {
      const honest = railOf({ rpcUrls: [world.node.url, world.node.url] });
      const offer = offerOn(honest, 'ETH');
      await world.sendCoin(offer.depositAddress, PRICE);
      await final();
      expect(await honest.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE });

      const liar = await startLiar(world.node.url, offer.depositAddress);
      try {
        await expect(railOf({ rpcUrls: [world.node.url, liar.url] }).observe(offer)).rejects.toThrow('disagree about what arrived');
      } finally {
        liar.server.close().closeAllConnections();
      }
      const other = await startEvmWorld();
      try {
        await other.node.mine(Number(await world.node.request<string>('eth_blockNumber')) + 5);
        await expect(railOf({ rpcUrls: [world.node.url, other.node.url] }).observe(offer)).rejects.toThrow('disagree about block');
      } finally {
        await other.stop();
      }
    });
  });
});

/** A server that passes everything on, and doubles what one address holds. */
async function startLiar(honestUrl: string, address: Address): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string; params?: unknown[] }[];
      const answers = (await (await fetch(honestUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(asked) })).json()) as { id: number; result: string }[];
      for (const answer of answers) {
        const question = asked.find(({ id }) => id === answer.id)!;
        if (question.method === 'eth_getBalance' && String(question.params?.[0]).toLowerCase() === address.toLowerCase()) answer.result = `0x${(BigInt(answer.result) * 2n).toString(16)}`;
      }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answers));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
