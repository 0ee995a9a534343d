import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { base64 } from '@scure/base';
import type { Hex } from './eip712.js';
import { usdcOf, type PayableChains } from './known-assets.js';
import type { Payer } from './payer.js';
import type { Offer, X402Requirements } from './types.js';
import type { EvmWallet } from './wallets.js';

const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** The longest time for which a signature is made valid. */
const MAX_AUTHORIZATION_SECONDS = 3600;

/**
 * Pays USDC by a signature: scheme `exact` of x402 version 2 on an EVM chain, an EIP-3009 authorization sent in
 * `PAYMENT-SIGNATURE`. It needs no RPC server and no gas, and nothing moves when the seller fails. The account is an
 * `evmWallet`, or a local account of viem.
 * Source: specs/schemes/exact/scheme_exact_evm.md and specs/transports-v2/http.md of github.com/coinbase/x402.
 */
export function x402Payer(account: Pick<EvmWallet, 'address' | 'signTypedData'>, chains: PayableChains): Payer {
  return {
    rail: 'x402',
    canPay: (offer) => requirementsFor(offer, chains) !== undefined,
    async prepare(offer) {
      const accepted = requirementsFor(offer, chains);
      if (!accepted) throw new Error('The offer has no x402 requirements that this payer may sign.');
      if (!(accepted.maxTimeoutSeconds > 0 && accepted.maxTimeoutSeconds <= MAX_AUTHORIZATION_SECONDS)) {
        throw new Error(`The signature would have to be good for ${accepted.maxTimeoutSeconds} seconds.`);
      }
      const authorization = {
        from: account.address,
        to: accepted.payTo as Hex,
        value: accepted.amount,
        validAfter: '0',
        validBefore: String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds),
        // The nonce comes from the offer, so that the token contract moves the money once, however often it is signed.
        nonce: `0x${bytesToHex(sha256(`x402 ${offer.relay_request_id}`))}` as Hex,
      };
      const { name, version } = accepted.extra as { name: string; version: string };
      const signature = await account.signTypedData({
        domain: {
          name,
          version,
          chainId: Number(accepted.network.slice('eip155:'.length)),
          verifyingContract: accepted.asset as Hex,
        },
        types: AUTHORIZATION_TYPES,
        primaryType: 'TransferWithAuthorization',
        message: {
          ...authorization,
          value: BigInt(authorization.value),
          validAfter: BigInt(authorization.validAfter),
          validBefore: BigInt(authorization.validBefore),
        },
      });
      const payload = {
        x402Version: 2,
        resource: offer.x402?.resource,
        accepted,
        payload: { signature, authorization },
      };
      return { headers: { 'PAYMENT-SIGNATURE': base64.encode(utf8ToBytes(JSON.stringify(payload))) } };
    },
  };
}

/** The domain of the USDC contract on an allowed chain, as the payer knows it. The offer's statement is not trusted. */
function requirementsFor({ x402 }: Offer, chains: PayableChains): X402Requirements | undefined {
  return x402?.accepts.find(
    ({ scheme, network, asset, extra }) =>
      scheme === 'exact' &&
      network.startsWith('eip155:') &&
      asset.toLowerCase() === usdcOf(chains, network)?.toLowerCase() &&
      typeof extra?.['name'] === 'string' &&
      typeof extra['version'] === 'string',
  );
}
