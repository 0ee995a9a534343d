import bs58 from 'bs58';
import fc from 'fast-check';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { newEd25519Wallet } from '../../test/support/ed25519-wallet.js';
import type { WalletAddress } from './wallet-address.js';
import { verifyWalletProof } from './wallet-proof.js';

const message = 'market.example wants you to sign in — ünïcode too';
const evmAccount = privateKeyToAccount(generatePrivateKey());
const evm: WalletAddress = { chainType: 'evm', address: evmAccount.address };
const pair = newEd25519Wallet();
const solana: WalletAddress = { chainType: 'solana', address: bs58.encode(pair.publicKey) };
const solanaSignature = pair.sign(Buffer.from(message));
const base58 = bs58.encode(solanaSignature);
const base64 = Buffer.from(solanaSignature).toString('base64');

describe('verifyWalletProof', () => {
  it('accepts EIP-191 from an EVM wallet, base58 and base64 ed25519 from a Solana wallet', async () => {
    expect(await verifyWalletProof(evm, message, await evmAccount.signMessage({ message }))).toBe(true);
    expect(await verifyWalletProof(solana, message, base58)).toBe(true);
    expect(await verifyWalletProof(solana, message, base64)).toBe(true);
  });

  it('accepts the signature of no other wallet and of no other text', async () => {
    const other: WalletAddress = { chainType: 'solana', address: bs58.encode(newEd25519Wallet().publicKey) };
    expect(await verifyWalletProof(other, message, base58)).toBe(false);
    expect(await verifyWalletProof(solana, `${message}.`, base58)).toBe(false);
    expect(await verifyWalletProof(evm, message, base58)).toBe(false);
    expect(await verifyWalletProof(solana, message, await evmAccount.signMessage({ message }))).toBe(false);
  });

  it('answers false to every malformed Solana signature and never throws', async () => {
    const lengths = [0, 1, 32, 63, 65, 66, 128].map((length) => new Uint8Array(length).fill(9));
    const malformed = [
      ...lengths.map((bytes) => bs58.encode(bytes)),
      ...lengths.map((bytes) => Buffer.from(bytes).toString('base64')),
      ` ${base58}`,
      `${base58}\n`,
      `1${base58}`,
      base64.slice(0, -2),
      base64.replaceAll('/', '_'),
      `${base64}=`,
      Buffer.from(solanaSignature).toString('hex'),
      `0x${Buffer.from(solanaSignature).toString('hex')}`,
    ];
    for (const signature of malformed)
      if (signature !== base64) expect(await verifyWalletProof(solana, message, signature)).toBe(false);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/),
          fc.base64String({ minLength: 88, maxLength: 88 }),
        ),
        async (signature) => {
          expect(await verifyWalletProof(solana, message, signature)).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('reads base64 in its one spelling: bits beyond the last byte are zero', async () => {
    const last = base64.length - 3;
    for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') {
      const spelling = `${base64.slice(0, last)}${letter}==`;
      expect(await verifyWalletProof(solana, message, spelling)).toBe(spelling === base64);
    }
  });
});
