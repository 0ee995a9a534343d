import { CreateIdentity1763700000000 } from './1763700000000-create-identity.js';
import { CreateClaims1763720000000 } from './1763720000000-create-claims.js';
import { CreateSessions1763710000000 } from './1763710000000-create-sessions.js';
import { LetPayersOpenAccounts1763730000000 } from './1763730000000-let-payers-open-accounts.js';

export const migrations = [
  CreateIdentity1763700000000,
  CreateSessions1763710000000,
  CreateClaims1763720000000,
  LetPayersOpenAccounts1763730000000,
];
