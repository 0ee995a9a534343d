import { challengePurpose, type ChallengePurpose } from '@market/contracts/identity';
import { OneOf, Text, Uuid, WholeNumber } from '../http/fields.js';

export class CreateChallengeBody {
  @Text({ min: 1, max: 128, description: 'Ethereum or Solana address.' })
  wallet_address: string;

  @OneOf(challengePurpose.options, { optional: true, default: 'registration', description: 'What the challenge will be good for.' })
  purpose?: ChallengePurpose;

  @WholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER, optional: true, description: 'EVM chain to name in the message.' })
  chain_id?: number;

  @Uuid({ optional: true, description: 'The agent the signature is about: required to claim it.' })
  agent_id?: string;
}
