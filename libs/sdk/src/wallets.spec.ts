import { inspect } from 'node:util';
import bs58 from 'bs58';
import nacl from 'tweetnacl';
import { verifyMessage } from 'viem';
import { evmWallet, solanaWallet } from './wallets.js';

const MESSAGE = 'market.example wants you to sign in\n\nNonce: 1 — ünïcode';

describe('evmWallet', () => {
  it('signs as EIP-191 says', async () => {
    const wallet = evmWallet();
    const signature = (await wallet.sign(MESSAGE)) as `0x${string}`;

    const valid = await verifyMessage({ address: wallet.address as `0x${string}`, message: MESSAGE, signature });

    expect(valid).toBe(true);
  });

  it('has the address that belongs to its key', () => {
    const wallet = evmWallet('0x0000000000000000000000000000000000000000000000000000000000000001');

    expect(wallet.address).toBe('0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf');
  });
});

describe('solanaWallet', () => {
  it('signs with ed25519 over the exact text', async () => {
    const wallet = solanaWallet();
    const signature = bs58.decode(await wallet.sign(MESSAGE));

    expect(nacl.sign.detached.verify(Buffer.from(MESSAGE), signature, bs58.decode(wallet.address))).toBe(true);
  });

  it('is the same wallet from its exported key, its bytes and its seed', () => {
    const wallet = solanaWallet();
    const bytes = bs58.decode(wallet.exportKey());

    expect(solanaWallet(wallet.exportKey()).address).toBe(wallet.address);
    expect(solanaWallet(bytes).address).toBe(wallet.address);
    expect(solanaWallet(bytes.slice(0, 32)).address).toBe(wallet.address);
  });
});

it.each([evmWallet, solanaWallet])('shows no secret when a wallet is logged or serialised', (make) => {
  const wallet = make();

  expect(inspect(wallet) + JSON.stringify(wallet)).not.toContain(wallet.exportKey());
});
