import type { DatabaseDefinition } from '@market/persistence';
import { AccountEntity } from './agents/infra/account.entity.js';
import { ApiKeyEntity } from './api-keys/infra/api-key.entity.js';
import { ChallengeEntity } from './challenges/infra/challenge.entity.js';
import { ClaimEntity } from './claims/infra/claim.entity.js';
import { migrations } from './migrations/index.js';
import { SessionEntity } from './sessions/infra/session.entity.js';
import { WalletEntity } from './wallets/infra/wallet.entity.js';

export const identityDatabase: DatabaseDefinition = {
  schema: 'identity',
  entities: [AccountEntity, WalletEntity, ApiKeyEntity, SessionEntity, ChallengeEntity, ClaimEntity],
  migrations,
};
