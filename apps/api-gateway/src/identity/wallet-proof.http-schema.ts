import { Text } from '../http/fields.js';

/** The fields of a wallet proof. The signature of a contract wallet that is yet to be deployed carries its deployment. */
export const WalletAddressText = (): PropertyDecorator => Text({ min: 1, max: 128, description: 'The address the challenge was made for.' });
export const Signature = (): PropertyDecorator =>
  Text({ min: 1, max: 16_384, description: 'The message of the challenge, signed: EIP-191 hex (EIP-1271 or EIP-6492 for contract wallets), or ed25519 in base58 or base64.' });
export const Nonce = (): PropertyDecorator => Text({ min: 1, max: 128, description: 'The nonce of the challenge.' });
export const PowNonce = (): PropertyDecorator => Text({ min: 1, max: 64, description: 'The solution of the proof-of-work puzzle.' });
