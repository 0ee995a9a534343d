import { ExactEvmScheme } from '@x402/evm/exact/client';
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { bytesToHex, type Address, type Hex } from 'viem';
import { exactPayload, type ExactPayload, type ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import type { Facilitator } from '../../src/rails/x402/facilitator.js';
import { HttpFacilitator } from '../../src/rails/x402/http-facilitator.js';
import { LocalFacilitator } from '../../src/rails/x402/local-facilitator.js';
import { startEvmWorld, type EvmWorld } from '../support/evm-world.js';

describe('facilitators on a real chain', () => {
  let world: EvmWorld;
  let usdc: Address;
  let gasKey: Hex;
  let remote: RemoteFacilitator;

  beforeAll(async () => {
    world = await startEvmWorld();
    usdc = await world.deploy('SignedToken');
    await world.mint(usdc, world.payer, 10n ** 12n);
    gasKey = bytesToHex(mnemonicToAccount(world.node.mnemonic, { addressIndex: 3 }).getHdKey().privateKey!);
    remote = await serve(new LocalFacilitator([{ network: 'eip155:31337', chainId: 31_337, rpcUrls: [world.node.url] }], gasKey));
  });
  afterAll(async () => {
    remote.server.close().closeAllConnections();
    await world.stop();
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
  const signed = async (asked: ExactRequirements, account = world.payerAccount as ConstructorParameters<typeof ExactEvmScheme>[0]): Promise<ExactPayload> => {
    const { payload } = await new ExactEvmScheme(account).createPaymentPayload(2, asked as never);
    return exactPayload.parse({ x402Version: 2, accepted: asked, payload });
  };

  const facilitators: [string, () => Facilitator][] = [
    ['in this process', () => new LocalFacilitator([{ network: 'eip155:31337', chainId: 31_337, rpcUrls: [world.node.url] }], gasKey)],
    ['over HTTP', () => new HttpFacilitator({ url: remote.url, apiKey: 'secret', timeoutMs: 5_000 })],
  ];
  describe.each(facilitators)('%s', (_where, make) => {
    it('verify, then move the money to the offer', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed(asked);
      expect(await facilitator.verify(payload, asked)).toEqual({ valid: true });
      expect(await facilitator.settle(payload, asked)).toEqual({ settled: true, transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
      expect(await world.balanceOf(usdc, asked.payTo)).toBe(250_000n);
    });

    it('move it once, however often they are asked, and do not pretend to know why the second is refused', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed(asked);
      await facilitator.settle(payload, asked);
      await expect(facilitator.settle(payload, asked)).rejects.toThrow('not certain');
      expect(await world.balanceOf(usdc, asked.payTo)).toBe(250_000n);
    });

    it('refuse a payer without the money, and move nothing', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed(asked, privateKeyToAccount(generatePrivateKey()));
      expect(await facilitator.verify(payload, asked)).toEqual({ valid: false, reason: expect.stringMatching(/^invalid_exact_evm_/) });
      expect(await facilitator.settle(payload, asked)).toEqual({ settled: false, reason: 'invalid_exact_evm_insufficient_balance' });
      expect(await world.balanceOf(usdc, asked.payTo)).toBe(0n);
    });

    it('refuse what was signed for other terms', async () => {
      const facilitator = make();
      const asked = requirements();
      const payload = await signed({ ...asked, amount: '1' });
      expect(await facilitator.verify({ ...payload, accepted: { ...asked } }, asked)).toMatchObject({ valid: false });
    });
  });

  describe('over HTTP', () => {
    const facilitator = (): Facilitator => new HttpFacilitator({ url: remote.url, apiKey: 'secret', timeoutMs: 300 });

    it.each([
      ['breaks after it moved the money', 'break-after'],
      ['answers nonsense after it moved the money', 'nonsense-after'],
      ['answers too late', 'late'],
    ] as const)('does not know where the facilitator %s', async (_what, fault) => {
      const asked = requirements();
      const payload = await signed(asked);
      remote.fault = fault;
      await expect(facilitator().settle(payload, asked)).rejects.toThrow();
      remote.fault = null;
      await remote.idle();
      expect(await world.balanceOf(usdc, asked.payTo)).toBe(250_000n);
    });

    it('does not know where the facilitator is away', async () => {
      const asked = requirements();
      const payload = await signed(asked);
      const away = new HttpFacilitator({ url: 'http://127.0.0.1:9', timeoutMs: 300 });
      await expect(away.verify(payload, asked)).rejects.toThrow();
      await expect(away.settle(payload, asked)).rejects.toThrow();
    });

    it('shows its key', async () => {
      const asked = requirements();
      const stranger = new HttpFacilitator({ url: remote.url, apiKey: 'wrong', timeoutMs: 300 });
      await expect(stranger.verify(await signed(asked), asked)).rejects.toThrow();
    });
  });
});

interface RemoteFacilitator {
  url: string;
  server: Server;
  fault: null | 'break-after' | 'nonsense-after' | 'late';
  /** Resolves when every settlement it took has ended. */
  idle(): Promise<unknown>;
}

/** The protocol's HTTP interface before a facilitator, with the ways in which it can fail. */
async function serve(facilitator: Facilitator): Promise<RemoteFacilitator> {
  const running: Promise<unknown>[] = [];
  const remote: RemoteFacilitator = { url: '', server: createServer(), fault: null, idle: () => Promise.all(running) };
  remote.server.on('request', (request, response) => {
    const handle = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.headers.authorization !== 'Bearer secret') return void response.writeHead(401).end();
      const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString()) as { paymentPayload: unknown; paymentRequirements: ExactRequirements };
      const payload = exactPayload.parse(paymentPayload);
      const { network } = paymentRequirements;
      if (request.url === '/verify') {
        const verdict = await facilitator.verify(payload, paymentRequirements);
        return void response.end(JSON.stringify(verdict.valid ? { isValid: true } : { isValid: false, invalidReason: verdict.reason }));
      }
      const fault = remote.fault;
      const settled = await facilitator.settle(payload, paymentRequirements).catch((error: Error) => ({ settled: false as const, reason: error.message.includes('nonce') ? 'invalid_exact_evm_nonce_already_used' : 'transaction_failed' }));
      if (fault === 'break-after') return void response.writeHead(502).end('bad gateway');
      if (fault === 'nonsense-after') return void response.end('<html>');
      if (fault === 'late') await new Promise((resolve) => setTimeout(resolve, 600));
      response.end(JSON.stringify(settled.settled ? { success: true, transaction: settled.transactionHash, network } : { success: false, errorReason: settled.reason, transaction: '', network }));
    };
    running.push(handle());
  });
  await new Promise<void>((resolve) => remote.server.listen(0, '127.0.0.1', resolve));
  remote.url = `http://127.0.0.1:${(remote.server.address() as AddressInfo).port}`;
  return remote;
}
