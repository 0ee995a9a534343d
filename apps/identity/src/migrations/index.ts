import { CreateIdentity1763700000000 } from './1763700000000-create-identity.js';

export const migrations = [CreateIdentity1763700000000];
