import { createPublicKey, verify } from 'node:crypto';
import { inspect } from 'node:util';
import { base58 } from '@scure/base';
import { verifyMessage, verifyTypedData } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { evmWallet, solanaWallet, walletFromKey } from './wallets.js';

const MESSAGE = 'market.example wants you to sign in\n\nNonce: 1 — ünïcode';

describe('evmWallet', () => {
  it('signs as EIP-191 says', async () => {
    const wallet = evmWallet();
    const signature = (await wallet.sign(MESSAGE)) as `0x${string}`;

    const valid = await verifyMessage({ address: wallet.address as `0x${string}`, message: MESSAGE, signature });

    expect(valid).toBe(true);
  });

  it('signs typed data as EIP-712 says', async () => {
    const wallet = evmWallet();
    const field = (name: string, type: 'address' | 'uint256' | 'bytes32' | 'string') => ({ name, type });
    const typedData = {
      domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: evmWallet().address },
      types: {
        Order: [field('to', 'address'), field('value', 'uint256'), field('nonce', 'bytes32'), field('note', 'string')],
      },
      primaryType: 'Order',
      message: { to: wallet.address, value: 2n ** 255n, nonce: `0x${'0a'.repeat(32)}`, note: 'ünïcode' },
    } as const;
    const signature = await wallet.signTypedData(typedData);

    expect(await verifyTypedData({ ...typedData, address: wallet.address, signature })).toBe(true);
    for (const wrong of [{ value: -1n }, { value: 2n ** 256n }, { to: '0x1' }, { nonce: '0xzz' }])
      await expect(wallet.signTypedData({ ...typedData, message: { ...typedData.message, ...wrong } })).rejects.toThrow(
        RangeError,
      );
  });

  it('has the address that belongs to its key', () => {
    for (let n = 0; n < 20; n += 1) {
      const wallet = evmWallet();
      expect(wallet.address).toBe(privateKeyToAddress(wallet.exportKey()));
    }
  });
});

describe('solanaWallet', () => {
  it('signs with ed25519 over the exact text', async () => {
    const wallet = solanaWallet();
    const x = Buffer.from(base58.decode(wallet.address)).toString('base64url');
    const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });

    expect(verify(null, Buffer.from(MESSAGE), publicKey, base58.decode(await wallet.sign(MESSAGE)))).toBe(true);
  });

  it('is the same wallet from its exported key, its bytes and its seed', () => {
    const wallet = solanaWallet();
    const bytes = base58.decode(wallet.exportKey());

    expect(solanaWallet(wallet.exportKey()).address).toBe(wallet.address);
    expect(solanaWallet(bytes).address).toBe(wallet.address);
    expect(solanaWallet(bytes.slice(0, 32)).address).toBe(wallet.address);
  });
});

it.each([evmWallet, solanaWallet])('shows no secret when a wallet is logged or serialised', (make) => {
  const wallet = make();

  expect(inspect(wallet) + JSON.stringify(wallet)).not.toContain(wallet.exportKey());
});

describe('walletFromKey', () => {
  it('reads a key in each form that wallets keep', () => {
    const [evm, solana] = [evmWallet(), solanaWallet()];
    const array = JSON.stringify([...base58.decode(solana.exportKey())]);
    const read = [evm.exportKey(), ` ${evm.exportKey().slice(2)}\n`, solana.exportKey(), array].map(walletFromKey);
    expect(read.map(({ address }) => address)).toEqual([evm.address, evm.address, solana.address, solana.address]);
  });

  it.each(['', 'no key', '0x1234', '[1, 2]', '['])('refuses %j', (text) => {
    expect(() => walletFromKey(text)).toThrow();
  });
});
