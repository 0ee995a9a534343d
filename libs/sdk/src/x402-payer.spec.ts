import { permit2WitnessTypes, uptoPermit2WitnessTypes } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { recoverTypedDataAddress } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Offer, X402Requirements } from './types.js';
import { x402Payer } from './x402-payer.js';
import { evmWallet } from './wallets.js';

const NETWORK = 'eip155:84532';
const ID = `0x${'ab'.repeat(32)}`;
const account = privateKeyToAccount(generatePrivateKey());
const requirements: X402Requirements = {
  scheme: 'exact',
  network: NETWORK,
  amount: '250000',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0x52908400098527886E0F7030069857D2E4169EE7',
  maxTimeoutSeconds: 600,
  extra: { name: 'USDC', version: '2', relayRequestId: ID },
};
const asking = (changes: Partial<X402Requirements> = {}): Offer => ({
  relay_request_id: ID,
  requirements: {
    depositAddress: requirements.payTo,
    amount: '0.25',
    currency: 'USDC',
    network: NETWORK,
    relayRequestId: ID,
    expiresAt: '2030-01-01T00:00:00Z',
  },
  x402: {
    x402Version: 2,
    resource: { url: 'https://market/api/v1/gateway/l' },
    accepts: [{ ...requirements, ...changes }],
  },
});

interface Payload {
  x402Version: number;
  accepted: X402Requirements;
  payload: {
    signature: `0x${string}`;
    authorization: Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', `0x${string}`>;
  };
}
const payer = x402Payer(account, { [NETWORK]: {} });
const signed = async (offer = asking()): Promise<Payload> => {
  const { headers } = await payer.prepare(offer);
  return JSON.parse(Buffer.from(headers!['PAYMENT-SIGNATURE']!, 'base64').toString()) as Payload;
};

describe('x402Payer', () => {
  it('signs what the stock client signs', async () => {
    const { x402Version, accepted, payload } = await signed();
    const stock = (await new ExactEvmScheme(account).createPaymentPayload(
      2,
      requirements as never,
    )) as unknown as Payload;
    expect([x402Version, accepted]).toEqual([2, requirements]);
    expect(Object.keys(payload.authorization)).toEqual(Object.keys(stock.payload.authorization));
    const { from, to, value, validBefore } = payload.authorization;
    expect({ from, to, value }).toEqual({ from: account.address, to: requirements.payTo, value: '250000' });
    expect(Math.abs(Number(validBefore) - Date.now() / 1000 - 600)).toBeLessThan(5);
    const field = (name: string, type: string) => ({ name, type });
    const signer = await recoverTypedDataAddress({
      domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: requirements.asset as `0x${string}` },
      types: {
        TransferWithAuthorization: [
          field('from', 'address'),
          field('to', 'address'),
          field('value', 'uint256'),
          field('validAfter', 'uint256'),
          field('validBefore', 'uint256'),
          field('nonce', 'bytes32'),
        ],
      },
      primaryType: 'TransferWithAuthorization',
      message: payload.authorization,
      signature: payload.signature,
    });
    expect(signer).toBe(account.address);
  });

  it('gives one offer one nonce, so that its token moves the money once', async () => {
    const [first, again] = [await signed(), await signed()];
    const other = await signed({ ...asking(), relay_request_id: `0x${'cd'.repeat(32)}` });
    expect(again.payload.authorization.nonce).toBe(first.payload.authorization.nonce);
    expect(other.payload.authorization.nonce).not.toBe(first.payload.authorization.nonce);
  });

  describe('by Permit2', () => {
    const key = generatePrivateKey();
    const own = evmWallet(key);
    const facilitatorAddress = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
    const upto = { ...requirements, scheme: 'upto', extra: { ...requirements.extra, facilitatorAddress } };
    const exact = { ...requirements, extra: { ...requirements.extra, assetTransferMethod: 'permit2' } };

    it.each([
      ['upto', upto, UptoEvmScheme, uptoPermit2WitnessTypes],
      ['exact', exact, ExactEvmScheme, permit2WitnessTypes],
    ] as const)('signs %s as the stock client does', async (_scheme, asked, Scheme, types) => {
      const { headers } = await x402Payer(own, { [NETWORK]: { permit2: true } }).prepare(asking(asked));
      const { payload } = JSON.parse(Buffer.from(headers!['PAYMENT-SIGNATURE']!, 'base64').toString()) as {
        payload: { signature: `0x${string}`; permit2Authorization: Record<string, never> };
      };
      const stock = await new Scheme(privateKeyToAccount(key)).createPaymentPayload(2, asked as never);
      const { nonce: _, deadline: _at, ...same } = stock.payload['permit2Authorization'] as Record<string, unknown>;
      expect(payload.permit2Authorization).toMatchObject(same);
      const signer = await recoverTypedDataAddress({
        domain: { name: 'Permit2', chainId: 84532, verifyingContract: '0x000000000022D473030F116dDEE9F6B43aC78BA3' },
        types: types as typeof uptoPermit2WitnessTypes,
        primaryType: 'PermitWitnessTransferFrom',
        message: payload.permit2Authorization as never,
        signature: payload.signature,
      });
      expect(signer.toLowerCase()).toBe(own.address.toLowerCase());
    });

    it('pays what was used where it may, and the whole price where it may not', async () => {
      const both: Offer = { ...asking(), x402: { ...asking().x402!, accepts: [upto, requirements] } };
      const schemeOf = async (chain: { permit2?: boolean }): Promise<string> => {
        const { headers } = await x402Payer(own, { [NETWORK]: chain }).prepare(both);
        const { accepted } = JSON.parse(Buffer.from(headers!['PAYMENT-SIGNATURE']!, 'base64').toString()) as Payload;
        return accepted.scheme;
      };
      expect(await Promise.all([{ permit2: true }, {}].map(schemeOf))).toEqual(['upto', 'exact']);
      expect(x402Payer(own, { [NETWORK]: {} }).canPay(asking(exact))).toBe(false);
    });
  });

  it.each([
    ['another scheme', { scheme: 'batch-settlement' }],
    ['upto, where Permit2 is not approved', { scheme: 'upto' }],
    ['a network that is not allowed', { network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }],
    ['a token that is not USDC', { asset: '0x4200000000000000000000000000000000000006' }],
    ['a token without a domain', { extra: { relayRequestId: ID } }],
    ['Solana', { network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' }],
  ])('does not sign for %s', async (_what, changes) => {
    expect(payer.canPay(asking(changes))).toBe(false);
    await expect(payer.prepare(asking(changes))).rejects.toThrow('may sign');
  });

  it('does not sign for longer than a job of a day takes, nor where nothing is to be signed', async () => {
    await expect(payer.prepare(asking({ maxTimeoutSeconds: 86_521 }))).rejects.toThrow('86521 seconds');
    expect(payer.canPay({ ...asking(), x402: null })).toBe(false);
  });

  it('knows as USDC on a chain of its own what it is told, and nothing else', () => {
    const own = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
    expect(x402Payer(account, { [NETWORK]: { usdc: own } }).canPay(asking({ asset: own }))).toBe(true);
    expect(x402Payer(account, { [NETWORK]: { usdc: own } }).canPay(asking())).toBe(false);
  });
});
