import { ExactEvmScheme } from '@x402/evm/exact/client';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { bytesToHex, type Address } from 'viem';
import { parsePayload, type ExactPayload, type ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import type { Facilitator, Verification } from '../../src/rails/x402/facilitator.js';
import { HttpFacilitator } from '../../src/rails/x402/http-facilitator.js';
import { LocalFacilitator } from '../../src/rails/x402/local-facilitator.js';
import { MULTICALL3 } from '../../src/rails/x402/settlement-lane.js';
import { codeThatBurns, startEvmHarness, type EvmHarness } from '../support/evm-harness.js';
import { walletsWithCode, type WalletsWithCode } from '../support/wallets-with-code.js';
import { serveFacilitator, type RemoteFacilitator } from '../support/remote-facilitator.js';

describe('facilitators on a real chain', () => {
  let harness: EvmHarness;
  let usdc: Address;
  let remote: RemoteFacilitator;
  let wallets: WalletsWithCode;
  /** A dollar pays for the deployment of a wallet here. */
  const cheapCoins = new Map([['eip155', 1n]]);
  const local = (): LocalFacilitator =>
    new LocalFacilitator(
      [{ network: 'eip155:31337', chainId: 31_337, rpcUrls: [harness.node.url] }],
      harness.gasKey,
      cheapCoins,
      undefined,
      [wallets.factory],
    );

  beforeAll(async () => {
    harness = await startEvmHarness();
    await harness.place('Multicall3', MULTICALL3);
    wallets = await walletsWithCode(harness);
    usdc = await harness.deploy('SignedToken');
    await harness.send(usdc, 'mint', [harness.payer, 10n ** 12n]);
    remote = await serveFacilitator(local());
  });
  afterAll(async () => {
    remote.stop();
    await harness.stop();
  });

  const requirements = (changes: Partial<ExactRequirements> = {}): ExactRequirements => ({
    scheme: 'exact',
    network: 'eip155:31337',
    amount: '250000',
    asset: usdc,
    payTo: privateKeyToAddress(generatePrivateKey()),
    maxTimeoutSeconds: 300,
    extra: { name: 'USDC', version: '2', relayRequestId: bytesToHex(randomBytes(32)) },
    ...changes,
  });
  const signed = async (
    asked: ExactRequirements,
    account = harness.payerAccount as ConstructorParameters<typeof ExactEvmScheme>[0],
  ): Promise<ExactPayload> => {
    const { payload } = await new ExactEvmScheme(account).createPaymentPayload(2, asked as never);
    return parsePayload(JSON.stringify({ x402Version: 2, accepted: asked, payload }))!;
  };

  const facilitators: [string, () => Facilitator][] = [
    ['in this process', local],
    ['over HTTP', () => new HttpFacilitator({ url: remote.url, apiKey: 'secret', timeoutMs: 5_000 })],
  ];
  describe.each(facilitators)('%s', (_where, make) => {
    it('verify, then move the money to the offer', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed(asked);
      expect(await facilitator.verify(payload, asked)).toEqual({ valid: true });
      expect(await facilitator.settle(payload, asked)).toEqual({
        settled: true,
        transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      });
      expect(await harness.balanceOf(usdc, asked.payTo as Address)).toBe(250_000n);
    });

    it('move it once, however often they are asked, and do not pretend to know why the second is refused', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed(asked);
      await facilitator.settle(payload, asked);
      await expect(facilitator.settle(payload, asked)).rejects.toThrow('not certain');
      expect(await harness.balanceOf(usdc, asked.payTo as Address)).toBe(250_000n);
    });

    it('refuse a payer without the money, and move nothing', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed(asked, privateKeyToAccount(generatePrivateKey()));
      expect(await facilitator.verify(payload, asked)).toEqual({
        valid: false,
        reason: expect.stringMatching(/^invalid_exact_evm_/),
      });
      expect(await facilitator.settle(payload, asked)).toEqual({
        settled: false,
        reason: 'invalid_exact_evm_insufficient_balance',
      });
      expect(await harness.balanceOf(usdc, asked.payTo as Address)).toBe(0n);
    });

    it.each([
      ['is a wallet that agrees', codeThatBurns(1), { valid: true }],
      ['takes 13 million of gas', codeThatBurns(500_000), { valid: false, reason: 'settlement_too_costly' }],
      ['takes 200,000 of gas', codeThatBurns(7_500), { valid: false, reason: 'settlement_too_costly' }],
      ['refuses', '0x60006000fd', { valid: false, reason: expect.stringMatching(/^invalid_exact_evm_/) }],
    ] as const)('look at the code of a payer that %s', async (_what, code, verdict) => {
      const facilitator = make();
      const account = privateKeyToAccount(generatePrivateKey());
      await harness.send(usdc, 'mint', [account.address, 250_000n]);
      await harness.node.request('anvil_setCode', [account.address, code]);
      const asked = requirements();
      const payload = await signed(asked, account);
      expect(await facilitator.verify(payload, asked)).toEqual(verdict);
      const settled = await facilitator.settle(payload, asked).catch(() => ({ settled: false }));
      expect(settled.settled).toBe(verdict.valid);
      expect(await harness.balanceOf(usdc, asked.payTo as Address)).toBe(verdict.valid ? 250_000n : 0n);
    });

    it('pay no more gas than was looked at, where the code of a payer changes afterwards', async () => {
      const facilitator = make();
      const account = privateKeyToAccount(generatePrivateKey());
      await harness.send(usdc, 'mint', [account.address, 250_000n]);
      const asked = requirements();
      const payload = await signed(asked, account);
      expect(await facilitator.verify(payload, asked)).toEqual({ valid: true });
      await harness.node.request('anvil_setCode', [account.address, codeThatBurns(500_000)]);
      const balance = (): Promise<unknown> =>
        harness.node.request('eth_getBalance', [privateKeyToAddress(harness.gasKey), 'latest']);
      const before = await balance();
      await expect(facilitator.settle(payload, asked)).rejects.toThrow();
      expect(await balance()).toBe(before);
    });

    it('refuse what was signed for other terms', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed({ ...asked, amount: '1' });
      expect(
        await facilitator.verify(
          parsePayload(JSON.stringify({ ...(JSON.parse(payload.text) as object), accepted: asked }))!,
          asked,
        ),
      ).toMatchObject({ valid: false });
    });
  });

  describe('of a wallet with code, in this process', () => {
    const DOLLAR = 1_000_000n;
    const gas = (): Promise<unknown> =>
      harness.node.request('eth_getBalance', [privateKeyToAddress(harness.gasKey), 'latest']);

    it.each(['deployed', 'undeployed', 'delegated'] as const)('move the money: %s', async (kind) => {
      const facilitator = local();
      const wallet = await wallets[kind]();
      await harness.send(usdc, 'mint', [wallet.address, 500_000n]);
      for (const left of [250_000n, 0n]) {
        const asked = requirements();
        const payload = await signed(asked, wallet);
        expect(await facilitator.verify(payload, asked, DOLLAR)).toEqual({ valid: true });
        expect(await facilitator.settle(payload, asked, DOLLAR)).toMatchObject({ settled: true });
        expect(await harness.balanceOf(usdc, wallet.address)).toBe(left);
      }
    });

    it('deploy none that costs more than the fee of the sale', async () => {
      const wallet = await wallets.undeployed();
      await harness.send(usdc, 'mint', [wallet.address, 250_000n]);
      const before = await gas();
      const asked = requirements();
      const payload = await signed(asked, wallet);
      expect(await local().verify(payload, asked)).toEqual({ valid: false, reason: 'settlement_too_costly' });
      await expect(local().settle(payload, asked)).rejects.toThrow('not certain');
      expect(await gas()).toBe(before);
    });

    it('call no contract to deploy one that is not named', async () => {
      const stranger = await harness.deploy('WalletFactory');
      const wallet = await wallets.undeployed(stranger);
      await harness.send(usdc, 'mint', [wallet.address, 250_000n]);
      const before = await gas();
      const asked = requirements();
      const payload = await signed(asked, wallet);
      const reason = 'eip6492_factory_not_allowed';
      expect(await local().verify(payload, asked, DOLLAR)).toEqual({ valid: false, reason });
      expect(await local().settle(payload, asked, DOLLAR)).toEqual({ settled: false, reason });
      expect(await gas()).toBe(before);
    });
  });

  describe('over HTTP', () => {
    const facilitator = (): Facilitator => new HttpFacilitator({ url: remote.url, apiKey: 'secret', timeoutMs: 300 });

    it.each([
      ['breaks after it moved the money', 'break-after'],
      ['answers nonsense after it moved the money', 'nonsense-after'],
      ['names no transaction of what it moved', 'nameless'],
      ['answers too late', 'late'],
      ['says settlement_pending as an outcome', 'pending-200'],
      ['says settlement_pending as an error', 'pending-500'],
    ] as const)('does not know where the facilitator %s', async (_what, fault) => {
      const asked = requirements();
      const payload = await signed(asked);
      remote.fault = fault;
      await expect(facilitator().settle(payload, asked)).rejects.toThrow();
      remote.fault = null;
      await remote.idle();
      expect(await harness.balanceOf(usdc, asked.payTo as Address)).toBe(250_000n);
    });

    it('does not know where the facilitator is away', async () => {
      const asked = requirements();
      const payload = await signed(asked);
      const away = new HttpFacilitator({ url: 'http://127.0.0.1:9', timeoutMs: 300 });
      await expect(away.verify(payload, asked)).rejects.toThrow();
      await expect(away.settle(payload, asked)).rejects.toThrow();
    });

    it('follows a redirect, and takes an answer only if its size and its status are right', async () => {
      const answers: Record<string, [number, Record<string, string>, string]> = {
        '/old/verify': [308, { location: '/new/verify' }, ''],
        '/new/verify': [200, {}, JSON.stringify({ isValid: true })],
        '/large/verify': [200, {}, JSON.stringify({ isValid: true, more: 'x'.repeat(300_000) })],
        '/denied/verify': [402, {}, JSON.stringify({ isValid: true })],
        '/refused/verify': [402, {}, JSON.stringify({ isValid: false, invalidReason: 'insufficient_funds' })],
      };
      const server = createServer((request, response) => {
        const [status, headers, body] = answers[request.url!]!;
        request.resume().on('end', () => response.writeHead(status, headers).end(body));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const asked = requirements();
      const payload = await signed(asked);
      const verified = (path: string): Promise<Verification> =>
        new HttpFacilitator({
          url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
          timeoutMs: 1_000,
        }).verify(payload, asked);
      try {
        expect(await verified('/old/')).toEqual({ valid: true });
        await expect(verified('/large')).rejects.toThrow();
        await expect(verified('/denied')).rejects.toThrow('402');
        expect(await verified('/refused')).toEqual({ valid: false, reason: 'insufficient_funds' });
      } finally {
        server.close();
        server.closeAllConnections();
      }
    });

    it('shows its key', async () => {
      const asked = requirements();
      const stranger = new HttpFacilitator({ url: remote.url, apiKey: 'wrong', timeoutMs: 300 });
      await expect(stranger.verify(await signed(asked), asked)).rejects.toThrow();
    });
  });
});
