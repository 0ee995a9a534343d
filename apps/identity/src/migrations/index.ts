import { CreateIdentity1763700000000 } from './1763700000000-create-identity.js';
import { CreateClaims1763720000000 } from './1763720000000-create-claims.js';
import { CreateSessions1763710000000 } from './1763710000000-create-sessions.js';

export const migrations = [CreateIdentity1763700000000, CreateSessions1763710000000, CreateClaims1763720000000];
