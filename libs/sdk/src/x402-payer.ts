import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { base64 } from '@scure/base';
import type { Hex, TypedData } from './eip712.js';
import { usdcOf, type PayableChains } from './known-assets.js';
import type { Payer } from './payer.js';
import type { Offer, X402Requirements } from './types.js';
import type { EvmWallet } from './wallets.js';

const field = (name: string, type: string) => ({ name, type });
const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    field('from', 'address'),
    field('to', 'address'),
    field('value', 'uint256'),
    field('validAfter', 'uint256'),
    field('validBefore', 'uint256'),
    field('nonce', 'bytes32'),
  ],
};
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3';
/** The contracts that move the money by Permit2; see `x402ExactPermit2ProxyAddress` of `@x402/evm`. */
const PROXIES: Record<string, Hex> = {
  exact: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  upto: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
};

/** The longest time for which a signature is made valid: that of a job of a day, and two minutes. */
const MAX_AUTHORIZATION_SECONDS = 86_520;

/**
 * Pays USDC by a signature of x402 version 2 on an EVM chain, sent in `PAYMENT-SIGNATURE`: the schemes `exact`, by an
 * EIP-3009 authorization, and, on chains where the wallet has approved Permit2, `exact` and `upto` by that. `upto` signs
 * the price of a call that costs what it uses, and pays what it used. It needs no RPC server and no gas, and nothing moves
 * when the seller fails. The account is an `evmWallet`, or a local account of viem.
 * Source: specs/schemes and specs/transports-v2/http.md of github.com/coinbase/x402.
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
      const until = String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds);
      // The nonce comes from the offer, so that the contract moves the money once, however often it is signed.
      const nonce: Hex = `0x${bytesToHex(sha256(utf8ToBytes(`x402 ${offer.relay_request_id}`)))}`;
      const { signed, typedData } = (isByPermit2(accepted) ? permitOf : authorizationOf)(
        accepted,
        account.address,
        until,
        nonce,
      );
      const signature = await account.signTypedData(typedData);
      const payload = { x402Version: 2, resource: offer.x402?.resource, accepted, payload: { signature, ...signed } };
      return { headers: { 'PAYMENT-SIGNATURE': base64.encode(utf8ToBytes(JSON.stringify(payload))) } };
    },
  };
}

interface ToSign {
  /** What the payload says beside the signature. */
  signed: object;
  typedData: TypedData;
}

function authorizationOf(accepted: X402Requirements, from: Hex, validBefore: string, nonce: Hex): ToSign {
  const { name, version } = accepted.extra as { name: string; version: string };
  const authorization = {
    from,
    to: accepted.payTo as Hex,
    value: accepted.amount,
    validAfter: '0',
    validBefore,
    nonce,
  };
  return {
    signed: { authorization },
    typedData: {
      domain: { name, version, chainId: chainIdOf(accepted), verifyingContract: accepted.asset as Hex },
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: { ...authorization, value: BigInt(accepted.amount), validAfter: 0n, validBefore: BigInt(validBefore) },
    },
  };
}

function permitOf(accepted: X402Requirements, from: Hex, deadline: string, nonce: Hex): ToSign {
  const { scheme, amount, asset: token, payTo: to, extra } = accepted;
  const facilitator = scheme === 'upto' ? { facilitator: extra!['facilitatorAddress'] } : {};
  const [spender, number] = [PROXIES[scheme]!, BigInt(nonce)];
  return {
    signed: {
      permit2Authorization: {
        from,
        permitted: { token, amount },
        spender,
        nonce: String(number),
        deadline,
        witness: { to, ...facilitator, validAfter: '0' },
      },
    },
    typedData: {
      domain: { name: 'Permit2', chainId: chainIdOf(accepted), verifyingContract: PERMIT2 },
      types: {
        PermitWitnessTransferFrom: [
          field('permitted', 'TokenPermissions'),
          field('spender', 'address'),
          field('nonce', 'uint256'),
          field('deadline', 'uint256'),
          field('witness', 'Witness'),
        ],
        TokenPermissions: [field('token', 'address'), field('amount', 'uint256')],
        Witness: [
          field('to', 'address'),
          ...Object.keys(facilitator).map((name) => field(name, 'address')),
          field('validAfter', 'uint256'),
        ],
      },
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: { token, amount: BigInt(amount) },
        spender,
        nonce: number,
        deadline: BigInt(deadline),
        witness: { to, ...facilitator, validAfter: 0n },
      },
    },
  };
}

const chainIdOf = ({ network }: X402Requirements): number => Number(network.slice('eip155:'.length));
const isByPermit2 = ({ scheme, extra }: X402Requirements): boolean =>
  scheme === 'upto' || extra?.['assetTransferMethod'] === 'permit2';

/** The domain of the USDC contract on an allowed chain, as the payer knows it. The offer's statement is not trusted. */
function requirementsFor({ x402 }: Offer, chains: PayableChains): X402Requirements | undefined {
  return x402?.accepts.find((accepted) => {
    const { scheme, network, asset, extra } = accepted;
    if (!network.startsWith('eip155:') || asset.toLowerCase() !== usdcOf(chains, network)?.toLowerCase()) return false;
    if (isByPermit2(accepted))
      return (
        chains[network]!.permit2 === true && (scheme === 'exact' || typeof extra?.['facilitatorAddress'] === 'string')
      );
    const { name, version, assetTransferMethod = 'eip3009' } = extra ?? {};
    return (
      scheme === 'exact' && assetTransferMethod === 'eip3009' && typeof name === 'string' && typeof version === 'string'
    );
  });
}
