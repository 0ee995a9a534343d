import { recover, updateWallet } from '@market/contracts/identity';
import { newRequestContext } from '@market/messaging';
import { freePort } from '@market/testing';
import { createServer, type Server } from 'node:http';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { ContractWallets } from '../../src/wallets/contract-wallets.js';
import { reasonOf, startIdentity, type IdentityHarness } from '../support/identity-harness.js';
import { startSmartAccounts, type SmartAccounts } from '../support/smart-accounts.js';
import { evmTestWallet, type TestWallet } from '../support/test-wallets.js';

const CHAIN = 8453;
const HUNG = 10;
const DEAD = 11;
const BROKEN = 12;

describe('contract wallets', () => {
  let accounts: SmartAccounts;
  let harness: IdentityHarness;
  const servers: Server[] = [];
  const listen = async (server: Server): Promise<string> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  };

  beforeAll(async () => {
    accounts = await startSmartAccounts(CHAIN);
    const hung = await listen(createServer(() => undefined));
    const broken = await listen(createServer((_request, response) => void response.writeHead(500).end('oops')));
    harness = await startIdentity({
      IDENTITY_EVM_RPC_URLS:
        `${CHAIN}=${accounts.node.url}, ${HUNG}=${hung},` +
        `${DEAD}=http://127.0.0.1:${await freePort()},${BROKEN}=${broken}`,
    });
  });
  afterAll(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await harness.stop();
    await accounts.stop();
  });

  const registerOn = async (chainId: number | undefined, wallet: TestWallet, signer = wallet) =>
    harness.register(
      wallet,
      await harness.proveWithWork({ address: wallet.address, sign: signer.sign }, 'registration', { chainId }),
    );
  const blockNumber = () => accounts.node.request<string>('eth_blockNumber');

  it('that are deployed register, recover and manage wallets by what their contract says (EIP-1271)', async () => {
    const wallet = await accounts.deployed();
    const { api_key, wallet_address } = await registerOn(CHAIN, wallet);
    expect(wallet_address).toBe(wallet.address);
    const recovery = await harness.bus.request(
      recover,
      await harness.proveWithWork(wallet, 'recovery', { chainId: CHAIN }),
      newRequestContext(),
    );
    expect(recovery.wallet_address).toBe(wallet.address);
    const context = await harness.contextWith(api_key);
    const [{ id: walletId }] = (await harness.db.inspect<{ id: string }>(
      'SELECT id FROM identity.wallets WHERE address = $1',
      [wallet.address],
    )) as [{ id: string }];
    expect(
      await harness.bus.request(
        updateWallet,
        { wallet_id: walletId, proof: await harness.prove(wallet, 'wallet_update', { chainId: CHAIN }), label: 'safe' },
        context,
      ),
    ).toMatchObject({ label: 'safe' });
  });

  it('that are yet to be deployed register with the deployment in their signature (EIP-6492), and nothing is deployed', async () => {
    const wallet = await accounts.counterfactual();
    const before = await blockNumber();
    expect((await registerOn(CHAIN, wallet)).wallet_address).toBe(wallet.address);
    expect(await accounts.node.request('eth_getCode', [wallet.address, 'latest'])).toBe('0x');
    expect(await blockNumber()).toBe(before);
    await wallet.deploy();
    const recovery = await harness.bus.request(
      recover,
      await harness.proveWithWork(wallet, 'recovery', { chainId: CHAIN }),
      newRequestContext(),
    );
    expect(recovery.wallet_address).toBe(wallet.address);
  });

  it('are asked anew each time: who gave the contract away has lost it', async () => {
    const wallet = await accounts.ofTheRich();
    await registerOn(CHAIN, wallet);
    const next = privateKeyToAccount(generatePrivateKey());
    const proof = await harness.proveWithWork(wallet, 'recovery', { chainId: CHAIN });
    await wallet.handOver(next.address);
    expect(await reasonOf(harness.bus.request(recover, proof, newRequestContext()))).toBe('signature_invalid');
    const nextProof = await harness.proveWithWork(
      { address: wallet.address, sign: (message) => next.signMessage({ message }) },
      'recovery',
      { chainId: CHAIN },
    );
    expect((await harness.bus.request(recover, nextProof, newRequestContext())).wallet_address).toBe(wallet.address);
  });

  it('are refused with the signature of anybody else, on another chain, or where no chain is asked', async () => {
    const [wallet, before] = [await accounts.deployed(), await accounts.counterfactual()];
    expect(await reasonOf(registerOn(CHAIN, wallet, evmTestWallet()))).toBe('signature_invalid');
    expect(await reasonOf(registerOn(CHAIN, wallet, before))).toBe('signature_invalid');
    expect(await reasonOf(registerOn(CHAIN, before, await accounts.counterfactual()))).toBe('signature_invalid');
    expect(await reasonOf(registerOn(CHAIN, evmTestWallet(), before))).toBe('signature_invalid');
    expect(await reasonOf(registerOn(1, wallet))).toBe('signature_invalid');
    expect(await reasonOf(registerOn(undefined, wallet))).toBe('signature_invalid');
  });

  it.each([
    ['nothing', () => '0x'],
    ['half a byte', () => '0x0'],
    ['a wrapper around nothing', () => `0x${'00'.repeat(96)}${'6492'.repeat(16)}`],
    ['a wrapper alone', () => `0x${'6492'.repeat(16)}`],
    ['the longest text', () => `0x${'f'.repeat(16_382)}`],
    ['no hex', () => 'signed, a contract'],
  ])('refuse %s for a signature, deployed or not', async (_name, signature) => {
    for (const wallet of [await accounts.deployed(), await accounts.counterfactual()])
      expect(await reasonOf(registerOn(CHAIN, wallet, { ...wallet, sign: async () => signature() }))).toBe(
        'signature_invalid',
      );
  });

  it('are no precompiles, no plain accounts and no contracts that answer something else', async () => {
    const signer = evmTestWallet();
    const wrapped = (await accounts.counterfactual()).sign;
    const precompiles = Array.from({ length: 10 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`);
    const others = [await accounts.deploy('DirtyWallet'), '0x000000000000000000000000000000000000dEaD'];
    for (const address of [...precompiles, ...others]) {
      expect([address, await reasonOf(registerOn(CHAIN, { address, sign: signer.sign }))]).toEqual([
        address,
        'signature_invalid',
      ]);
      expect([address, await reasonOf(registerOn(CHAIN, { address, sign: wrapped }))]).toEqual([
        address,
        'signature_invalid',
      ]);
    }
  });

  it('are no way around the one spelling of a signature that a private key of its own has', async () => {
    const wallet = evmTestWallet();
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const highS = async (message: string) => {
      const signature = await wallet.sign(message);
      const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
      return `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`;
    };
    expect(await reasonOf(registerOn(CHAIN, wallet, { ...wallet, sign: highS }))).toBe('signature_invalid');
    expect((await registerOn(CHAIN, wallet)).wallet_address).toBe(wallet.address);
  });

  it.each([
    ['never answers', HUNG],
    ['is not there', DEAD],
    ['is broken', BROKEN],
  ])('are told so within 2 seconds where the chain %s, and the refusal repeats no URL', async (_how, chainId) => {
    const wallet = await accounts.deployed();
    const proof = await harness.proveWithWork(wallet, 'registration', { chainId });
    const startedAt = performance.now();
    const error: unknown = await harness.register(wallet, proof).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      reason: 'contract_wallet_unverifiable',
      details: { retry_after_seconds: 5 },
      declaration: { kind: 'unavailable', recovery: { nextAction: 'request_new_challenge' } },
    });
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    const failure: unknown = await new ContractWallets({
      evmRpcUrls: new Map([['1', `http://127.0.0.1:1/secret-key`]]),
    })
      .verify('1', '0x000000000000000000000000000000000000dEaD', 'm', '0x00')
      .catch((reason: unknown) => reason);
    expect(String((failure as Error).stack)).not.toContain('secret-key');
    expect((failure as Error).cause).toBeUndefined();
  });

  it('that compute for ever cost 2 seconds at most', async () => {
    const address = await accounts.deploy('EndlessWallet');
    const startedAt = performance.now();
    const reason = await reasonOf(registerOn(CHAIN, { address, sign: async () => `0x${'00'.repeat(65)}` }));
    expect(['signature_invalid', 'contract_wallet_unverifiable']).toContain(reason);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });

  it('take nothing from wallets with a private key of their own, whatever becomes of the chain', async () => {
    const times: number[] = [];
    for (let index = 0; index < 20; index += 1) {
      const wallet = evmTestWallet();
      const proof = await harness.proveWithWork(wallet, 'registration', { chainId: [HUNG, DEAD, BROKEN][index % 3] });
      const startedAt = performance.now();
      expect((await harness.register(wallet, proof)).wallet_address).toBe(wallet.address);
      times.push(performance.now() - startedAt);
    }
    // A chain that never answers would cost each of them two seconds.
    expect(times.reduce((sum, ms) => sum + ms)).toBeLessThan(10_000);
  });
});

it.each(['8453', '8453=ftp://x', 'base=http://x', '0=http://x', '1=http://a,1=http://b', '1=http://secret key'])(
  'does not start with IDENTITY_EVM_RPC_URLS=%s, and does not repeat it',
  async (value) => {
    const error: unknown = await startIdentity({ IDENTITY_EVM_RPC_URLS: value }).catch((reason: unknown) => reason);
    expect((error as Error).message).toMatch(/IDENTITY_EVM_RPC_URLS: .*(pair 1 is not|given twice)/);
    expect((error as Error).message).not.toContain('secret');
  },
);
