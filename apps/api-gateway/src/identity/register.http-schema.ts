import { Text } from '../http/fields.js';

export class RegisterBody {
  @Text({ min: 1, max: 128, description: 'The address the challenge was made for.' })
  wallet_address: string;

  @Text({ min: 1, max: 1024, description: 'The message of the challenge, signed: EIP-191 hex, or ed25519 in base58 or base64.' })
  signature: string;

  @Text({ min: 1, max: 128, description: 'The nonce of the challenge.' })
  nonce: string;

  @Text({ min: 1, max: 64, description: 'The solution of the proof-of-work puzzle.' })
  pow_nonce: string;

  @Text({ min: 1, max: 100, optional: true, description: 'How others see the agent.' })
  display_name?: string;
}
