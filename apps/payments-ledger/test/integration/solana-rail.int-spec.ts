import { randomBytes } from 'node:crypto';
import { AccountRole, createKeyPairSignerFromPrivateKeyBytes, generateKeyPairSigner, type Address, type Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { getCloseAccountInstruction, getCreateAssociatedTokenIdempotentInstructionAsync, getTransferCheckedInstruction } from '@solana-program/token';
import { depositPath } from '../../src/rails/deposit-path.js';
import type { WatchedOffer } from '../../src/rails/payment-rail.js';
import { deriveKey } from '../../src/rails/solana/deposit-addresses.js';
import { SolanaRail, type SolanaRailSettings } from '../../src/rails/solana/solana.rail.js';
import { startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js';
import { startSolanaWorld, type Mint, type SolanaWorld } from '../support/solana-world.js';

const SEED = randomBytes(32);
const PRICE = 2_000_000n;
const NOTHING = { receivedBaseUnits: 0n, arriving: false, transactionHash: null };

describe('the Solana rail on a real virtual machine', () => {
  let world: SolanaWorld;
  let usdc: Mint;
  let proxy: RpcProxy;

  beforeAll(async () => {
    world = await startSolanaWorld();
    usdc = await world.mint();
    world.node.finalize();
    proxy = await startRpcProxy();
    proxy.target = world.node.url;
  });
  afterEach(() => {
    proxy.tamper = null;
  });
  afterAll(() => {
    proxy.stop();
    world.stop();
  });

  const railOf = ({ rpcUrls = [world.node.url], network = world.node.network, mint = usdc, ...changes }: Partial<SolanaRailSettings> & { rpcUrls?: string[]; network?: string; mint?: Mint } = {}): SolanaRail =>
    new SolanaRail({ seed: SEED, chains: [{ network, rpcUrls, usdc: mint.address }], minimumMicros: { USDC: 100_000n, SOL: 0n }, requestTimeoutMs: 2_000, maxHeadAgeSeconds: 120, ...changes });
  const offerOn = (rail: SolanaRail, currency: 'USDC' | 'SOL', network = world.node.network, amountBaseUnits = PRICE): WatchedOffer & { depositAddress: Address } => {
    const relayRequestId = `0x${randomBytes(32).toString('hex')}`;
    const route = rail.routes().find((known) => known.currency === currency && known.network === network)!;
    const { depositAddress, reference = null } = rail.open({ relayRequestId, route, amountBaseUnits });
    return { paymentId: relayRequestId, relayRequestId, route, amountBaseUnits, priceMicros: PRICE, depositAddress: depositAddress as Address, reference, createdAt: new Date() };
  };
  const send = ({ route, depositAddress }: WatchedOffer, value: bigint, mint = usdc) => (route.currency === 'SOL' ? world.sendCoin(depositAddress as Address, value) : world.sendToken(mint, depositAddress as Address, value));
  const ownerOf = ({ relayRequestId }: WatchedOffer) => createKeyPairSignerFromPrivateKeyBytes(deriveKey(SEED, depositPath(relayRequestId)));

  it('offers what each chain carries, SOL from what an address must hold', async () => {
    const rail = railOf();
    expect(rail.routes()).toEqual([
      { currency: 'USDC', network: world.node.network, decimals: 6, scheme: 'deposit', minimumMicros: 100_000n },
      { currency: 'SOL', network: world.node.network, decimals: 9, scheme: 'deposit', minimumMicros: 0n, minimumBaseUnits: 890_880n },
    ]);
    await expect(send(offerOn(rail, 'SOL'), 890_879n)).rejects.toThrow('simulation failed');
    await send(offerOn(rail, 'SOL'), 890_880n);
  });

  it.each(['USDC', 'SOL'] as const)('sees %s arrive, first on its way, then final, with its transaction', async (currency) => {
    const rail = railOf();
    const offer = offerOn(rail, currency);
    expect(await rail.observe(offer)).toEqual(NOTHING);
    const hash = await send(offer, PRICE);
    expect(await rail.observe(offer)).toEqual({ ...NOTHING, arriving: true });
    world.node.confirm();
    expect(await rail.observe(offer)).toEqual({ ...NOTHING, arriving: true });
    world.node.finalize();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: hash });
    expect(await rail.deposits.balance(offer)).toBe(PRICE);
  });

  it.each(['USDC', 'SOL'] as const)('adds part payments of %s, and what is too much', async (currency) => {
    const rail = railOf();
    const offer = offerOn(rail, currency);
    await send(offer, PRICE - 1n);
    world.node.finalize();
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE - 1n, arriving: false });
    const second = await send(offer, 3n);
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE - 1n, arriving: true });
    world.node.finalize();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE + 2n, arriving: false, transactionHash: second });
  });

  it.each(['USDC', 'SOL'] as const)('forgets %s that a fork took back, and finds it in its new place', async (currency) => {
    const rail = railOf();
    const offer = offerOn(rail, currency);
    const first = await send(offer, PRICE);
    world.node.confirm();
    expect(await rail.observe(offer)).toEqual({ ...NOTHING, arriving: true });
    world.node.dropFork();
    expect(await rail.observe(offer)).toEqual(NOTHING);
    const second = await send(offer, PRICE);
    world.node.finalize();
    expect(second).not.toBe(first);
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: second });
  });

  it.each(['USDC', 'SOL'] as const)('still counts %s that its owner has moved on, and what comes after it', async (currency) => {
    const rail = railOf();
    const offer = offerOn(rail, currency);
    await send(offer, PRICE);
    const owner = await ownerOf(offer);
    if (currency === 'SOL') await world.send([getTransferSolInstruction({ source: owner, destination: world.payer.address, amount: PRICE })]);
    else {
      const [source, destination] = [await world.accountOf(usdc, owner.address), await world.accountOf(usdc, world.payer.address)];
      await world.send([
        getTransferCheckedInstruction({ source, mint: usdc.address, destination, authority: owner, amount: PRICE, decimals: 6 }),
        getCloseAccountInstruction({ account: source, destination: world.payer.address, owner }),
      ]);
    }
    world.node.finalize();
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE, arriving: false });
    expect(await rail.deposits.balance(offer)).toBe(0n);
    const second = await send(offer, PRICE);
    world.node.finalize();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: 2n * PRICE, arriving: false, transactionHash: second });
  });

  it('takes one mint for USDC, whatever another calls itself, and its account alone', async () => {
    const rail = railOf();
    const offer = offerOn(rail, 'USDC');
    await world.sendToken(await world.mint(), offer.depositAddress, PRICE);
    await world.sendCoin(offer.depositAddress, PRICE);
    await world.sendCoin(await world.accountOf(usdc, offer.depositAddress), PRICE);
    world.node.finalize();
    expect(await rail.observe(offer)).toEqual(NOTHING);
    const hash = await send(offer, PRICE);
    world.node.finalize();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: hash });
  });

  it('counts of a token with a fee on transfers what arrived', async () => {
    const mint = await world.mint(1_000);
    world.node.finalize();
    const rail = railOf({ mint });
    const offer = offerOn(rail, 'USDC');
    await send(offer, PRICE, mint);
    world.node.finalize();
    expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE - PRICE / 10n, arriving: false });
  });

  it.each(['USDC', 'SOL'] as const)('counts %s that came by a transaction which names its account in a lookup table alone', async (currency) => {
    const rail = railOf();
    const offer = offerOn(rail, currency);
    const account = currency === 'SOL' ? offer.depositAddress : await world.accountOf(usdc, offer.depositAddress);
    const instructions = currency === 'SOL' ? [world.coinTransfer(account, PRICE)] : await world.tokenTransfer(usdc, offer.depositAddress, PRICE);
    const hash = await world.send(instructions, { hidden: [account] });
    world.node.finalize();
    const { transaction, meta } = (await world.rpc.getTransaction(hash, { encoding: 'json', maxSupportedTransactionVersion: 0 }).send())!;
    expect([transaction.message.accountKeys.includes(account), meta!.loadedAddresses.writable]).toEqual([false, [account]]);
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE, arriving: false, transactionHash: hash });
  });

  it('counts coin that a program paid, though no transfer of the transaction names the receiver', async () => {
    const rail = railOf();
    const offer = offerOn(rail, 'SOL');
    const owner = await generateKeyPairSigner();
    const hash = await world.send([
      await getCreateAssociatedTokenIdempotentInstructionAsync({ payer: world.payer, owner: owner.address, mint: usdc.address }),
      getCloseAccountInstruction({ account: await world.accountOf(usdc, owner.address), destination: offer.depositAddress, owner }),
    ]);
    world.node.finalize();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: 2_039_280n, arriving: false, transactionHash: hash });
  });

  it('counts what is there, and names no transaction, where an address is in more than it should', async () => {
    const rail = railOf();
    const offer = offerOn(rail, 'SOL');
    await send(offer, PRICE);
    for (let times = 0; times < 20; times += 1) await send(offer, 1n + BigInt(times));
    world.node.finalize();
    expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: PRICE + 210n, arriving: false, transactionHash: null });
  });

  it('tells another chain, and that nothing is there, apart', async () => {
    const other = `solana:${(await generateKeyPairSigner()).address.slice(0, 32)}`;
    const rail = railOf({ network: other });
    await expect(rail.observe(offerOn(rail, 'SOL', other))).rejects.toThrow('serves the chain of genesis');
  });

  describe('below what an address must hold, with an account of the operator,', () => {
    const LITTLE = 50_000n;
    let receiver: Address;
    let rail: SolanaRail;

    beforeAll(async () => {
      receiver = (await generateKeyPairSigner()).address;
      await world.sendCoin(receiver, 1_000_000n);
      world.node.finalize();
      rail = railOf({ receiver });
    });

    const smallOffer = () => {
      const offer = offerOn(rail, 'SOL', undefined, LITTLE);
      return { ...offer, reference: offer.reference as Address };
    };
    const transferFor = ({ reference }: { reference: Address }, value = LITTLE) => world.coinTransfer(receiver, value, reference);

    it('asks for a transfer there that names the offer, and for larger ones as ever', () => {
      expect(rail.routes().find(({ currency }) => currency === 'SOL')).not.toHaveProperty('minimumBaseUnits');
      const [small, large, token] = [smallOffer(), offerOn(rail, 'SOL', undefined, 890_880n), offerOn(rail, 'USDC', undefined, LITTLE)];
      expect([small.depositAddress, small.reference]).toEqual([receiver, railOf().open({ ...small, route: rail.routes()[1]! }).depositAddress]);
      expect([large.reference, token.reference, large.depositAddress === receiver]).toEqual([null, null, false]);
    });

    it('sees it on its way, then final, with its transaction, and adds what follows', async () => {
      const offer = smallOffer();
      expect(await rail.observe(offer)).toEqual(NOTHING);
      const first = await world.send([transferFor(offer, LITTLE - 1n)]);
      expect(await rail.observe(offer)).toEqual(NOTHING);
      world.node.confirm();
      expect(await rail.observe(offer)).toEqual({ ...NOTHING, arriving: true });
      world.node.finalize();
      expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: LITTLE - 1n, arriving: false, transactionHash: first });
      const second = await world.send([transferFor(offer, 1n)]);
      world.node.finalize();
      expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: LITTLE, arriving: false, transactionHash: second });
      expect(await rail.deposits.balance(offer)).toBe(0n);
    });

    it('counts each transfer for the one offer it names, and none that names more, fewer or something else', async () => {
      const [a, b, c] = [smallOffer(), smallOffer(), smallOffer()];
      const elsewhere = (await generateKeyPairSigner()).address;
      const noted: Instruction = { ...world.coinTransfer(world.payer.address, 1n, a.reference, b.reference, c.reference) };
      await world.send([transferFor(a), transferFor(b), transferFor(b), noted]);
      const forTwo = await world.send([world.coinTransfer(receiver, LITTLE, a.reference, b.reference)]);
      const beside = await world.send([world.coinTransfer(receiver, LITTLE), world.coinTransfer(world.payer.address, 1n, c.reference)]);
      await world.send([world.coinTransfer(elsewhere, 900_000n, a.reference), noted]);
      await world.send(await world.tokenTransfer(usdc, receiver, LITTLE).then(([open, transfer]) => [open!, { ...transfer!, accounts: [...transfer!.accounts!, { address: a.reference, role: AccountRole.READONLY }] }]));
      await world.send([{ ...transferFor(c), data: Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) }]);
      world.node.finalize();
      const [ofA, ofB, ofC] = await Promise.all([a, b, c].map((offer) => rail.observe(offer)));
      expect([ofA, ofB, ofC].map((seen) => seen!.receivedBaseUnits)).toEqual([LITTLE, 2n * LITTLE, 0n]);
      expect([ofA, ofB, ofC].map((seen) => seen!.unclearTransaction)).toEqual([forTwo, forTwo, beside]);
    });

    it('does not count one that failed, nor one that a fork took back', async () => {
      const offer = smallOffer();
      const poor = await generateKeyPairSigner();
      await world.sendCoin(poor.address, 2_000_000n);
      const { accounts, ...rest } = getTransferSolInstruction({ source: poor, destination: receiver, amount: LITTLE });
      const pays: Instruction = { ...rest, accounts: [...accounts, { address: offer.reference, role: AccountRole.READONLY }] };
      await world.send([pays, getTransferSolInstruction({ source: poor, destination: receiver, amount: 10n ** 12n })], { payer: poor, isForced: true });
      await world.send([pays], { payer: poor });
      world.node.confirm();
      expect(await rail.observe(offer)).toEqual({ ...NOTHING, arriving: true });
      world.node.dropFork();
      world.node.finalize();
      expect(await rail.observe(offer)).toEqual(NOTHING);
    });

    it('counts one that names its accounts in a lookup table alone, and still after others named the offer to get in the way', async () => {
      const offer = smallOffer();
      const hash = await world.send([transferFor(offer)], { hidden: [receiver, offer.reference] });
      for (let times = 1; times <= 25; times += 1) await world.send([world.coinTransfer(world.payer.address, BigInt(times), offer.reference)]);
      world.node.finalize();
      expect(await rail.observe(offer)).toEqual({ receivedBaseUnits: LITTLE, arriving: false, transactionHash: hash });
    });

    it('does not know where two servers disagree, or one leaves something out', async () => {
      const offer = smallOffer();
      await world.send([transferFor(offer)]);
      world.node.finalize();
      const both = railOf({ receiver, rpcUrls: [world.node.url, proxy.url] });
      proxy.tamper = ({ method }, result) => (method === 'getSignaturesForAddress' ? [] : result);
      await expect(both.observe(offer)).rejects.toThrow('disagree');
      proxy.tamper = ({ method }, result) => (method === 'getTransaction' ? { ...(result as object), transaction: { message: { accountKeys: [receiver], instructions: [] } } } : result);
      await expect(both.observe(offer)).rejects.toThrow('unresolved');
      proxy.tamper = null;
      expect(await both.observe(offer)).toMatchObject({ receivedBaseUnits: LITTLE });
    });
  });

  describe('does not know, rather than guess,', () => {
    const doubled = (key: string): NonNullable<RpcProxy['tamper']> => ({ method }, result) => (method === key ? JSON.parse(JSON.stringify(result).replaceAll('"lamports":', '"lamports":1')) : result);

    const spelled = (change: (signature: string) => string): NonNullable<RpcProxy['tamper']> => ({ method }, result) => (method === 'getSignaturesForAddress' ? (result as { signature: string }[]).map((one) => ({ ...one, signature: change(one.signature) })) : result);

    it.each<[string, NonNullable<RpcProxy['tamper']>, string]>([
      ['says that more came', doubled('getMultipleAccounts'), 'do not add up'],
      ['has no transactions', ({ method }, result) => (method === 'getSignaturesForAddress' ? [] : result), 'do not add up'],
      ['has lost a transaction', ({ method }, result) => (method === 'getTransaction' ? null : result), 'with a part of it'],
      ['leaves out what a transaction did', ({ method }, result) => (method === 'getTransaction' ? { ...(result as object), meta: null } : result), 'with a part of it'],
      ['leaves out who was in a transaction', ({ method }, result) => (method === 'getTransaction' ? { ...(result as object), transaction: { message: { accountKeys: [], instructions: [] } } } : result), 'unresolved'],
      ['adds to the text of a signature', spelled((signature) => `${signature} `), 'with a part of it'],
      ['puts before a signature what changes its bytes alone', spelled((signature) => `1${signature}`), 'with a part of it'],
      ['answers nonsense', () => 'nonsense', 'something else'],
      ['answers nothing', () => undefined, 'something else'],
      ['leaves out an account', ({ method }, result) => (method === 'getMultipleAccounts' ? { ...(result as object), value: (result as { value: unknown[] }).value.slice(0, 1) } : result), 'with a part of it'],
    ])('where the server %s', async (_what, tamper, problem) => {
      const rail = railOf({ rpcUrls: [proxy.url] });
      const offer = offerOn(rail, 'SOL');
      await send(offer, PRICE);
      world.node.finalize();
      proxy.tamper = tamper;
      await expect(rail.observe(offer)).rejects.toThrow(problem);
      proxy.tamper = null;
      expect(await rail.observe(offer)).toMatchObject({ receivedBaseUnits: PRICE });
    });

    it('where one of two servers has not seen it yet', async () => {
      const rail = railOf({ rpcUrls: [world.node.url, proxy.url] });
      const offer = offerOn(rail, 'SOL');
      await send(offer, PRICE);
      world.node.finalize();
      proxy.tamper = ({ method }, result) => {
        if (method === 'getSignaturesForAddress') return [];
        return method === 'getMultipleAccounts' ? { ...(result as object), value: [(result as { value: unknown[] }).value[0], null] } : result;
      };
      await expect(rail.observe(offer)).rejects.toThrow('disagree about what arrived');
    });

    it('where the server stands still, or does not answer', async () => {
      const still = railOf({ maxHeadAgeSeconds: -1 });
      await expect(still.observe(offerOn(still, 'SOL'))).rejects.toThrow('stands still');
      const deaf = railOf({ rpcUrls: ['http://127.0.0.1:9'] });
      await expect(deaf.observe(offerOn(deaf, 'SOL'))).rejects.toThrow();
    });

    it('where USDC is no mint', async () => {
      const rail = railOf({ mint: { address: world.payer.address, program: usdc.program } });
      await expect(rail.observe(offerOn(rail, 'USDC'))).rejects.toThrow('is no mint');
    });
  });
});
